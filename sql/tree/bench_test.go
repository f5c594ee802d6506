package tree_test

import (
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

func BenchmarkAll(b *testing.B) {
	const sql = `SELECT n % 7 AS k, count(*), sum(m) FROM t WHERE s LIKE 'x1%' AND n > 12 GROUP BY 1 ORDER BY 2 DESC LIMIT 10`
	parsed, err := pg.Parse(sql)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		for range tree.All(parsed.ProtoReflect()) {
			n++
		}
	}
	b.ReportMetric(float64(n)/float64(b.N), "messages/op")
}
