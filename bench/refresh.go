package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/bench/native"
	"github.com/csmsql/csmsql/bench/refreshing"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/queries"
)

// refreshLimit is how many times as long as at rest queries may take beside refreshes.
const refreshLimit = 1.15

// refresh measures what the 22 queries of TPC-H take beside its refresh functions (package refreshing).
func refresh(ctx context.Context, o Options) (_ *Report, err error) {
	asked, err := chosen(o.Queries)
	if err != nil {
		return nil, err
	}
	e, closeEngine, err := openEngine(ctx, engine.Config{Threads: o.Threads})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeEngine()) }()
	o.say("generating TPC-H SF %g into lent memory", o.ScaleFactor)
	if err := e.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: o.ScaleFactor}, nil); err != nil {
		return nil, err
	}
	twin, err := native.Open(ctx, o.ScaleFactor, o.Threads, o.say)
	if err != nil {
		return nil, err
	}
	defer twin.Close()
	found, err := refreshing.Measure(ctx, refreshing.Setting{
		Engine: e, Twin: twin, ScaleFactor: o.ScaleFactor, Asked: asked, Runs: o.Runs, Settings: customPlans, Say: o.say,
		Sabotage: o.sabotage,
	})
	if err != nil {
		return nil, err
	}
	return refreshReport(o, asked, found), nil
}

func refreshReport(o Options, asked []queries.Query, f *refreshing.Found) *Report {
	r := &Report{
		Name: "refresh", Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("TPC-H SF %g, a stream of the %d queries beside the refresh functions RF1 and RF2,"+
			" against the same tables at rest in the same node, %d threads, medians of %d interleaved runs, each query"+
			" replanned; a pair inserts and deletes %d orders with their lines, in %d transactions of at most %d"+
			" orders. “Beside a pair” is the pace of the specification, one pair for each stream of queries, spread over"+
			" the time that the stream takes at rest; “beside all it can” has no pace; “after refreshes” is the refreshed"+
			" tables at rest. %d answers compared with the published ones, %d with DuckDB's own tables after as many"+
			" transactions", o.ScaleFactor, len(asked), o.Threads, o.Runs, f.Client.Source.Orders(),
			f.Client.Source.PerPair(), refreshing.OrdersMost, f.Published, f.Compared),
		Columns: []string{"query", "at rest", "after refreshes", "beside a pair", "beside all it can", "after ratio",
			"pair ratio", "all ratio"},
	}
	shown := []int{refreshing.AtRest, refreshing.After, refreshing.Paced, refreshing.Unpaced}
	ratios := make([][]float64, len(refreshing.Streams))
	line := func(name string, times [][]time.Duration) (ratio []float64) {
		var medians []time.Duration
		for i, t := range times {
			medians = append(medians, median(t))
			ratio = append(ratio, float64(medians[i])/float64(medians[refreshing.AtRest]))
			r.Samples[name+", "+refreshing.Streams[i].Name] = t
		}
		row := []any{name}
		for _, i := range shown {
			row = append(row, medians[i])
		}
		for _, i := range shown[1:] {
			row = append(row, ratio[i])
		}
		r.Rows = append(r.Rows, row)
		return ratio
	}
	for _, q := range asked {
		var times [][]time.Duration
		for i := range refreshing.Streams {
			times = append(times, f.Times[i][q.Number])
		}
		for i, ratio := range line(fmt.Sprintf("Q%02d", q.Number), times) {
			ratios[i] = append(ratios[i], ratio)
		}
	}
	whole := line("the stream", f.Totals)
	line("its processor time", f.Processor)
	r.Goals = []Goal{
		atMost("a stream of queries beside a pair of refreshes / at rest", whole[refreshing.Paced], refreshLimit),
		atMost("the same, geometric mean of the queries", geometricMean(ratios[refreshing.Paced]), refreshLimit),
	}
	r.More = append(r.More, refreshTable(f, r))
	r.Machine = thisMachine() // with the load at the end
	return r
}

// refreshTable says what the refreshes did.
func refreshTable(f *refreshing.Found, r *Report) Table {
	t := Table{Title: "The refreshes; times are medians.", Columns: []string{"what", "measured"}}
	r.Samples["transaction of RF1"], r.Samples["transaction of RF2"] = f.Client.Inserted, f.Client.Deleted
	t.Rows = append(t.Rows, []any{"transaction of RF1", median(f.Client.Inserted)},
		[]any{"transaction of RF2", median(f.Client.Deleted)},
		[]any{"transactions in all", f.Client.Next.Load()},
		[]any{"of them sent again after a serialization failure", f.Client.Again})
	for i, s := range refreshing.Streams {
		if s.Refreshing() {
			committed := slices.Sorted(slices.Values(f.Committed[i]))
			t.Rows = append(t.Rows,
				[]any{"transactions committed within a stream, " + s.Name, committed[len(committed)/2]})
		}
	}
	return t
}
