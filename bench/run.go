package bench

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/bench/serving"
)

// Options of a benchmark. The zero value is the full size that the README's figures have.
type Options struct {
	// ScaleFactor of tpch, refresh, changes, cluster, workers and cancel; 0: 1, of workers and cancel 0.1.
	ScaleFactor float64
	// Queries of tpch, refresh, cluster, workers and cancel that are asked, by number; nil: all of them.
	Queries []int
	// Threads of queries on every side, of cluster in every node; 0: one per CPU, in cluster one.
	Threads int
	// Runs that the medians are taken of; 0: 5.
	Runs int
	// MaxRows bounds the largest table of attach, cluster, readers, egress, steps, thesis, growth and changes; 0: the
	// full size.
	MaxRows int64
	// Sizes is how many table sizes attach measures, each twice the one before, the last one of MaxRows rows, and into
	// how many slices thesis divides its largest; 0: 20.
	Sizes int
	// Progress is called with what is being done; nil: not reported.
	Progress func(string)
	// PostgresBin is the directory of PostgreSQL's programs (initdb, postgres); empty: the newest in
	// /usr/lib/postgresql, or what PATH has.
	PostgresBin string
	// Command is the csmsql program that egress, workers, cancel, writes and changes serve with; empty: this program.
	Command string

	sabotage bool // tests: one value of our side is wrong
	few      bool // tests: one statement of each kind in cancel, few short ones in workers, a moment of writes
}

func (o Options) withDefaults() (Options, error) {
	if o.ScaleFactor < 0 || o.Threads < 0 || o.Runs < 0 || o.MaxRows < 0 || o.Sizes < 0 {
		return o, fmt.Errorf("bench: scale factor %g, %d threads, %d runs, %d rows and %d sizes must not be negative", o.ScaleFactor, o.Threads, o.Runs, o.MaxRows, o.Sizes)
	}
	if o.ScaleFactor == 0 {
		o.ScaleFactor = 1
	}
	if o.Threads == 0 {
		o.Threads = runtime.NumCPU()
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Sizes == 0 {
		o.Sizes = 20
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o, nil
}

func (o Options) say(format string, args ...any) { o.Progress(fmt.Sprintf(format, args...)) }

// product is csmsql with these options.
func (o Options) product() serving.Product {
	return serving.Product{Command: o.Command, Threads: o.Threads}
}

// rows is how many rows a table has whose full size is full.
func (o Options) rows(full int64) int64 {
	if o.MaxRows > 0 {
		return min(o.MaxRows, full)
	}
	return full
}

var benchmarks = map[string]func(context.Context, Options) (*Report, error){
	"attach": attach, "cancel": cancel, "changes": changes, "cluster": cluster, "egress": egress,
	"growth":  measureGrowth,
	"readers": readers, "refresh": refresh, "steps": steps, "thesis": measureThesis, "tpch": tpch,
	"workers": workers, "writes": writes,
}

// Names lists the benchmarks.
func Names() []string { return slices.Sorted(maps.Keys(benchmarks)) }

// Run runs one benchmark. An error means that nothing can be said, because a side failed or gave a wrong answer; a goal
// that was missed is no error but in the report (B1, B3).
func Run(ctx context.Context, name string, options Options) (*Report, error) {
	run := benchmarks[name]
	if run == nil {
		return nil, fmt.Errorf("bench: there is no benchmark %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if name == "cluster" && options.Threads == 0 {
		options.Threads = 1 // two nodes on a machine of two cores are to have one each
	}
	if options.ScaleFactor == 0 && (name == "workers" || name == "cancel") {
		options.ScaleFactor = 0.1
	}
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	serving.Sweep()
	report, err := run(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("bench %s: %w", name, err)
	}
	return report, nil
}
