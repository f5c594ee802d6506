package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/bench/native"
	"github.com/csmsql/csmsql/bench/result"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/queries"
)

// customPlans has every execution planned, as the other side plans each, too. Otherwise a session keeps plans, with
// what they found out.
const customPlans = "SET plan_cache_mode = force_custom_plan"

// tpch compares HugeTables with DuckDB's own in-memory tables: same process, same threads, same queries, interleaved.
// Ours includes everything that a session does: parsing, snapshot, planning, conversion to Arrow.
func tpch(ctx context.Context, o Options) (*Report, error) {
	asked, err := chosen(o.Queries)
	if err != nil {
		return nil, err
	}
	ours, closeOurs, err := hugeTables(ctx, o)
	if err != nil {
		return nil, err
	}
	defer closeOurs()
	theirs, closeTheirs, err := nativeTables(ctx, o)
	if err != nil {
		return nil, err
	}
	defer closeTheirs()
	sides := []func(context.Context, string) ([]string, [][]string, error){ours, theirs}
	o.Progress("checking answers")
	checked := 0
	for _, q := range asked {
		want, published := queries.AnswerFor(o.ScaleFactor, q.Number)
		var first [][]string
		for i, side := range sides {
			columns, rows, err := side(ctx, q.SQL)
			if err != nil {
				return nil, fmt.Errorf("query %d: %w", q.Number, err)
			}
			if published {
				if err := want.Compare(columns, rows); err != nil {
					return nil, fmt.Errorf("query %d gives a wrong answer: %w", q.Number, err)
				}
				checked++
				continue
			}
			if i == 0 {
				first = rows
			} else if err := (queries.Answer{Columns: columns, Rows: first}).Compare(columns, rows); err != nil {
				return nil, fmt.Errorf("query %d: the sides disagree: %w", q.Number, err)
			}
		}
	}
	times := [2][][]time.Duration{make([][]time.Duration, len(asked)), make([][]time.Duration, len(asked))}
	for run := range o.Runs {
		o.Progress(fmt.Sprintf("run %d of %d", run+1, o.Runs))
		for i, q := range asked {
			begin := time.Now()
			for again := 0; again == 0 || again < shortAgain && time.Since(begin) < shortTime; again++ {
				for k := range sides {
					side := (k + run + again) % 2 // which side goes first changes
					start := time.Now()
					if _, _, err := sides[side](ctx, q.SQL); err != nil {
						return nil, fmt.Errorf("query %d: %w", q.Number, err)
					}
					times[side][i] = append(times[side][i], time.Since(start))
				}
			}
		}
	}
	return tpchReport(o, asked, checked, times), nil
}

// A run asks short queries more than once, because what takes ten milliseconds is soon disturbed: up to shortAgain
// times as long as shortTime is not over.
const (
	shortAgain = 5
	shortTime  = 200 * time.Millisecond
)

// chosen are the queries of the given numbers, in the order of their numbers, each once; all when none is given.
func chosen(numbers []int) ([]queries.Query, error) {
	all := queries.TPCH()
	for _, n := range numbers {
		if n < 1 || n > len(all) {
			return nil, fmt.Errorf("there is no query %d; they are numbered from 1 to %d", n, len(all))
		}
	}
	if len(numbers) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(q queries.Query) bool { return !slices.Contains(numbers, q.Number) }), nil
}

func tpchReport(o Options, asked []queries.Query, checked int, times [2][][]time.Duration) *Report {
	r := &Report{
		Name: "tpch", Machine: thisMachine(),
		Setting: fmt.Sprintf("TPC-H SF %g, HugeTables against DuckDB's own in-memory tables, %d threads, medians of %d interleaved runs, in which short queries are asked up to %d times, replanned each time on both sides, %d answers compared with the published ones", o.ScaleFactor, o.Threads, o.Runs, shortAgain, checked),
		Columns: []string{"query", "csmsql", "duckdb", "ratio"},
	}
	r.Samples = map[string][]time.Duration{}
	var ratios []float64
	var total [2]time.Duration
	worst, worstQuery := 0.0, ""
	for i := range times[0] {
		ours, theirs := median(times[0][i]), median(times[1][i])
		ratio := float64(ours) / float64(theirs)
		name := fmt.Sprintf("Q%02d", asked[i].Number)
		r.Samples[name+", csmsql"], r.Samples[name+", duckdb"] = times[0][i], times[1][i]
		total[0] += ours
		total[1] += theirs
		ratios = append(ratios, ratio)
		if ratio > worst {
			worst, worstQuery = ratio, name
		}
		r.Rows = append(r.Rows, []any{name, ours, theirs, ratio})
	}
	r.Rows = append(r.Rows, []any{"total", total[0], total[1], float64(total[0]) / float64(total[1])})
	r.Goals = []Goal{
		atMost("geometric mean of csmsql / duckdb", geometricMean(ratios), 0.95),
		atMost(fmt.Sprintf("worst query (%s)", worstQuery), worst, 1.3),
	}
	return r
}

type asker = func(context.Context, string) ([]string, [][]string, error)

// hugeTables is our side.
func hugeTables(ctx context.Context, o Options) (asker, func(), error) {
	e, closeEngine, err := openEngine(ctx, engine.Config{Threads: o.Threads})
	if err != nil {
		return nil, nil, err
	}
	o.Progress(fmt.Sprintf("generating TPC-H SF %g into lent memory", o.ScaleFactor))
	if err := e.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: o.ScaleFactor}, nil); err != nil {
		return nil, nil, errors.Join(err, closeEngine())
	}
	s, err := e.Session(engine.SessionOptions{})
	if err == nil {
		_, err = s.Exec(ctx, customPlans)
	}
	if err == nil && o.sabotage {
		_, err = s.Exec(ctx, "DELETE FROM lineitem WHERE l_orderkey = 1")
	}
	if err != nil {
		return nil, nil, errors.Join(err, closeEngine())
	}
	ask := func(ctx context.Context, sql string) ([]string, [][]string, error) {
		return result.Of(ctx, s, sql, true)
	}
	return ask, func() { s.Close(); closeEngine() }, nil
}

// nativeTables is DuckDB's own side.
func nativeTables(ctx context.Context, o Options) (asker, func(), error) {
	t, err := native.Open(ctx, o.ScaleFactor, o.Threads, o.say)
	if err != nil {
		return nil, nil, err
	}
	return t.Ask, t.Close, nil
}
