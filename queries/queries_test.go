package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/queries"
)

func TestQueries(t *testing.T) {
	list := queries.TPCH()
	require.Len(t, list, 22)
	for i, query := range list {
		require.Equal(t, i+1, query.Number)
		upper := strings.ToUpper(query.SQL)
		require.True(t, strings.HasPrefix(upper, "SELECT") || strings.HasPrefix(upper, "WITH"), "%d: %s", query.Number, query.SQL)
		require.NotContains(t, query.SQL, ";", "one statement")
		require.Equal(t, strings.TrimSpace(query.SQL), query.SQL)
	}
	list[0].SQL = "changed by a caller"
	require.NotEqual(t, list[0].SQL, queries.TPCH()[0].SQL)
}

func eachAnswer(t *testing.T, check func(t *testing.T, sf float64, number int, answer queries.Answer)) {
	for _, sf := range queries.ScaleFactors() {
		for number := 1; number <= 22; number++ {
			answer, ok := queries.AnswerFor(sf, number)
			require.True(t, ok)
			check(t, sf, number, answer)
		}
	}
}

func TestAnswersAreRectangles(t *testing.T) {
	rows := map[float64]int{}
	eachAnswer(t, func(t *testing.T, sf float64, number int, answer queries.Answer) {
		require.NotEmpty(t, answer.Columns)
		require.NotEmpty(t, answer.Rows)
		for _, row := range answer.Rows {
			require.Len(t, row, len(answer.Columns), "Q%d at %g", number, sf)
		}
		rows[sf] += len(answer.Rows)
	})
	require.Equal(t, map[float64]int{0.01: 932, 0.1: 5684, 1: 20086}, rows)
}

func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		sf     float64
		number int
	}{{0.01, 0}, {0.01, 23}, {0.01, -1}, {2, 1}, {0, 1}, {0.010001, 1}} {
		_, ok := queries.AnswerFor(c.sf, c.number)
		require.False(t, ok, "%v", c)
	}
}

func TestNullIsTheEmptyCell(t *testing.T) {
	answer, _ := queries.AnswerFor(0.01, 17)
	require.Equal(t, [][]string{{""}}, answer.Rows)
	require.NoError(t, answer.Compare([]string{"avg_yearly"}, [][]string{{""}}))
	require.Error(t, answer.Compare([]string{"avg_yearly"}, [][]string{{"0"}}))
	require.Error(t, answer.Compare([]string{"avg_yearly"}, nil))
}

// orderBy names the ORDER BY keys of the queries; those not listed have one row.
var orderBy = map[int][]string{
	1: {"l_returnflag", "l_linestatus"}, 2: {"s_acctbal", "n_name", "s_name", "p_partkey"}, 3: {"revenue", "o_orderdate"},
	4: {"o_orderpriority"}, 5: {"revenue"}, 7: {"supp_nation", "cust_nation", "l_year"}, 8: {"o_year"}, 9: {"nation", "o_year"},
	10: {"revenue"}, 11: {"value"}, 12: {"l_shipmode"}, 13: {"custdist", "c_count"}, 15: {"s_suppkey"},
	16: {"supplier_cnt", "p_brand", "p_type", "p_size"}, 18: {"o_totalprice", "o_orderdate"}, 20: {"s_name"},
	21: {"numwait", "s_name"}, 22: {"cntrycode"},
}

// TestOrderIsTotal holds A1: no two rows of an answer have equal keys.
func TestOrderIsTotal(t *testing.T) {
	for _, query := range queries.TPCH() {
		require.Equal(t, orderBy[query.Number] != nil, strings.Contains(query.SQL, "ORDER BY"), "Q%d", query.Number)
	}
	eachAnswer(t, func(t *testing.T, sf float64, number int, answer queries.Answer) {
		keys := orderBy[number]
		if keys == nil {
			require.Len(t, answer.Rows, 1)
			return
		}
		seen := map[string]bool{}
		for _, row := range answer.Rows {
			var key strings.Builder
			for _, name := range keys {
				position := slices.Index(answer.Columns, name)
				require.NotEqual(t, -1, position, "Q%d has no column %s", number, name)
				fmt.Fprintf(&key, "%s|", row[position])
			}
			require.False(t, seen[key.String()], "Q%d at %g: two rows with key %s", number, sf, key.String())
			seen[key.String()] = true
		}
	})
}

func TestAnswersEqualThemselves(t *testing.T) {
	eachAnswer(t, func(t *testing.T, _ float64, _ int, answer queries.Answer) {
		require.NoError(t, answer.Compare(answer.Columns, answer.Rows))
	})
}

func copyRows(rows [][]string) [][]string {
	result := make([][]string, len(rows))
	for i, row := range rows {
		result[i] = slices.Clone(row)
	}
	return result
}

// TestEveryChangedCellIsFound changes one cell at a time, in every answer:
// a text by a letter, a number in its last digit but one.
func TestEveryChangedCellIsFound(t *testing.T) {
	eachAnswer(t, func(t *testing.T, _ float64, number int, answer queries.Answer) {
		rows := copyRows(answer.Rows)
		for i := range min(len(rows), 40) {
			for j := range rows[i] {
				original := rows[i][j]
				rows[i][j] = changed(original)
				var difference *queries.Difference
				require.ErrorAs(t, answer.Compare(answer.Columns, rows), &difference, "Q%d: %q for %q passed", number, rows[i][j], original)
				require.Equal(t, queries.Difference{Row: i + 1, Column: answer.Columns[j], Got: rows[i][j], Want: original}, *difference)
				rows[i][j] = original
			}
		}
	})
}

func changed(cell string) string {
	if cell == "" {
		return "0"
	}
	bytes := []byte(cell)
	last := len(bytes) - 1
	if _, fraction, ok := strings.Cut(cell, "."); ok && len(fraction) > 6 {
		last = 7 // a floating point number: a digit that counts
	}
	switch c := bytes[last]; {
	case c >= '0' && c < '9':
		bytes[last]++
	case c == '9':
		bytes[last] = '8'
	default:
		bytes[last] ^= 1
	}
	return string(bytes)
}

func TestRowsMissingSurplusOrSwapped(t *testing.T) {
	eachAnswer(t, func(t *testing.T, _ float64, number int, answer queries.Answer) {
		last := len(answer.Rows) - 1
		err := answer.Compare(answer.Columns, answer.Rows[:last])
		require.ErrorContains(t, err, "missing row", "Q%d", number)
		require.ErrorContains(t, err, fmt.Sprintf("row %d", last+1))

		surplus := append(copyRows(answer.Rows), answer.Rows[last])
		require.ErrorContains(t, answer.Compare(answer.Columns, surplus), "surplus row")
		require.Error(t, answer.Compare(answer.Columns, answer.Rows[1:]))

		if last > 0 {
			swapped := copyRows(answer.Rows)
			swapped[0], swapped[last] = swapped[last], swapped[0]
			require.Error(t, answer.Compare(answer.Columns, swapped), "order counts (A1)")
		}
	})
}

// A4.
func TestColumnsSwapped(t *testing.T) {
	eachAnswer(t, func(t *testing.T, _ float64, number int, answer queries.Answer) {
		if len(answer.Columns) < 2 {
			return
		}
		columns := slices.Clone(answer.Columns)
		columns[0], columns[1] = columns[1], columns[0]
		rows := copyRows(answer.Rows)
		for _, row := range rows {
			row[0], row[1] = row[1], row[0]
		}
		require.ErrorContains(t, answer.Compare(columns, rows), "columns", "Q%d", number)
		require.Error(t, answer.Compare(answer.Columns, rows), "Q%d: swapped values under right names", number)
		require.Error(t, answer.Compare(columns[:1], answer.Rows))
		rows = copyRows(answer.Rows)
		rows[0] = rows[0][:1]
		require.ErrorContains(t, answer.Compare(answer.Columns, rows), "number of cells")
	})
}

func TestUnnamedColumn(t *testing.T) {
	answer, _ := queries.AnswerFor(1, 18)
	columns := slices.Clone(answer.Columns)
	require.Equal(t, "sum", columns[5])
	columns[5] = "sum(l_quantity)"
	require.NoError(t, answer.Compare(columns, answer.Rows))
	columns[5] = "summa"
	require.Error(t, answer.Compare(columns, answer.Rows))
}

// A2, A3.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
		why       string
	}{
		{"380456", "380456.00", true, "a decimal without its scale"},
		{"380456", "380456.01", false, "a cent more"},
		{"380456", "380457", false, "a count"},
		{"380456", "380456.0000000001", true, "a floating point sum"},
		{"380456", "380456.000001", false, "a decimal sum that lost something"},
		{"0.0", "0", true, "zero"},
		{"0.0", "1e-30", false, "not zero"},
		{"0.0", "-0", true, "minus zero"},
		{"25.575154611454693", "25.575154611454690", true, "the last place"},
		{"25.575154611454693", "25.575154612", false, "rounded too early"},
		{"25.575154611454693", "2.5575154611454693e1", true, "another notation"},
		{"1995-03-13", "1995-03-13 00:00:00", false, "not a date"},
		{"1995-03-13", "1995-03-14", false, "another date"},
		{"25-989-741-2988", "25-989-741-2989", false, "a phone number is no number"},
		{"JAPAN", "japan", false, "case counts"},
		{"abc", "abc ", false, "spaces count"},
		{"", "", true, "NULL"},
		{"", "0", false, "NULL is not zero"},
		{"0", "", false, "zero is not NULL"},
		{"16", "0x10", false, "hexadecimal is no number"},
		{"16", "32/2", false, "a fraction is no number"},
		{"16", "1_6", false, "an underscore is no digit"},
		{"16", "NaN", false, "not a number"},
		{"16", "1e999999999", false, "beyond any number, in no time"},
		{"16", "+16", true, "a sign"},
	} {
		answer := queries.Answer{Columns: []string{"value"}, Rows: [][]string{{c.want}}}
		err := answer.Compare(answer.Columns, [][]string{{c.got}})
		require.Equal(t, c.same, err == nil, "want %q, got %q: %s", c.want, c.got, c.why)
	}
}

// TestCompareNeverPanics gives it rows of any shape.
func TestCompareNeverPanics(t *testing.T) {
	answer, _ := queries.AnswerFor(0.01, 1)
	cell := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-+]?[0-9]{0,3}\.?[0-9]{0,9}([eE][-+]?[0-9]{0,4})?`))
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 0, 12), 0, 6).Draw(t, "rows")
		if err := answer.Compare(answer.Columns, rows); err != nil {
			require.NotEmpty(t, err.Error())
		} else {
			require.Len(t, rows, len(answer.Rows))
		}
	})
}

func TestDifferenceTells(t *testing.T) {
	answer, _ := queries.AnswerFor(0.1, 4)
	rows := copyRows(answer.Rows)
	rows[1][1] = "998"
	require.EqualError(t, answer.Compare(answer.Columns, rows), `queries: row 2, column order_count: got "998", want "997"`)
	require.EqualError(t, answer.Compare([]string{"order_count"}, nil), "queries: columns: got order_count, want o_orderpriority|order_count")
	require.EqualError(t, answer.Compare(answer.Columns, answer.Rows[:4]), "queries: row 5: missing row (the answer has 5, the result 4): got no such row, want 5-LOW|1077")
}
