package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/csmsql/csmsql/bench/changing"
	"github.com/csmsql/csmsql/bench/mixed"
	"github.com/csmsql/csmsql/bench/serving"
)

// changesRows by 16 columns are the table of changes.
const changesRows = 1_000_000

// changes measures how a table is loaded and its rows are changed over the PostgreSQL protocol: COPY FROM STDIN of one
// file, UPDATE and DELETE of a row by its key, prepared, and UPDATE of one row of a hundred, each durable when it is
// acknowledged.
//
//	       ┌─ unix socket ─► csmsql serve --fabric file
//	file ──┼─ unix socket ─► the same with --threads 1: COPY only, where there are two processors
//	       └─ unix socket ─► PostgreSQL with its defaults, but max_wal_size=4GB
//
// All sides must have the same sum of all rows: when they are loaded, and when they were changed.
func changes(ctx context.Context, o Options) (_ *Report, err error) {
	sides, servers, err := startChanged(ctx, o)
	defer func() {
		for _, s := range sides {
			s.Close(context.WithoutCancel(ctx))
		}
		for _, s := range servers {
			err = errors.Join(err, s.Close())
		}
	}()
	if err != nil {
		return nil, err
	}
	rows := o.rows(changesRows)
	file := filepath.Join(servers[0].Directories[0], "rows")
	if err := writeRows(file, rows); err != nil {
		return nil, err
	}
	r := &Report{
		Name: "changes", Columns: []string{"what", "csmsql", "postgresql", "ratio"},
		Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("%d rows × %d columns over unix sockets, against %s with its defaults but max_wal_size=4GB;"+
			" medians of %d interleaved runs of COPY and of an UPDATE of one row of a hundred, of %d rows changed and"+
			" deleted by their keys; csmsql on --fabric file with %d threads",
			rows, mixed.Columns(), servers[1].Version, o.Runs, changing.Singly, o.Threads),
	}
	c := &changing.Comparison{Sides: sides, File: file, Rows: rows, Runs: o.Runs, Say: o.say, Corrupt: o.sabotage}
	copied, err := c.Copies(ctx)
	if err != nil {
		return nil, err
	}
	line := func(what string, ours, theirs []time.Duration) float64 {
		ratio := float64(median(ours)) / float64(median(theirs))
		r.Rows = append(r.Rows, []any{what, median(ours), median(theirs), ratio})
		r.Samples[what+", csmsql"], r.Samples[what+", postgresql"] = ours, theirs
		return ratio
	}
	r.Goals = append(r.Goals, atMost("COPY: csmsql / PostgreSQL", line("COPY", copied[0], copied[1]), 0.33))
	if len(sides) > 2 {
		faster := line("COPY, one thread", copied[2], copied[1])
		faster /= float64(median(copied[0])) / float64(median(copied[1]))
		r.Goals = append(r.Goals, atLeast("COPY: one thread / two", faster, 1.7))
	}
	if err := c.Changes(ctx, func(what string, single bool, ours, theirs []time.Duration) {
		line(what, ours, theirs)
		if single {
			r.Goals = append(r.Goals, atMost(what+", p50, ms", median(ours).Seconds()*1e3, 5))
		}
	}); err != nil {
		return nil, err
	}
	r.Machine = thisMachine()
	return r, nil
}

// startChanged starts the sides: csmsql, PostgreSQL, and csmsql with one thread. Those that were started are given on
// an error, too.
func startChanged(ctx context.Context, o Options) (sides []*changing.Side, servers []*serving.Server, err error) {
	start := []func() (*serving.Server, error){
		func() (*serving.Server, error) { return o.product().Start(ctx, "--fabric", "file") },
		func() (*serving.Server, error) { return serving.StartPostgres(ctx, o.PostgresBin, "max_wal_size=4GB") },
	}
	if o.Threads == 2 && runtime.NumCPU() >= 2 {
		single := o
		single.Threads = 1
		start = append(start, func() (*serving.Server, error) { return single.product().Start(ctx, "--fabric", "file") })
	}
	for i, start := range start {
		s, err := start()
		if err != nil {
			return sides, servers, err
		}
		side := &changing.Side{Name: s.Name}
		servers, sides = append(servers, s), append(sides, side)
		if i == 1 {
			side.Afterwards = "VACUUM (ANALYZE) mixed"
		}
		if err := side.Connect(ctx, s.Conninfo); err != nil {
			return sides, servers, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return sides, servers, nil
}

func writeRows(path string, rows int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(mixed.Write(f, rows), f.Close())
}
