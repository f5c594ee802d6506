package queries_test

import (
	"fmt"

	"github.com/csmsql/csmsql/queries"
)

// A result that misses a row of Q4 differs from the published answer.
func ExampleAnswer_Compare() {
	answer, _ := queries.AnswerFor(0.01, 4)
	columns := []string{"o_orderpriority", "order_count"}
	rows := [][]string{{"1-URGENT", "93"}, {"2-HIGH", "103"}, {"3-MEDIUM", "109"}, {"4-NOT SPECIFIED", "102"}}
	fmt.Println(answer.Compare(columns, rows))
	fmt.Println(answer.Compare(columns, append(rows, []string{"5-LOW", "128"})))
	// Output:
	// queries: row 5: missing row (the answer has 5, the result 4): got no such row, want 5-LOW|128
	// <nil>
}
