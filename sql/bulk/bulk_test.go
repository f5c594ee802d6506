package bulk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/bulk"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// BU1: what is no name to PostgreSQL is none here.
func TestNames(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{})
	require.NoError(t, err)
	defer db.Close()
	c, err := db.Connect(nil)
	require.NoError(t, err)
	defer c.Close()
	asked, err := c.Prepare("SELECT string_agg(DISTINCT keyword_name, ' ') FROM duckdb_keywords()")
	require.NoError(t, err)
	defer asked.Close()
	rows, err := asked.Execute(t.Context())
	require.NoError(t, err)
	defer rows.Close()
	batch, err := rows.Next()
	require.NoError(t, err)
	defer batch.Release()
	words := strings.Fields(batch.Column(0).ValueStr(0) + " current_schema freeze binary user localtimestamp")
	require.Greater(t, len(words), 400)
	for _, word := range words {
		for _, sql := range []string{"INSERT INTO " + word + " VALUES (1)", "INSERT INTO t (" + word + ") VALUES (1)"} {
			if _, err := tree.Parse(sql); bulk.Constants(lex.Client.Text(sql)) {
				require.NoError(t, err, sql)
			}
		}
	}
}

// BU1: PostgreSQL's parser takes what is one.
func TestConstants(t *testing.T) {
	for _, sql := range []string{
		"INSERT INTO t VALUES (1)", "insert into s.t (a, \"b c\") values (1, 'it''s'), (-2.5, NULL), (+3, 'a\\b');",
		"INSERT INTO t VALUES (TRUE, false, 'int / date ::x'), ('', 'values', null)", "INSERT INTO a.b.c VALUES (0.50)",
		"INSERT /* of */ INTO t -- rows\nVALUES (1\n, 2)",
	} {
		require.True(t, bulk.Constants(lex.Client.Text(sql)), sql)
		_, err := tree.Parse(sql)
		require.NoError(t, err, sql)
	}
	for _, sql := range []string{
		"", "INSERT INTO t", "INSERT INTO t VALUES", "INSERT INTO t VALUES ()", "INSERT INTO t VALUES (1", "INSERT INTO t VALUES (1,)",
		"INSERT INTO t VALUES (1),", "INSERT INTO t VALUES (1) (2)", "INSERT INTO t VALUES (1); SELECT 1", "INSERT INTO t VALUES (1);;",
		"INSERT INTO t () VALUES (1)", "INSERT INTO t (a,) VALUES (1)", "INSERT INTO t DEFAULT VALUES", "INSERT INTO VALUES (1)",
		"INSERT INTO t VALUES (DEFAULT)", "INSERT INTO t VALUES ($1)", "INSERT INTO t VALUES (a)", "INSERT INTO t VALUES (1 + 2)",
		"INSERT INTO t VALUES (1e5)", "INSERT INTO t VALUES (.5)", "INSERT INTO t VALUES (5.)", "INSERT INTO t VALUES (0x1F)", "INSERT INTO t VALUES (1_000)",
		"INSERT INTO t VALUES (1234567890123456789)", "INSERT INTO t VALUES (1a)", "INSERT INTO t VALUES ('a'::date)", "INSERT INTO t VALUES (E'a')",
		"INSERT INTO t VALUES ($$a$$)", "INSERT INTO t VALUES (x'1f')", "INSERT INTO t VALUES (date '2000-01-01')", "INSERT INTO t VALUES ((1))",
		"INSERT INTO t VALUES (- 'a')", "INSERT INTO t VALUES (--1)", "INSERT INTO t VALUES ('a)", "INSERT INTO t VALUES (1) RETURNING a",
		"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "INSERT INTO t SELECT 1", "INSERT INTO t AS u VALUES (1)", "WITH w AS (SELECT 1) INSERT INTO t VALUES (1)",
		"INSERT INTO t BY NAME VALUES (1)", "INSERT OR REPLACE INTO t VALUES (1)", "INSERT INTO t OVERRIDING USER VALUE VALUES (1)",
		"INSERT INTO user VALUES (1)", "INSERT INTO t (a, left) VALUES (1)", "INSERT INTO t (a[1]) VALUES (1)", "INSERT INTO t VALUES (NULL IS NULL)", "INSERT INTO t VALUES (1) LIMIT 1", "UPDATE t SET a = (1)",
		"INSERT INTO t VALUES (1" + strings.Repeat(", 1", bulk.TextMax) + ")",
	} {
		require.False(t, bulk.Constants(lex.Client.Text(sql)), sql)
	}
}
