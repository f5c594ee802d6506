package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkInsertConstants is INSERTs of rows of lineitem as text, in one transaction.
func BenchmarkInsertConstants(b *testing.B) {
	for _, n := range []int{1, 5, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := session(b, open(b))
			exec(b, s, `CREATE TABLE l (l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL,
				l_linenumber int, l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2),
				l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date,
				l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44)); BEGIN`)
			texts := make([]string, 64)
			for i := range texts {
				var t strings.Builder
				t.WriteString("INSERT INTO l VALUES ")
				for row := range n {
					fmt.Fprintf(&t, "%s(%d, %d, %d, %d, 17, 21168.23, 0.04, 0.02, 'N', 'O', '1996-03-13', '1996-02-12', '1996-03-22', "+
						"'DELIVER IN PERSON', 'TRUCK', 'egular courts above the %d')", strings.Repeat(", ", min(row, 1)), i*n+row, row*7, row*3, row%7, row)
				}
				texts[i] = t.String()
			}
			sent := 0
			for ; b.Loop(); sent++ {
				exec(b, s, texts[sent%len(texts)])
			}
			require.Equal(b, []string{fmt.Sprintf("%d,true", n*sent)},
				rows(b, s, fmt.Sprintf("SELECT count(*), sum(l_extendedprice) = %d * 21168.23 FROM l", n*sent)))
		})
	}
}
