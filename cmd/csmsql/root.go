package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/bench"
	"github.com/csmsql/csmsql/engine"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the work failed: an error of SQL, a wrong answer, no node
	exitUsage  = 2 // the command line makes no sense
	exitKilled = 130
)

const rootLong = `csmsql keeps tables once in lent memory and answers SQL over them in place.

A node lends a region of its memory and keeps tables there as Arrow columns. psql, BI tools and Go programs ask over
the PostgreSQL protocol; other processes on the machine read the same bytes in their own query engine (--attach).

Start here:

  csmsql serve                       start a node (Ctrl-C stops it; its tables come back with it)
  csmsql tpch load --sf 0.1          generate the eight TPC-H tables in it
  csmsql tpch run                    run the 22 TPC-H queries and check the answers
  csmsql sql                         ask, interactively
  psql -h 127.0.0.1 -p 5433 -U postgres csmsql`

// run is the program: it returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	if handled, err := bench.Child(args); handled { // a benchmark's process, which no person starts
		return report(errOut, nil, err)
	}
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	command, err := root.ExecuteContextC(context.Background())
	return report(errOut, command, err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "csmsql",
		Short:         "tables once in lent memory, asked in place with SQL",
		Long:          rootLong,
		Version:       engine.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          group,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newServe(), newTPCH(), newLoad(), newSQL(), newStatus(), newVerify(), newChunk(), newCluster(),
		newBench(), newVersion(), newWorker())
	return root
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage makes the errors of a check of arguments usageErrors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// group is for commands that only have commands below them.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	meant := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		meant = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageError{fmt.Errorf("there is no command %q%s", c.CommandPath()+" "+args[0], meant)}
}

// noArguments is for commands that take flags only.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no arguments, but flags: what is %q?", c.CommandPath(), args[0])}
}

// flagError adds the flag that was probably meant.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	if _, name, ok := strings.Cut(text, "unknown flag: --"); ok {
		if near := nearestFlag(c, name); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	if m := noNumber.FindStringSubmatchIndex(text); m != nil {
		err = errors.New(text[:m[0]] + ": that is no number")
	}
	if before, _, ok := strings.Cut(text, ": slog: level string"); ok {
		err = errors.New(before + ": the levels are debug, info, warn and error")
	}
	return usageError{err}
}

// noNumber matches Go's words for a text that is no number.
var noNumber = regexp.MustCompile(`: strconv\.(?:Parse\w+|Atoi): parsing .*$`)

// packageNames begin errors of this module, for readers of the source.
var packageNames = regexp.MustCompile(`(^|: )(?:memregion|coherence|catalog|engine|wire|noderpc|lending|pgcatalog|exec/duckdb): `)

// report prints an error with what to do about it, and chooses the exit code.
func report(w io.Writer, command *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	var quiet quietError
	if errors.As(err, &quiet) {
		return exitFailed
	}
	fmt.Fprintf(w, "csmsql: %s\n", packageNames.ReplaceAllString(strings.TrimSpace(err.Error()), "$1"))
	var detailed interface{ Detail() string }
	if errors.As(err, &detailed) && detailed.Detail() != "" {
		fmt.Fprintf(w, "detail: %s\n", detailed.Detail())
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		fmt.Fprintf(w, "hint: %s\n", hinted.Hint())
	}
	var misused usageError
	if errors.As(err, &misused) {
		fmt.Fprintf(w, "See %q.\n", command.CommandPath()+" --help")
		return exitUsage
	}
	return exitFailed
}

// quietError has been reported already.
type quietError struct{ error }
