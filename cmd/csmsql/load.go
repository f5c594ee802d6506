package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/node"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
	"github.com/csmsql/csmsql/internal/bytesize"
)

func newLoad() *cobra.Command {
	var to target
	var format, placement string
	var create, add, replace bool
	var replicas int
	var parameters map[string]string
	c := &cobra.Command{
		Use:   "load TABLE FILE…",
		Short: "Load Parquet, CSV or Arrow files into a table",
		Long: `Load files into a table of a running node: all rows of all files in one commit, or nothing.

The node reads the files, so they must be on its machine and readable for its user; it need not have been started with
--files, which is about SQL. The format follows from a file's name (.parquet, .csv, .tsv, .arrow, .feather, .json, and
.csv.gz and the like) unless --format says it.

Without a mode the table is made and must not exist. Columns are matched by name.`,
		Example: `  csmsql load lines lines.parquet
  csmsql load sales.lines 2024-*.csv --append
  csmsql load sales.items items.parquet --placement 'hash(order_id)' --replicas 2
  csmsql load people people.txt --format csv --option 'delimiter=|' --option header=false --replace`,
		Args: usage(loadArguments),
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			request, err := loadRequest(args, format, create, add, replace)
			if err != nil {
				return usageError{err}
			}
			if err := checkReplicas(c.Flags(), replicas); err != nil {
				return usageError{err}
			}
			request.Options.Parameters, request.Options.Placement, request.Options.Replicas = parameters, placement, replicas
			return load(ctx, c, to, request)
		}),
	}
	flags := c.Flags()
	flags.SortFlags = false
	to.flags(c)
	flags.StringVar(&format, "format", "", "`format`: parquet, csv, arrow or json (default: by the file's name)")
	flags.BoolVar(&create, "create", false, "make the table; it must not exist (the default)")
	flags.BoolVar(&add, "append", false, "add to a table that exists")
	flags.BoolVar(&replace, "replace", false, "make the table, in place of one of that name")
	flags.StringVar(&placement, "placement", "", "`placement` in a cluster of a table that is made: local, node(NAME), rows, rows(a, b), hash(column), hash(column) on (a, b)")
	flags.IntVar(&replicas, "replicas", 0, "`number` of nodes that are to have each chunk of a table that is made in a cluster (default 1)")
	flags.StringToStringVar(&parameters, "option", nil, "`name=value` of the format: delimiter, header, null, quote, escape (may be repeated)")
	flags.Lookup("option").DefValue = ""
	return c
}

// checkReplicas checks a number that was given. The upper bound depends on the cluster, whose nodes check it.
func checkReplicas(given *pflag.FlagSet, replicas int) error {
	if given.Changed("replicas") && replicas < 1 {
		return fmt.Errorf("--replicas %d: every chunk lies on at least one node", replicas)
	}
	return nil
}

func loadArguments(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("load needs a table and at least one file")
	case 1:
		return fmt.Errorf("load needs at least one file for table %s", args[0])
	}
	return nil
}

// loadRequest reads the command line.
func loadRequest(args []string, format string, create, add, replace bool) (noderpc.LoadRequest, error) {
	request := noderpc.LoadRequest{Format: format, Options: noderpc.LoadOptions{Mode: noderpc.LoadCreate}}
	modes := 0
	for mode, asked := range map[noderpc.LoadMode]bool{noderpc.LoadCreate: create, noderpc.LoadAppend: add, noderpc.LoadReplace: replace} {
		if asked {
			request.Options.Mode = mode
			modes++
		}
	}
	if modes > 1 {
		return request, errors.New("--create, --append and --replace exclude each other")
	}
	switch format {
	case "", noderpc.FormatParquet, noderpc.FormatCSV, noderpc.FormatArrow, "json":
	default:
		return request, fmt.Errorf("--format %s: the formats are parquet, csv, arrow and json", format)
	}
	request.Table = node.TableNamed(args[0])
	for _, file := range args[1:] {
		path, err := filepath.Abs(file)
		if err != nil {
			return request, err
		}
		request.Files = append(request.Files, path)
	}
	return request, nil
}

func load(ctx context.Context, c *cobra.Command, to target, request noderpc.LoadRequest) error {
	client, err := to.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close() // only calls that have ended
	display := progress.New(c.ErrOrStderr())
	start := time.Now()
	result, err := client.Load(ctx, request, display.Report)
	display.Finish(err != nil)
	if err != nil {
		return nothingLoaded(err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s, %s in %s, in %s.\n", tableName(request.Table), progress.Counted(result.Rows, "row"),
		bytesize.Size(result.Bytes), progress.Counted(int64(result.Chunks), "chunk"), time.Since(start).Round(time.Millisecond))
	return err
}

// nothingLoaded adds to an error that nothing was loaded, unless its hint says so.
func nothingLoaded(err error) error {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && strings.HasPrefix(hinted.Hint(), "Nothing was ") {
		return err
	}
	return fmt.Errorf("nothing was loaded: %w", err)
}

// tableName is a table's name as the user wrote it.
func tableName(name catalog.TableName) string {
	if name.Schema == "" {
		return name.Name
	}
	return name.String()
}
