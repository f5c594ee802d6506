package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csmsql/csmsql/bench"
	"github.com/csmsql/csmsql/queries"
)

func newBench() *cobra.Command {
	var o bench.Options
	var to benchOutput
	c := &cobra.Command{
		Use:   "bench [NAME…]",
		Short: "Measure what the README claims, each figure against its peer",
		Long: `Run benchmarks: ` + strings.Join(bench.Names(), ", ") + `; without a name, all of them.

Each measures our side against a peer in the same run, interleaved, and reports a time only after both sides' answers
were compared. Absolute times depend on the machine; ratios mean something. Every benchmark starts what it needs
itself and leaves nothing behind. A goal that is missed is printed as missed, and the exit code is 1.`,
		Example: `  csmsql bench tpch --sf 0.1
  csmsql bench refresh --runs 9
  csmsql bench attach --max-rows 1000000 --sizes 8
  csmsql bench cluster --sf 0.1 --queries 1,9,18
  csmsql bench workers cancel --sf 0.1
  csmsql bench thesis --markdown docs/results.md
  csmsql bench --json > figures.json`,
		Args:      usage(benchNames),
		ValidArgs: bench.Names(),
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, names []string) error {
			if err := checkBench(c.Flags(), names, o, to); err != nil {
				return usageError{err}
			}
			o.Progress = func(text string) { fmt.Fprintln(c.ErrOrStderr(), text) }
			return benchAll(ctx, c, names, o, to)
		}),
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.BoolVar(&to.json, "json", false, "one JSON object per benchmark")
	flags.StringVar(&to.markdown, "markdown", "", "also write the reports to a `file` FILE.md, their charts as SVG into the directory FILE beside it")
	flags.StringVar(&to.svg, "svg", "", "also write the charts as SVG into a `directory`")
	flags.Float64Var(&o.ScaleFactor, "sf", 0, "scale `factor` of tpch, refresh, changes and cluster (default: 1), of workers and cancel (default: 0.1)")
	flags.IntSliceVar(&o.Queries, "queries", nil, "`numbers` of the queries that tpch, refresh, cluster, workers and cancel ask, as in 18,22 (default: all)")
	flags.IntVar(&o.Runs, "runs", 5, "`runs` of each side that the medians are taken of")
	flags.IntVar(&o.Threads, "threads", 0, "`threads` of queries on every side, of cluster in every node (default: one per CPU; cluster: 1)")
	flags.Int64Var(&o.MaxRows, "max-rows", 0, "bound on the `rows` of the largest table of attach, cluster, readers, egress, steps, thesis, growth and changes (default: full size)")
	flags.IntVar(&o.Sizes, "sizes", 20, "`number` of table sizes that attach measures, and of slices of thesis' Figure 5.1")
	flags.StringVar(&o.PostgresBin, "postgres-bin", "", "`directory` of initdb and postgres, the peer of egress, writes and changes (default: found)")
	return c
}

// benchFlags maps each flag that not every benchmark has to the benchmarks that have it.
var benchFlags = map[string][]string{
	"sf":           {"tpch", "refresh", "changes", "cluster", "workers", "cancel"},
	"queries":      {"tpch", "refresh", "cluster", "workers", "cancel"},
	"max-rows":     {"attach", "cluster", "readers", "egress", "steps", "thesis", "growth", "changes"},
	"sizes":        {"attach", "thesis"},
	"postgres-bin": {"egress", "writes", "changes"},
}

// checkBench refuses values that no benchmark takes, and flags that none of the named benchmarks has.
func checkBench(given *pflag.FlagSet, names []string, o bench.Options, to benchOutput) error {
	for flag, obey := range benchFlags {
		if given.Changed(flag) && len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(obey, n) }) {
			return fmt.Errorf("--%s is of %s, and not of %s", flag, strings.Join(obey, ", "), strings.Join(names, ", "))
		}
	}
	switch {
	case given.Changed("sf") && !(o.ScaleFactor > 0):
		return fmt.Errorf("--sf %g: say a scale factor above 0", o.ScaleFactor)
	case o.Runs < 1:
		return fmt.Errorf("--runs %d: every side runs at least once", o.Runs)
	case o.Threads < 0:
		return fmt.Errorf("--threads %d: say how many threads queries may use, or 0 for the default", o.Threads)
	case o.MaxRows < 0:
		return fmt.Errorf("--max-rows %d: say how many rows the largest table may have, or 0 for the full size", o.MaxRows)
	case o.Sizes < 1:
		return fmt.Errorf("--sizes %d: say a number of sizes from 1", o.Sizes)
	case to.markdown != "" && filepath.Ext(to.markdown) != ".md":
		return fmt.Errorf("--markdown %s: the name of the file must end in .md", to.markdown)
	}
	for _, n := range o.Queries {
		if all := len(queries.TPCH()); n < 1 || n > all {
			return fmt.Errorf("--queries %d: the queries are numbered 1 to %d", n, all)
		}
	}
	return nil
}

func benchNames(_ *cobra.Command, names []string) error {
	for _, name := range names {
		if !slices.Contains(bench.Names(), name) {
			return fmt.Errorf("there is no benchmark %q; there are %s", name, strings.Join(bench.Names(), ", "))
		}
	}
	return nil
}

// benchOutput is where reports go beside standard output.
type benchOutput struct {
	json          bool
	markdown, svg string
}

func benchAll(ctx context.Context, c *cobra.Command, names []string, o bench.Options, to benchOutput) error {
	if len(names) == 0 {
		names = bench.Names()
	}
	var missed []string
	var reports []*bench.Report
	for _, name := range names {
		report, err := bench.Run(ctx, name, o)
		if err != nil {
			return err
		}
		reports = append(reports, report)
		write := report.Text
		if to.json {
			write = report.JSON
		}
		if err := write(c.OutOrStdout()); err != nil {
			return err
		}
		if !report.Met() {
			missed = append(missed, name)
		}
	}
	if err := to.write(c, names, reports); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("goals were missed: %s", strings.Join(missed, ", "))
	}
	return nil
}

// write writes what goes into files.
func (to benchOutput) write(c *cobra.Command, names []string, reports []*bench.Report) error {
	if to.svg != "" {
		if err := bench.SVG(to.svg, reports); err != nil {
			return err
		}
	}
	if to.markdown == "" {
		return nil
	}
	images := strings.TrimSuffix(to.markdown, ".md")
	if err := bench.SVG(images, reports); err != nil {
		return err
	}
	var page strings.Builder
	if err := bench.Markdown(&page, commandOf(c, names), filepath.Base(images), reports); err != nil {
		return err
	}
	return os.WriteFile(to.markdown, []byte(page.String()), 0o644)
}

// commandOf is the command with the flags that were given.
func commandOf(c *cobra.Command, names []string) string {
	words := append([]string{c.CommandPath()}, names...)
	c.Flags().Visit(func(f *pflag.Flag) {
		words = append(words, fmt.Sprintf("--%s=%v", f.Name, f.Value))
	})
	return strings.Join(words, " ")
}
