package pgcatalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// A session's variables are set where they change, also after one could not be set, and what a new connection has of
// them means the same as if it was set.
func TestVariablesAreSetWhereTheyChange(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	first, err := db.Connect(nil)
	require.NoError(t, err)
	attach(t, first, pgcatalog.Functions, pgcatalog.Catalogs)
	first.Close()
	connect := func() *duckdb.Connection {
		c, err := db.Connect(nil)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		require.NoError(t, c.LookAlso(pgcatalog.SessionSchema))
		require.NoError(t, pgcatalog.Refresh(c.Exec, sample(), nil, schemas(), "csmsql"))
		return c
	}
	shown := func(c *duckdb.Connection) (answers []string) {
		for _, sql := range []string{
			"SELECT current_user, session_user, current_schema(), current_schemas(true), pg_backend_pid()",
			"SELECT current_setting('my.own', true)", "SELECT oid, rolname FROM pg_roles ORDER BY 1",
			"SELECT name, setting, source, reset_val FROM pg_settings ORDER BY 1",
			"SELECT * FROM pg_listening_channels()", "SELECT pg_table_is_visible(16388), pg_table_is_visible(16399)",
		} {
			answer, err := ask(c, sql)
			require.NoError(t, err, sql)
			answers = append(answers, answer)
		}
		return answers
	}
	plain := pgcatalog.Session{User: "postgres", SearchPath: []string{"public"}}
	other := pgcatalog.Session{User: "anna", ProcessID: 7, SearchPath: []string{"sales", "public"},
		Settings: []pgcatalog.Setting{{Name: "my.own", Value: "it's", Shown: "it's", Source: "session", Reset: ""}}}

	c, v := connect(), &pgcatalog.Variables{}
	var said []string
	exec := func(sql string) error {
		said = append(said, strings.Fields(sql)[2])
		return c.Exec(sql)
	}
	require.NoError(t, v.SetSession(exec, plain))
	require.Empty(t, said)
	unset := shown(c)
	require.NoError(t, v.SetSession(exec, other))
	require.Equal(t, []string{"csm_user", "csm_process", "csm_path", "csm_settings"}, said)
	require.NotEqual(t, unset, shown(c))
	require.NoError(t, v.SetSession(exec, plain))
	require.Len(t, said, 8)
	require.Equal(t, unset, shown(c))

	changed := plain
	changed.Settings = other.Settings
	require.Error(t, v.SetSession(func(string) error { return errors.New("refused") }, changed))
	said = nil
	require.NoError(t, v.SetSession(exec, plain), "it may have been set")
	require.NoError(t, v.SetSession(exec, plain))
	require.Equal(t, []string{"csm_settings"}, said)
	require.Equal(t, unset, shown(c))

	names := []string{`odd, "name"`, `it's [a\b]`, "ü{}"}
	require.NoError(t, pgcatalog.SetListening(c.Exec, names))
	answer, err := ask(c, "SELECT * FROM pg_listening_channels()")
	require.NoError(t, err)
	require.Equal(t, names, strings.Split(strings.TrimSuffix(answer, "\n"), "\n")[1:])
}
