package typing_test

import (
	"fmt"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/typing"
)

// TestSums: sums of numbers that are narrower than a bigint are one, as far as the text and the catalog say what they are.
func TestSums(t *testing.T) {
	r := &pgcatalog.Relation{Schema: "public", Name: "t", Kind: 'r', OID: 7, Columns: []pgcatalog.Column{
		{Name: "i", Type: 23}, {Name: "small", Type: 21}, {Name: "big", Type: 20}, {Name: "n", Type: 1700},
	}}
	find := func(_, _, name string) *pgcatalog.Relation {
		if name == "t" {
			return r
		}
		return nil
	}
	for expression, want := range map[string]bool{
		"sum(i)": true, "sum(t.small)": true, "pg_catalog.sum(i)": true, "SUM(DISTINCT i)": true, "sum(i) OVER ()": true,
		"sum(i) FILTER (WHERE big > 1)": true, "sum(1)": true, "sum(-i + small * 2)": true, "sum(big::int)": true,
		"sum(CASE WHEN big > 1 THEN 1 ELSE 0 END)": true, "sum(CASE WHEN n > 1 THEN i END)": true,
		"coalesce(sum(i), 0)": true, "sum(coalesce(i, 0))": true,

		"sum(big)": false, "sum(n)": false, "sum(i + big)": false, "sum(i / 2)": false, "sum(i::bigint)": false, "max(i)": false,
		"sum(5000000000)": false, "sum(CASE WHEN true THEN i ELSE big END)": false, "coalesce(sum(i), sum(big))": false,
		"coalesce(1, 2)": false, "sum(i::int[])": false, "sum(nope)": false, "s.sum(i)": false, "sum(f(i))": false, "sum(1.5)": false,
	} {
		for _, text := range []string{
			"SELECT big, " + expression + " FROM t", "SELECT big, " + expression + " FROM (SELECT * FROM t) AS t",
		} {
			tree, err := pg.Parse(text)
			require.NoError(t, err, text)
			origins := typing.Origins(text, tree, find)
			require.Len(t, origins, 2, text)
			require.Equal(t, want, origins[1] == typing.Origin{Type: 20, Typmod: -1}, text)
			require.EqualValues(t, 7, origins[0].Table)
		}
	}
}

// What PostgreSQL 15 says for the same texts, except the last ones, of which it knows more than we are sure of.
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
		for _, o := range typing.Origins(text, tree, find) {
			if o == (typing.Origin{}) {
				got = append(got, "-")
			} else {
				got = append(got, fmt.Sprintf("%d.%d", o.Table, o.Column))
			}
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
}
