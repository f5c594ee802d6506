package compute_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// statement draws SQL over the table r. Some of it the planner refuses, which is part of the game.
type statement struct{ *rapid.T }

func (s statement) pick(options ...string) string {
	return rapid.SampledFrom(options).Draw(s.T, "pick")
}

func (s statement) coin() bool { return rapid.Bool().Draw(s.T, "coin") }

func (s statement) column() string {
	return s.pick("i", "k", "l", "t", "u", "ul", "d", "e", "w", "x", "f", "s", "m", "dt", "ts", "b")
}

func (s statement) number(depth int) string {
	if depth <= 0 || s.coin() {
		return s.pick("i", "k", "l", "t", "d", "e", "x", "1", "2", "-1", "1.5", "0.05", "100", "2.25", "1e0", "3000000000")
	}
	if rapid.IntRange(0, 5).Draw(s.T, "negate") == 0 {
		return "-(" + s.number(depth-1) + ")"
	}
	if rapid.IntRange(0, 5).Draw(s.T, "cast") == 0 {
		to := s.pick("smallint", "integer", "bigint", "numeric(6,2)", "numeric(9,4)", "numeric(18,2)", "decimal(18,0)")
		return "CAST(" + s.number(depth-1) + " AS " + to + ")"
	}
	return "(" + s.number(depth-1) + s.pick(" + ", " - ", " * ", " / ") + s.number(depth-1) + ")"
}

func (s statement) comparison() string {
	op := s.pick(" = ", " <> ", " < ", " <= ", " > ", " >= ")
	text := s.pick("'a'", "'ab'", "'A'", "''", "'zebra'", "NULL", "'a longer string than twelve bytes'")
	day := s.pick("'1970-01-02'", "date '1969-09-23'", "timestamp '1970-01-06 00:00:00'", "dt", "ts", "'1970-01-01'")
	switch rapid.IntRange(0, 7).Draw(s.T, "comparison") {
	case 0:
		return s.pick("s", "m") + op + text
	case 1:
		return s.pick("dt", "ts") + op + day
	case 2:
		return s.column() + s.pick(" IS NULL", " IS NOT NULL")
	case 3:
		return s.pick("i", "t", "d", "x", "l", "u") + s.pick(" IN (", " NOT IN (") + s.pick("1, 2", "5", "NULL, 1", "0, 1.5, 100", "-1, 7, 2") + ")"
	case 4:
		return s.pick("i", "d", "e", "x") + s.pick(" BETWEEN ", " NOT BETWEEN ") + s.pick("0", "-1", "1.5", "NULL") + " AND " + s.pick("2", "7", "1.5", "NULL")
	case 5:
		return s.pick("s", "m") + s.pick(" LIKE ", " NOT LIKE ") + s.pick("'a%'", "'%b'", "'%a%'", "'a%b%c'", "'%'", "''", "'%longer%twelve%'")
	case 6:
		return s.pick("s = m", "b = true", "b <> false", "i = k", "s < m", "x >= d", "d > x", "l < i", "dt = ts")
	}
	return s.number(1) + op + s.number(1)
}

func (s statement) condition(depth int) string {
	switch {
	case depth <= 0 || s.coin():
		if rapid.IntRange(0, 6).Draw(s.T, "plain") == 0 {
			return s.pick("b", "true", "NULL", "false")
		}
		return s.comparison()
	case rapid.IntRange(0, 3).Draw(s.T, "not") == 0:
		return "NOT (" + s.condition(depth-1) + ")"
	}
	return "(" + s.condition(depth-1) + s.pick(" AND ", " OR ") + s.condition(depth-1) + ")"
}

func (s statement) aggregate() string {
	if s.coin() {
		return s.pick("count", "min", "max") + "(" + s.column() + ")"
	}
	return s.pick("count(*)", "sum("+s.number(1)+")", "avg("+s.number(1)+")", "sum(d)", "avg(i)", "sum(l)", "avg(x)", "min("+s.number(1)+")")
}

// list draws a select list with an alias for each entry.
func (s statement) list(entry func() string) string {
	parts := make([]string, rapid.IntRange(1, 4).Draw(s.T, "entries"))
	for i := range parts {
		parts[i] = fmt.Sprintf("%s AS c%d", entry(), i)
	}
	return strings.Join(parts, ", ")
}

func (s statement) draw() string {
	where := ""
	if s.coin() {
		where = " WHERE " + s.condition(2)
	}
	switch rapid.IntRange(0, 3).Draw(s.T, "shape") {
	case 0:
		return "SELECT * FROM r" + where + s.pick("", " LIMIT 3", " LIMIT 7 OFFSET 2", " OFFSET 5")
	case 1:
		return "SELECT " + s.list(func() string { return s.number(2) }) + " FROM r" + where
	case 2:
		return "SELECT " + s.list(func() string { return s.pick(s.condition(1), s.column()) }) + " FROM r" + where
	}
	return "SELECT " + s.list(s.aggregate) + " FROM r" + where
}

// dependsOnOrder: sums of doubles are rounded in the order in which threads add, and of -0 and 0 the first stays.
func dependsOnOrder(q *plan.Query) bool {
	return slices.ContainsFunc(q.Aggregates, func(a plan.Aggregate) bool {
		return a.Argument != nil && a.Op != plan.Count && (a.Argument.Type.Kind == plan.KindDouble || a.Argument.Type.Kind == plan.KindFloat)
	})
}

// TestAgainstTwin attacks X1: a row-at-a-time twin must give the same answer, or both must overflow.
func TestAgainstTwin(t *testing.T) {
	answered := 0
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		tab := drawTable(rt, mem, testColumns)
		defer tab.release()
		parallel := rapid.Bool().Draw(rt, "parallel")
		if parallel {
			defer compute.CutMorsels(3)()
		}
		for range 10 {
			sql := statement{rt}.draw()
			q, unsupported := mustPlan(rt, sql, tab.resolver())
			if unsupported != nil || parallel && dependsOnOrder(q) {
				continue
			}
			answered++
			want, wantErr := twin(q, tab.rows)
			got, err := tab.run(rt, mem, q)
			if wantErr != nil {
				require.ErrorIs(rt, err, compute.ErrOverflow, sql)
				var state interface{ SQLState() string }
				require.True(rt, errors.As(err, &state))
				require.Equal(rt, "22003", state.SQLState())
				continue
			}
			require.NoError(rt, err, sql)
			require.Equal(rt, describe(want), describe(got), "%s\n%s", sql, q)
		}
	})
	require.Greater(t, answered, 300, "the planner refuses nearly everything: nothing was tested")
}

// TestOverflow attacks X1 at the ends of the integers, where arrow-go's own checks fail.
func TestOverflow(t *testing.T) {
	mem := memory.DefaultAllocator
	for _, kind := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		&arrow.Decimal128Type{Precision: 18, Scale: 2}, &arrow.Decimal128Type{Precision: 9, Scale: 4}} {
		columns := []plan.Column{{Name: "a", Type: kind}, {Name: "b", Type: kind}}
		low, high := int64(-999_999_999), int64(999_999_999)
		if d, ok := kind.(*arrow.Decimal128Type); !ok {
			bits := kind.(arrow.FixedWidthDataType).BitWidth()
			low, high = math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits)
		} else if d.Precision == 18 {
			low, high = -999_999_999_999_999_999, 999_999_999_999_999_999
		}
		ends := []int64{low, low + 1, low / 2, low/2 - 1, -12, -1, 0, 1, 11, high / 2, high/2 + 1, high - 1, high}
		for _, a := range ends {
			for _, b := range ends {
				rows := [][]cell{{nil, big.NewInt(b)}, {big.NewInt(a), big.NewInt(b)}, {big.NewInt(a), nil}}
				tab := &table{relation: &plan.Relation{Schema: "main", Name: "r", Columns: columns, Rows: 3}, rows: rows}
				tab.chunks = append(tab.chunks, buildChunk(mem, columns, rows, []int{0, 2}))
				for _, sql := range []string{"SELECT a + b AS c FROM r", "SELECT a - b AS c FROM r", "SELECT a * b AS c FROM r", "SELECT -(a) AS c FROM r",
					"SELECT a + 1 AS c FROM r", "SELECT 2 * b AS c FROM r", "SELECT 1.5 - a AS c FROM r"} {
					q, unsupported := mustPlan(t, sql, tab.resolver())
					if unsupported != nil {
						continue
					}
					want, wantErr := twin(q, rows)
					got, err := tab.run(t, mem, q)
					if wantErr != nil {
						require.ErrorIs(t, err, compute.ErrOverflow, "%s: %s, %d and %d", sql, kind, a, b)
						continue
					}
					require.NoError(t, err, "%s: %s, %d and %d", sql, kind, a, b)
					require.Equal(t, describe(want), describe(got), "%s: %s, %d and %d", sql, kind, a, b)
				}
				tab.release()
			}
		}
	}
}
