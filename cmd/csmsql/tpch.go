package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
)

func newTPCH() *cobra.Command {
	c := &cobra.Command{
		Use:   "tpch",
		Short: "Load and run the TPC-H benchmark",
		Long: `Load the eight TPC-H tables into a running node, and run the 22 queries over them.

The rows are those of the official generator (its DuckDB edition), so that the published answers apply; tpch run checks
them at scale factors 0.01, 0.1 and 1.`,
		Example: "  csmsql tpch load --sf 1\n  csmsql tpch run",
		Args:    group,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTPCHLoad(), newTPCHRun())
	return c
}

func newTPCHLoad() *cobra.Command {
	var request noderpc.TPCHRequest
	var to target
	c := &cobra.Command{
		Use:   "load --sf F",
		Short: "Generate the eight TPC-H tables in a running node",
		Long: `Generate the eight TPC-H tables straight into the memory of a running node, in parallel.

Scale factor 1 is about 1 GB of data with 6 million lines of orders; allowed are multiples of 0.001 below 1 and whole
numbers above. All eight tables appear in one commit: a query sees all or none.`,
		Example: `  csmsql tpch load --sf 0.1
  csmsql tpch load --sf 1 --replace
  csmsql tpch load --sf 10 --placement rows --replicas 2
  csmsql tpch load --sf 0.01 --schema tiny --to /srv/csmsql`,
		Args: noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			if request.ScaleFactor == 0 {
				return usageError{errors.New("how large? Say it with --sf, for example --sf 0.1")}
			}
			if !(request.ScaleFactor > 0) {
				return usageError{fmt.Errorf("--sf %g: say a scale factor above 0", request.ScaleFactor)}
			}
			if err := checkReplicas(c.Flags(), request.Replicas); err != nil {
				return usageError{err}
			}
			return tpchLoad(ctx, c, to, request)
		}),
	}
	flags := c.Flags()
	flags.Float64Var(&request.ScaleFactor, "sf", 0, "scale `factor`: 0.01, 0.1, 1, 10 …")
	to.flags(c)
	flags.StringVar(&request.Schema, "schema", "", "`schema` that gets the tables; made if it is not there (default public)")
	flags.StringVar(&request.Placement, "placement", "", "`placement` of the tables in a cluster: local, node(NAME), rows (over all nodes), or hash (each table by its key)")
	flags.IntVar(&request.Replicas, "replicas", 0, "`number` of nodes that are to have each chunk in a cluster (default 1)")
	flags.BoolVar(&request.Replace, "replace", false, "drop tables of these names in the same commit")
	return c
}

func tpchLoad(ctx context.Context, c *cobra.Command, to target, request noderpc.TPCHRequest) error {
	client, err := to.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close() // only calls that have ended
	display := progress.New(c.ErrOrStderr())
	start := time.Now()
	err = client.LoadTPCH(ctx, request, display.Report)
	display.Finish(err != nil)
	if err != nil {
		return nothingLoaded(err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "TPC-H at scale factor %g is loaded, in %s.\n", request.ScaleFactor, time.Since(start).Round(time.Millisecond))
	return err
}
