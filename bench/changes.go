package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/csmsql/csmsql/bench/changing"
	"github.com/csmsql/csmsql/bench/mixed"
	"github.com/csmsql/csmsql/bench/serving"
)

// changesRows by 16 columns are the first table of changes.
const changesRows = 1_000_000

// changes measures how tables are loaded, and their rows found and changed, over the PostgreSQL protocol: COPY FROM
// STDIN of one file, a row by its key beside SELECT 1, UPDATE and DELETE of a row by its key, prepared, and UPDATE of
// one row of a hundred, each change durable when it is acknowledged. The tables are one of every common type, and
// lineitem of TPC-H.
//
//	       ┌─ unix socket ─► csmsql serve --fabric file
//	file ──┼─ unix socket ─► the same with --threads 1: COPY only, where there are two processors
//	       └─ unix socket ─► PostgreSQL with its defaults, but max_wal_size=4GB
//
// All sides must have the same sum of all rows: when they are loaded, and when they were changed; and rows by their
// keys must be the same.
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
	lines, err := changing.LineItems(o.ScaleFactor, o.rows(1<<40))
	if err != nil {
		return nil, err
	}
	r := &Report{
		Name: "changes", Columns: []string{"what", "csmsql", "postgresql", "ratio"},
		Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("mixed: %d rows × %d columns, lineitem: %d rows of TPC-H SF %g × 17 columns, over unix"+
			" sockets, against %s with its defaults but max_wal_size=4GB;"+
			" medians of %d interleaved runs of COPY and of an UPDATE of one row of a hundred, of %d rows asked for, and %d"+
			" changed and deleted, by their keys; data on %s; csmsql on --fabric file with %d threads",
			rows, mixed.Columns(), lines, o.ScaleFactor, servers[1].Version, o.Runs, changing.Points, changing.Singly,
			fileSystemOf(servers[0].Directories[0]), o.Threads),
	}
	for _, c := range []*changing.Comparison{
		{Table: changing.Mixed(rows), Rows: rows},
		{Table: changing.LineItem(o.ScaleFactor, lines), Rows: lines},
	} {
		c.Sides, c.File, c.Runs = sides, filepath.Join(servers[0].Directories[0], c.Table.Name), o.Runs
		c.Say, c.Corrupt = o.say, o.sabotage
		if err := measureChanges(ctx, o, c, r); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Table.Name, err)
		}
	}
	r.Machine = thisMachine() // with the load at the end
	return r, nil
}

// measureChanges adds the lines and goals of a table.
func measureChanges(ctx context.Context, o Options, c *changing.Comparison, r *Report) error {
	o.say("writing the rows of %s", c.Table.Name)
	if err := c.Table.WriteFile(ctx, c.File); err != nil {
		return err
	}
	copied, err := c.Copies(ctx)
	if err != nil {
		return err
	}
	line := func(what string, ours, theirs []time.Duration) float64 {
		what = c.Table.Name + ", " + what
		ratio := float64(median(ours)) / float64(median(theirs))
		r.Rows = append(r.Rows, []any{what, median(ours), median(theirs), ratio})
		r.Samples[what+", csmsql"], r.Samples[what+", postgresql"] = ours, theirs
		return ratio
	}
	goal := func(g Goal) {
		g.Claim = c.Table.Name + ", " + g.Claim
		r.Goals = append(r.Goals, g)
	}
	goal(atMost("COPY: csmsql / PostgreSQL", line("COPY", copied[0], copied[1]), 0.33))
	if len(copied) > 2 {
		line("COPY, one thread", copied[2], copied[1])
		goal(atLeast("COPY: one thread / two", float64(median(copied[2]))/float64(median(copied[0])), 1.7))
	}
	if err := c.Keyed(ctx); err != nil {
		return err
	}
	asked, err := c.Asked(ctx)
	if err != nil {
		return err
	}
	if asked != nil {
		line("SELECT 1", asked.One[0], asked.One[1])
		line("a row by its key", asked.Point[0], asked.Point[1])
		ratio := float64(median(asked.Point[0])) / float64(median(asked.One[0]))
		goal(atMost("a row by its key, p50, in times of SELECT 1", ratio, 2))
	}
	return c.Changes(ctx, func(what string, single bool, ours, theirs []time.Duration) {
		line(what, ours, theirs)
		if single {
			goal(atMost(what+", p50, ms", milliseconds(median(ours)), 5))
		}
	})
}

// startChanged starts the sides: csmsql, PostgreSQL, and csmsql with one thread. Those that were started are given on
// an error, too.
func startChanged(ctx context.Context, o Options) (sides []*changing.Side, servers []*serving.Server, err error) {
	// A COPY into a table that was emptied needs room for what there was, too.
	region := []string{"--fabric", "file", "--region", strconv.FormatInt(1<<30+int64(o.ScaleFactor*4*(1<<30)), 10)}
	start := []func() (*serving.Server, error){
		func() (*serving.Server, error) { return o.product().Start(ctx, region...) },
		func() (*serving.Server, error) { return serving.StartPostgres(ctx, o.PostgresBin, "max_wal_size=4GB") },
	}
	if o.Threads == 2 && runtime.NumCPU() >= 2 {
		single := o
		single.Threads = 1
		start = append(start, func() (*serving.Server, error) { return single.product().Start(ctx, region...) })
	}
	for i, start := range start {
		s, err := start()
		if err != nil {
			return sides, servers, err
		}
		side := &changing.Side{Name: s.Name}
		servers, sides = append(servers, s), append(sides, side)
		if i == 1 {
			side.Afterwards = "VACUUM (ANALYZE)"
		}
		if err := side.Connect(ctx, s.Conninfo); err != nil {
			return sides, servers, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return sides, servers, nil
}
