package dialect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
)

func TestNamesNothing(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1": true, "select 1 + 2, 'a' || 'b' AS c, NOT true": true, "VALUES (1, NULL), (2, 'x')": true,
		"SELECT CASE WHEN 1 < 2 THEN 3 END, coalesce(1, 2), greatest(1, 2), 1 IN (1, 2) ORDER BY 1 LIMIT 1": false,
		"SELECT CASE WHEN 1 < 2 THEN 3 END, coalesce(1, 2), greatest(1, 2), 1 IN (1, 2) LIMIT 1":            true,
		"SELECT 1 UNION ALL SELECT 2": true, "SELECT 1 WHERE 1 IS NULL": true,
		"SELECT a": false, "SELECT 1 FROM t": false, "SELECT f()": false, "SELECT 'a'::color": false, "SELECT $1": false,
		"SELECT (SELECT 1)": false, "SELECT now()": false, "SELECT current_user": false, "TABLE t": false, "SELECT 1 INTO t": false,
		"WITH x AS (SELECT 1) SELECT 2": false, "INSERT INTO t VALUES (1)": false, "SELECT 1; SELECT 2": false, "": false,
		"SELECT 'a' COLLATE \"C\"": false, "SELECT *": false, "SELECT 1 LIKE '2' ESCAPE '3'": false,
	} {
		parsed, err := statement.Parse(sql)
		if err == nil {
			require.Equal(t, want, dialect.NamesNothing(parsed), sql)
		}
		require.True(t, err == nil || !want, sql)
	}
	require.False(t, dialect.NamesNothing(&statement.Statement{Head: &statement.Select{}}))
	require.True(t, dialect.NamesNothing(&statement.Statement{Head: &statement.Select{Constant: true}}))
}
