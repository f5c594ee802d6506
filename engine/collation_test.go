package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A column's collation is kept, because it is how all text is compared, or it is refused.
func TestColumnsHaveNoCollationOfTheirOwn(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE plain (a text COLLATE "C" NOT NULL, b varchar(10) COLLATE pg_catalog."default" DEFAULT 'x', c text[] COLLATE "POSIX", d text COLLATE ucs_basic)`)
	exec(t, s, `INSERT INTO plain (a) VALUES ('b'), ('B'), ('a')`)
	require.Equal(t, []string{"B|x", "a|x", "b|x"}, rows(t, s, "SELECT a, b FROM plain ORDER BY a"))
	exec(t, s, `CREATE TABLE kept AS SELECT a COLLATE "C" AS a FROM plain WHERE a COLLATE nocase = 'A' OR upper(a) = 'B' ORDER BY a COLLATE "de"`)
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM kept"))

	for state, refused := range map[string][]string{
		"0A000": {
			`CREATE TABLE r (a text COLLATE NOCASE)`, `CREATE TABLE r (a text COLLATE "en_US" NOT NULL)`, `CREATE TABLE r (a text COLLATE pg_catalog."en_US.utf8")`,
			`CREATE TABLE r (a text COLLATE other."C")`, `CREATE TABLE r (a text COLLATE NOCASE.NOACCENT)`,
			`CREATE TABLE r AS SELECT a COLLATE NOCASE FROM plain`, `CREATE TABLE r AS FROM plain SELECT a COLLATE NOCASE`, `CREATE TABLE r AS VALUES ('a' COLLATE NOCASE)`,
			`CREATE TABLE r AS SELECT upper(a COLLATE de) || 'x' AS b FROM plain`, `CREATE TABLE r AS SELECT * FROM (SELECT a COLLATE NOCASE AS a FROM plain)`,
			`ALTER TABLE plain ALTER COLUMN a TYPE text COLLATE NOCASE`, `ALTER TABLE plain ADD COLUMN e text COLLATE NOCASE`,
		},
		"42804": {`CREATE TABLE r (a int COLLATE "C")`, `CREATE TABLE r (a date COLLATE "default")`},
	} {
		for _, sql := range refused {
			_, err := s.Exec(context.Background(), sql)
			var e interface{ SQLState() string }
			require.ErrorAs(t, err, &e, sql)
			require.Equal(t, state, e.SQLState(), sql)
		}
	}
}
