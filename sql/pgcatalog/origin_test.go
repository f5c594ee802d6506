package pgcatalog_test

import (
	"fmt"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// What PostgreSQL 15 says for the same texts, but for the last ones, of which it knows more than we are sure of.
func TestOrigins(t *testing.T) {
	table := func(oid uint32, schema, name string, columns ...string) *pgcatalog.Relation {
		r := &pgcatalog.Relation{Schema: schema, Name: name, Kind: 'r', OID: oid}
		for _, c := range columns {
			r.Columns = append(r.Columns, pgcatalog.Column{Name: c})
		}
		return r
	}
	relations := map[string]*pgcatalog.Relation{"t": table(7, "public", "t", "a", "b", "Mixed"), "u": table(8, "public", "u", "a", "c"), "s.t": table(9, "s", "t", "d")}
	find := func(_, schema, name string) *pgcatalog.Relation {
		if schema != "" && schema != "public" {
			name = schema + "." + name
		}
		return relations[name]
	}
	for text, want := range map[string]string{
		"SELECT a, b AS other, a + 1, A FROM t":                           "7.1 7.2 - 7.1",
		"SELECT * FROM t":                                                 "7.1 7.2 7.3",
		"SELECT \"Mixed\", mixed FROM t":                                  "7.3 7.3",
		"SELECT t.b, public.t.a, x.d FROM t, s.t AS x":                    "7.2 7.1 9.1",
		"SELECT u.*, t.b FROM t JOIN u ON t.a = u.a":                      "8.1 8.2 7.2",
		"SELECT b, c FROM t LEFT JOIN u USING (a)":                        "7.2 8.2",
		"SELECT x, max(b) FROM (SELECT a AS x, b FROM t) AS s GROUP BY x": "7.1 -",
		"SELECT p, q FROM t AS x(p, q)":                                   "7.1 7.2",
		"WITH w(z) AS (SELECT c FROM u) SELECT z FROM w":                  "8.2",
		"WITH t AS (SELECT 1 AS a) SELECT t.a, u.c FROM t, u":             "- 8.2",
		"SELECT DISTINCT b FROM t ORDER BY b LIMIT 3":                     "7.2",
		"SELECT a::BIGINT, b FROM t":                                      "- 7.2",
		"SELECT a FROM t TABLESAMPLE SYSTEM (10)":                         "7.1",
		"WITH RECURSIVE t AS (SELECT 1 AS a) SELECT a, c FROM (SELECT * FROM t) AS s(a), (SELECT c FROM u) AS v": "- 8.2",

		"SELECT a FROM t UNION ALL SELECT a FROM u":                       "",
		"SELECT x FROM (SELECT a AS x FROM t UNION SELECT a FROM u) AS s": "",
		"SELECT 1":                      "",
		"VALUES (1)":                    "",
		"SELECT a FROM t, u":            "", // an error
		"SELECT * FROM elsewhere":       "",
		"SELECT a FROM t, elsewhere":    "7.1", // if elsewhere had one of that name, this would be an error
		"INSERT INTO t SELECT * FROM u": "",

		"SELECT * FROM t JOIN u USING (a)":                                                    "7.1 7.2 7.3 8.2",
		"SELECT a, c, t.a, u.a FROM t LEFT JOIN u USING (a)":                                  "7.1 8.2 7.1 8.1",
		"SELECT a, u.* FROM t RIGHT JOIN u USING (a)":                                         "8.1 8.1 8.2",
		"SELECT a, b FROM t FULL JOIN u USING (a)":                                            "- 7.2",
		"SELECT * FROM t NATURAL JOIN u":                                                      "7.1 7.2 7.3 8.2",
		"SELECT * FROM u NATURAL RIGHT JOIN t":                                                "7.1 8.2 7.2 7.3",
		"SELECT * FROM u JOIN t USING (a) JOIN (SELECT c, d FROM u, s.t) AS v USING (c), s.t": "8.1 8.2 7.2 7.3 9.1 9.1",
		"SELECT j.b, * FROM (t JOIN u USING (a)) AS j(x)":                                     "7.2 7.1 7.2 7.3 8.2",
		"SELECT t.b FROM (t JOIN u USING (a)) AS j":                                           "", // an error
		"SELECT a FROM t JOIN u ON true":                                                      "", // an error
		"SELECT * FROM t JOIN u USING (b)":                                                    "", // an error
		"SELECT " + strings.Repeat("x", 70) + " FROM t":                                       "",
	} {
		tree, err := pg.Parse(text)
		require.NoError(t, err, text)
		var got []string
		for _, o := range pgcatalog.Origins(text, tree, find) {
			if o == (pgcatalog.Origin{}) {
				got = append(got, "-")
			} else {
				got = append(got, fmt.Sprintf("%d.%d", o.Table, o.Column))
			}
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
}
