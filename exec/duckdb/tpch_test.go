package duckdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// tpchTables are the eight tables as scans, and copies of them as DuckDB's own tables in the schema native.
type tpchTables struct {
	c     *duckdb.Connection
	scans map[string]*duckdb.Scan
}

func loadTPCH(t testing.TB, sf float64, native bool) *tpchTables {
	_, c := open(t)
	g, err := dbgen.New(sf)
	require.NoError(t, err)
	tables := &tpchTables{c: c, scans: map[string]*duckdb.Scan{}}
	require.NoError(t, c.Exec("CREATE SCHEMA native"))
	for _, table := range dbgen.Tables() {
		s := tables.load(t, g, table)
		tables.scans[table.String()] = s
		if native {
			plain := *s
			plain.Domains = nil
			number := c.Register(&plain)
			require.NoError(t, c.Exec(fmt.Sprintf("CREATE TABLE native.%s AS SELECT * FROM csm_scan(%d)", table, number)))
			c.Forget(number)
		}
	}
	return tables
}

func (tables *tpchTables) load(t testing.TB, g *dbgen.Generator, table dbgen.Table) *duckdb.Scan {
	step := int64(245_760)
	if table == dbgen.LineItem {
		step /= 4 // units are orders
	}
	var batches []arrow.RecordBatch
	for first := int64(0); first < g.Units(table); first += step {
		b, err := g.Batch(context.Background(), offHeap, table, first, min(step, g.Units(table)-first))
		require.NoError(t, err)
		t.Cleanup(b.Release)
		batches = append(batches, b)
	}
	s := scanOf(dbgen.Schema(table), batches...)
	s.Domains = map[int][]string{}
	for i := range int(batches[0].NumCols()) {
		if d, ok := batches[0].Column(i).(*array.Dictionary); ok {
			for k := range d.Dictionary().Len() {
				s.Domains[i] = append(s.Domains[i], d.Dictionary().ValueStr(k))
			}
		}
	}
	return s
}

var (
	fromClause = regexp.MustCompile(`(?is)\bFROM\b.*?(\bWHERE\b|\bGROUP\b|\bORDER\b|$)`)
	tableName  = regexp.MustCompile(`(?i)(\bAS )?\b(region|nation|supplier|customer|part|partsupp|orders|lineitem)\b( (?:n1|n2|l1|l2|l3)\b)?`)
)

// splice puts csm_scan calls in place of table names; scanFor is asked with the name and the alias, if there is one.
func splice(sql string, call func(occurrence, table string) uint64) string {
	return fromClause.ReplaceAllStringFunc(sql, func(clause string) string {
		return tableName.ReplaceAllStringFunc(clause, func(found string) string {
			parts := tableName.FindStringSubmatch(found)
			if parts[1] != "" {
				return found // a column's alias
			}
			alias := parts[3]
			if alias == "" {
				alias = " AS " + parts[2]
			}
			return fmt.Sprintf("csm_scan(%d)%s", call(parts[2]+parts[3], parts[2]), alias)
		})
	})
}

// run answers a query over scans with the filters that plan gives (none: nil), and everything that this costs.
func (tables *tpchTables) run(t testing.TB, q queries.Query, plan func(*byHand)) [][]string {
	hand := &byHand{TB: t, tables: tables, scans: map[string]*duckdb.Scan{}}
	if plan != nil {
		plan(hand)
	}
	registered := map[*duckdb.Scan]uint64{} // one number for equal occurrences: then DuckDB finds common subplans
	sql := splice(q.SQL, func(occurrence, table string) uint64 {
		s := hand.scans[occurrence]
		if s == nil {
			s = hand.scans[table]
		}
		if s == nil {
			s = tables.scans[table]
		}
		if registered[s] == 0 {
			registered[s] = tables.c.Register(s)
		}
		return registered[s]
	})
	defer func() {
		for _, number := range registered {
			tables.c.Forget(number)
		}
	}()
	return tables.answer(t, sql)
}

func (tables *tpchTables) answer(t testing.TB, sql string) (out [][]string) {
	s, err := tables.c.Prepare(sql)
	require.NoError(t, err, sql)
	defer s.Close()
	rows, err := s.Execute(context.Background())
	require.NoError(t, err, sql)
	defer rows.Close()
	for {
		b, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err, sql)
		for r := range int(b.NumRows()) {
			line := make([]string, b.NumCols())
			for i := range line {
				if b.Column(i).IsValid(r) {
					line[i] = strings.Clone(b.Column(i).ValueStr(r))
				}
			}
			out = append(out, line)
		}
		b.Release()
	}
}

func columnsOf(t testing.TB, tables *tpchTables, sql string) (names []string) {
	require.NoError(t, tables.c.Exec("USE csmsql.native"))
	s, err := tables.c.Prepare(sql)
	require.NoError(t, err)
	defer s.Close()
	schema, err := s.Schema()
	require.NoError(t, err)
	for _, f := range schema.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// The published answers come out of scans as they are and of scans that are filtered as far as the queries allow.
func TestTPCHAnswers(t *testing.T) {
	const sf = 0.01
	tables := loadTPCH(t, sf, true)
	for i, q := range queries.TPCH() {
		want, ok := queries.AnswerFor(sf, q.Number)
		require.True(t, ok)
		names := columnsOf(t, tables, q.SQL)
		require.NoError(t, want.Compare(names, tables.run(t, q, nil)), "Q%d", q.Number)
		require.NoError(t, want.Compare(names, tables.run(t, q, handPlans[i])), "Q%d, filtered", q.Number)
	}
}

// BenchmarkTPCH compares, at SF 1 and interleaved, DuckDB's own tables with scans and with filtered scans.
func BenchmarkTPCH(b *testing.B) {
	tables := loadTPCH(b, 1, true)
	names := []string{"native", "scan", "filtered"}
	times := map[string][][]float64{}
	for _, n := range names {
		times[n] = make([][]float64, 22)
	}
	for range max(b.N, 7) {
		for i, q := range queries.TPCH() {
			for _, n := range names {
				start := time.Now()
				switch n {
				case "native":
					require.NoError(b, tables.c.Exec("USE csmsql.native"))
					tables.answer(b, q.SQL)
				case "scan":
					tables.run(b, q, nil)
				case "filtered":
					tables.run(b, q, handPlans[i])
				}
				times[n][i] = append(times[n][i], float64(time.Since(start).Microseconds())/1000)
			}
		}
	}
	report(b, times)
}

func median(v []float64) float64 {
	sort.Float64s(v)
	return v[len(v)/2]
}

func report(b *testing.B, times map[string][][]float64) {
	logs := map[string]float64{}
	text := ""
	for i := range 22 {
		native := median(times["native"][i])
		text += fmt.Sprintf("\nQ%-2d native %7.1f ms", i+1, native)
		for _, n := range []string{"scan", "filtered"} {
			m := median(times[n][i])
			logs[n] += math.Log(m/native) / 22
			text += fmt.Sprintf("   %s %7.1f %.2f", n, m, m/native)
		}
	}
	b.Log(text)
	b.ReportMetric(math.Exp(logs["scan"]), "scan/native")
	b.ReportMetric(math.Exp(logs["filtered"]), "filtered/native")
}
