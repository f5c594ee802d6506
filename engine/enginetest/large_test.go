package enginetest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// largeTables span several slices, morsels and chunks: filters go to rest there and wake again, words are a dictionary in one
// chunk and views in the next.
var largeTables = []string{
	"CREATE TABLE t (k INTEGER, w VARCHAR, d DATE, x DOUBLE, m DECIMAL(12,3))",
	`INSERT INTO t SELECT CASE WHEN i % 11 > 0 THEN i % 13 END, CASE i % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'AIR' END, DATE '2020-01-01' + CAST(i // 9000 AS INTEGER),
		CASE WHEN i % 97 = 0 THEN 'nan'::DOUBLE ELSE (i % 12) / 4.0 END, (i % 40) / 8.0 FROM range(30000) AS g(i)`,
	`INSERT INTO t SELECT i % 5, 'w' || (i % 400), NULL, i % 3, NULL FROM range(9000) AS g(i)`,
	`INSERT INTO t SELECT NULL, NULL, DATE '2020-01-05', 'inf'::DOUBLE, 1.5 FROM range(5000) AS g(i)`,
	`INSERT INTO t SELECT 12, 'z', DATE '2020-01-06', 0.25, 2 FROM range(2049) AS g(i)`,
	"CREATE TABLE u (k BIGINT, b INTEGER, w VARCHAR)",
	"INSERT INTO u SELECT i, i % 4, CASE WHEN i % 2 = 0 THEN 'A' ELSE 'b' END FROM range(13) AS g(i)",
}

// P1, P2, P7, D6 with the row counts of real tables.
func TestLargeTables(t *testing.T) {
	r := newRig(t)
	for _, sql := range largeTables {
		require.Empty(t, r.both(sql), sql)
	}
	large := &table{name: "t", columns: []*column{
		{name: "k", kind: kinds[0]}, {name: "w", kind: kinds[15]}, {name: "d", kind: kindNamed("DATE")}, {name: "x", kind: kindNamed("DOUBLE")}, {name: "m", kind: kindNamed("DECIMAL(12,3)")}}}
	small := &table{name: "u", columns: []*column{{name: "k", kind: kinds[1]}, {name: "b", kind: kinds[0]}, {name: "w", kind: kinds[15]}}}
	forms := []string{
		" FROM t", " FROM t JOIN u ON t.k = u.k", " FROM u LEFT JOIN t ON t.k = u.k", " FROM t LEFT JOIN u ON u.k = t.k",
		" FROM t JOIN u ON t.k = u.k JOIN u AS y ON y.b = u.b", " FROM t SEMI JOIN u ON t.k = u.k",
	}
	_, seed := limits(t, 0)
	g := &grammar{Rand: rand.New(rand.NewPCG(seed, 3)), world: &world{tables: []*table{large, small}}}
	for range 150 {
		from := pick(g.Rand, forms)
		s := &scope{own: []source{{"t", large.columns}}, deep: 2}
		if from != forms[0] && from != forms[5] {
			s.own = append(s.own, source{"u", small.columns})
		}
		where := list(" WHERE ", " AND ", "", 0, g.conditions(s, 1+g.IntN(3))...)
		q := sequence("SELECT count(*) AS n, sum(t.k) AS k, min(t.w) AS low, max(t.w) AS high, min(t.x) AS x, sum(t.m) AS m", from, where)
		sql, args := q.sql()
		require.Empty(t, r.compare(sql, args, false), "seed %d: %s %v", seed, sql, args)
		grouped, args := sequence("SELECT t.w, count(*) AS n"+from, where, " GROUP BY t.w").sql()
		require.Empty(t, r.compare(grouped, args, false), "seed %d: %s %v", seed, grouped, args)
	}
	require.Less(t, r.refused*3, r.queries)
}

func kindNamed(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return nil
}
