package duckdb_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// without is a scan of the table from which random rows are deleted, and which they are, by their numbers.
func (m *mixed) without(t *rapid.T, filters []duckdb.Filter) (*duckdb.Scan, map[int64]bool) {
	share := rapid.SampledFrom([]float64{0, 0.002, 0.3, 0.95, 1}).Draw(t, "deleted")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "deleted rows"), 1))
	gone, words, number := map[int64]bool{}, [][]uint64{}, int64(0)
	for _, b := range m.batches {
		w := make([]uint64, (b.NumRows()+63)/64)
		for i := range b.NumRows() {
			if rng.Float64() < share {
				gone[number] = true
				w[i/64] |= 1 << (i % 64)
			}
			number++
		}
		if !slices.ContainsFunc(w, func(w uint64) bool { return w != 0 }) {
			w = nil
		}
		words = append(words, w)
	}
	s := m.scan(filters)
	s.Deleted = func(chunk int) ([]uint64, error) { return words[chunk], nil }
	return s, gone
}

// D14, D6: of rows that are deleted none is given, whatever filters do, and of the others every one that passes,
// whatever columns are read: of each kind, or none.
func TestDeletedRowsAreNotScanned(t *testing.T) {
	_, c := open(t)
	tables := mixedTables(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(tables).Draw(t, "table")
		columns := "c0"
		for i := 1; i < len(mixedTypes); i++ {
			if rapid.IntRange(0, 3).Draw(t, "projected") == 0 && (i != listColumn || rapid.Bool().Draw(t, "list")) {
				columns += fmt.Sprint(", c", i)
			}
		}
		var filters []duckdb.Filter
		for range rapid.IntRange(0, 2).Draw(t, "filters") {
			filters = append(filters, drawFilter(t))
		}
		left, gone := m.without(t, filters)
		all, some := c.Register(m.scan(nil)), c.Register(left)
		defer c.Forget(all)
		defer c.Forget(some)
		foreign, err := tryAsk(c, fmt.Sprintf("SELECT %s FROM csm_scan(%d) EXCEPT ALL SELECT %s FROM csm_scan(%d)",
			columns, some, columns, all))
		require.NoError(t, err)
		require.Empty(t, foreign, "rows that are not in the table, or twice")
		numbers, err := tryAsk(c, fmt.Sprintf("SELECT c0 FROM (SELECT %s FROM csm_scan(%d))", columns, some))
		require.NoError(t, err)
		got := map[string]bool{}
		for _, n := range numbers {
			got[n] = true
			number, err := strconv.ParseInt(n, 10, 64)
			require.NoError(t, err)
			require.False(t, gone[number], "row %s is deleted", n)
		}
		for number := range m.passing(filters) {
			n, err := strconv.ParseInt(number, 10, 64)
			require.NoError(t, err)
			require.Equal(t, !gone[n], got[number], number)
		}
		if len(filters) == 0 {
			count, err := tryAsk(c, fmt.Sprintf("SELECT count(*) FROM csm_scan(%d)", some))
			require.NoError(t, err)
			require.Equal(t, []string{strconv.Itoa(len(m.values) - len(gone))}, count)
		}
	})
}

// D14: keys of deleted rows are in no set, neither those that filters leave nor those of groups.
func TestKeysOfDeletedRows(t *testing.T) {
	tables := mixedTables(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(tables).Draw(t, "table")
		column := rapid.IntRange(0, 11).Draw(t, "key")
		filters := []duckdb.Filter{drawFilter(t)}
		s, gone := m.without(t, filters)
		set, err := duckdb.BuildKeySet(t.Context(), s, column, 20_000)
		require.NoError(t, err)
		model, rows := map[int64]bool{}, int64(0)
		for number := range m.passing(filters) {
			i, err := strconv.ParseInt(number, 10, 64)
			require.NoError(t, err)
			if v, ok := m.values[i][column].(int64); ok && !gone[i] {
				model[v] = true
				rows++
			}
		}
		for key := range model {
			require.True(t, set.Contains(key))
		}
		if mustHold(filters[0]) {
			require.Equal(t, len(model), set.Len())
			require.Equal(t, rows, set.Rows())
		}
		s, gone = m.without(t, nil)
		above := rapid.Int64Range(0, 20_000).Draw(t, "above")
		set, err = duckdb.BuildGroupKeySet(t.Context(), s, duckdb.Groups{Key: 0, Sum: 0, Above: above}, 20_000)
		require.NoError(t, err)
		require.NotNil(t, set)
		for number := range m.values {
			require.Equal(t, number > above && !gone[number], set.Contains(number), number)
		}
	})
}

// The number of each row comes with it, wherever it lies and whatever is left out, in any place of the statement.
func TestNumberedRows(t *testing.T) {
	_, c := open(t)
	tables := mixedTables(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(tables).Draw(t, "table")
		var filters []duckdb.Filter
		for range rapid.IntRange(0, 2).Draw(t, "filters") {
			filters = append(filters, drawFilter(t))
		}
		s, _ := m.without(t, filters)
		first := []int64{0}
		for _, b := range m.batches {
			first = append(first, first[len(first)-1]+b.NumRows()+1_000_000)
		}
		n := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64}
		s.Schema = arrow.NewSchema(append(slices.Clone(s.Schema.Fields()), n), nil)
		s.Number = func(chunk int) (int64, error) { return first[chunk], nil }
		columns := rapid.SampledFrom([]string{"n, c0", "c0, n", "c15, n, c21, c0", "n, c0, c21"}).Draw(t, "columns")
		number := c.Register(s)
		defer c.Forget(number)
		got, err := tryAsk(c, fmt.Sprintf("SELECT n || ' ' || c0 FROM (SELECT %s FROM csm_scan(%d))", columns, number))
		require.NoError(t, err)
		want := map[string]bool{}
		row := int64(0)
		for i, b := range m.batches {
			for k := range b.NumRows() {
				want[fmt.Sprint(first[i]+k, " ", row)] = true
				row++
			}
		}
		for _, g := range got {
			require.True(t, want[g], g)
			delete(want, g)
		}
		alone, err := tryAsk(c, fmt.Sprintf("SELECT n FROM csm_scan(%d)", number))
		require.NoError(t, err)
		require.Len(t, alone, len(got))
		s.Filters = []duckdb.Filter{{Column: len(mixedTypes), NotNull: true}}
		_, err = tryAsk(c, fmt.Sprintf("SELECT n FROM csm_scan(%d)", number))
		require.ErrorContains(t, err, "a filter names column")
		s.Filters = filters
	})
}

// A chunk whose deleted rows are not said of as many rows as it has is an error.
func TestDeletedRowsOfAnotherChunk(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 100)
	s := scanOf(schema, batch)
	s.Deleted = func(int) ([]uint64, error) { return []uint64{1}, nil }
	number := c.Register(s)
	defer c.Forget(number)
	_, err := tryAsk(c, fmt.Sprintf("SELECT * FROM csm_scan(%d)", number))
	require.ErrorContains(t, err, "1 words say which are deleted")
}
