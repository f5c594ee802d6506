package engine_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// Values of a domain are what it allows, however they come into a column of it.
func TestDomains(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s := session(t, e)
	require.Equal(t, "CREATE DOMAIN", exec(t, s, "CREATE DOMAIN d AS int DEFAULT 5 CONSTRAINT low CHECK (VALUE > 0) CHECK (value < 100)").Tag)
	exec(t, s, "CREATE DOMAIN word varchar(5) NOT NULL")
	exec(t, s, "CREATE TABLE t (a d, w word, b int)")
	exec(t, s, "INSERT INTO t (w) VALUES ('x')")
	exec(t, s, "INSERT INTO t VALUES (NULL, 'y', 1)")
	exec(t, s, "CREATE SEQUENCE q; CREATE TYPE mood AS ENUM ('a')")
	domain, ok := e.Contents().Type(catalog.TableName{Schema: "public", Name: "d"})
	require.True(t, ok)
	domainCheck := fmt.Sprintf("%d a low", domain.ID) // what it is called on record
	for text, want := range map[string]string{
		"INSERT INTO t VALUES (0, 'x', 1)":         "23514",
		"INSERT INTO t VALUES (100, 'x', 1)":       "23514",
		"INSERT INTO t VALUES (1, NULL, 1)":        "23502",
		"INSERT INTO t (a) VALUES (1)":             "23502",
		"INSERT INTO t VALUES (1, 'longer', 1)":    "22001",
		"INSERT INTO t SELECT 0, 'x', 1":           "23514",
		"UPDATE t SET a = 0":                       "23514",
		"UPDATE t SET w = NULL":                    "23502",
		"ALTER TABLE t ADD COLUMN c word":          "23502",
		"CREATE VIEW v AS SELECT 1::d AS a":        "0A000",
		"CREATE TEMP TABLE u (a d)":                "0A000",
		"CREATE TABLE u (a d[])":                   "0A000",
		"CREATE TABLE u (a int DEFAULT 1::d)":      "0A000",
		"CREATE TABLE u (a int CHECK (a::d > 1))":  "0A000",
		"INSERT INTO t VALUES (0::d, 'x', 1)":      "23514",
		"ALTER TABLE t ALTER COLUMN b TYPE d":      "0A000",
		"ALTER TABLE t ALTER COLUMN a TYPE int":    "0A000",
		"CREATE DOMAIN e AS d":                     "0A000",
		"CREATE DOMAIN e AS int[]":                 "0A000",
		"CREATE DOMAIN e AS text COLLATE \"C\"":    "0A000",
		"CREATE DOMAIN d AS int":                   "42710",
		"CREATE DOMAIN t AS int":                   "42710",
		"CREATE DOMAIN e AS nosuch":                "42704",
		"CREATE DOMAIN e AS int PRIMARY KEY":       "42601",
		"CREATE DOMAIN e AS int NULL NOT NULL":     "42601",
		"CREATE DOMAIN e AS int CHECK (VALUE > x)": "42703",
		"CREATE DOMAIN e AS int CONSTRAINT k CHECK (VALUE > 0) CONSTRAINT k CHECK (VALUE < 9)": "42710",
		"CREATE DOMAIN e AS int DEFAULT nextval('q')":                                          "0A000",
		"CREATE DOMAIN e AS text CHECK (VALUE <> '' OR NULL::mood IS NULL)":                    "0A000",
		"ALTER TABLE t DROP CONSTRAINT \"" + domainCheck + "\"":                                "42704",
		"DROP DOMAIN d":                     "2BP01",
		"DROP DOMAIN d CASCADE":             "2BP01",
		"DROP DOMAIN nosuch":                "42704",
		"ALTER TABLE t DROP CONSTRAINT low": "42704",
	} {
		_, err := s.Exec(t.Context(), text)
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if got := state(t, err); got != want {
			t.Errorf("%s: %s, want %s: %v", text, got, want, err)
		}
	}
	_, err := s.Exec(t.Context(), "INSERT INTO t VALUES (0, 'x', 1)")
	require.EqualError(t, err, `value for domain d violates check constraint "low"`)
	_, err = s.Exec(t.Context(), "INSERT INTO t VALUES (1, NULL, 1)")
	require.EqualError(t, err, "domain word does not allow null values")
	require.Equal(t, []string{"(null)|y|1", "5|x|(null)"}, rows(t, s, "SELECT * FROM t ORDER BY w DESC"))
}

// A domain is there after a restart, and on other nodes, with all that it demands of every writer: COPY and loads, too.
func TestDomainsOnOtherNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "CREATE DOMAIN d AS int DEFAULT 5 CHECK (VALUE > 0)")
	exec(t, other, "CREATE TABLE t (i int PRIMARY KEY, a d)")
	exec(t, s, "INSERT INTO t (i) VALUES (1)")
	file := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte("i,a\n2,3\n3,0\n"), 0o600))
	writes := []string{
		"INSERT INTO t VALUES (2, 0)",
		"INSERT INTO t SELECT range, -range FROM range(5, 9)",
		"UPDATE t SET a = a - 5",
		"INSERT INTO t VALUES (1, 2) ON CONFLICT (i) DO UPDATE SET a = 0",
		"MERGE INTO t USING (SELECT 1 AS i) AS u ON t.i = u.i WHEN MATCHED THEN UPDATE SET a = -1",
	}
	for _, text := range writes {
		for _, on := range []*engine.Session{s, other} {
			_, err := on.Exec(t.Context(), text)
			require.EqualError(t, err, `value for domain d violates check constraint "d_check"`, text)
		}
	}
	copied, err := other.Prepare(t.Context(), "COPY t FROM STDIN")
	require.NoError(t, err)
	given := false
	_, err = copied.CopyIn(t.Context(), func() ([][]byte, error) {
		if given {
			return nil, io.EOF
		}
		given = true
		return [][]byte{[]byte("2"), []byte("0")}, nil
	})
	require.NoError(t, copied.Close())
	require.EqualError(t, err, `value for domain d violates check constraint "d_check"`)
	_, err = c.nodes[1].Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Schema: "public", Name: "t"},
		Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
	require.ErrorContains(t, err, `value for domain d violates check constraint "d_check"`)
	c.stop(1)
	c.nodes[1] = c.open(1)
	other = c.session(1)
	_, err = other.Exec(t.Context(), writes[0])
	requireRefused(t, "23514", err)
	_, err = other.Exec(t.Context(), "DROP DOMAIN d")
	requireRefused(t, "2BP01", err)
	require.Equal(t, []string{"1|5"}, rows(t, other, "SELECT * FROM t"))
	exec(t, other, "CREATE TABLE b CLONE t; CREATE TABLE l (LIKE t)")
	for _, name := range []string{"b", "l"} {
		_, err = s.Exec(t.Context(), "INSERT INTO "+name+" VALUES (2, 0)")
		requireRefused(t, "23514", err)
	}
	exec(t, s, "DROP TABLE t, b, l; DROP DOMAIN d")
}
