package queries

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed tpch/*.sql tpch/answers
var files embed.FS

// queryCount is the number of TPC-H queries; they are numbered from 1.
const queryCount = 22

// Query is one TPC-H query with its validation parameters.
type Query struct {
	Number int    // 1 … 22
	SQL    string // one SELECT statement, without a semicolon at its end
}

// TPCH returns the 22 queries in the order of their numbers. The caller owns
// the slice.
func TPCH() []Query {
	list := make([]Query, queryCount)
	for i := range list {
		list[i] = Query{Number: i + 1, SQL: mustReadQuery(i + 1)}
	}
	return list
}

func mustReadQuery(number int) string {
	text, err := files.ReadFile(fmt.Sprintf("tpch/q%02d.sql", number))
	if err != nil {
		panic(fmt.Sprintf("queries: the embedded text of query %d is missing: %v", number, err))
	}
	return strings.TrimSuffix(strings.TrimSpace(string(text)), ";")
}

// ScaleFactors returns the scale factors that have published answers, in
// ascending order. The caller owns the slice.
func ScaleFactors() []float64 { return []float64{0.01, 0.1, 1} }

// Answer is the published result of a query, in its order (A1).
type Answer struct {
	Columns []string   // names
	Rows    [][]string // cells, as many per row as there are columns; NULL is ""
}

// AnswerFor returns the published answer of a query at a scale factor, and
// false if there is none. The caller owns the answer.
func AnswerFor(sf float64, number int) (Answer, bool) {
	name := fmt.Sprintf("tpch/answers/sf%s/q%02d.csv", strconv.FormatFloat(sf, 'g', -1, 64), number)
	text, err := files.ReadFile(name)
	if err != nil {
		return Answer{}, false
	}
	return parseAnswer(string(text)), true
}

// parseAnswer reads a pipe separated text with a header line. Every line is
// ended by a line feed; an empty line is a row of one NULL.
func parseAnswer(text string) Answer {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	answer := Answer{Columns: strings.Split(lines[0], "|"), Rows: make([][]string, 0, len(lines)-1)}
	for _, line := range lines[1:] {
		answer.Rows = append(answer.Rows, strings.Split(line, "|"))
	}
	return answer
}
