package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/present"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/shell"
	"github.com/csmsql/csmsql/engine"
)

// sqlOptions are the flags of csmsql sql.
type sqlOptions struct {
	commands []string
	files    []string
	to       target
	attach   bool
	format   string
	timing   bool
}

func newSQL() *cobra.Command {
	var o sqlOptions
	c := &cobra.Command{
		Use:   "sql",
		Short: "Ask a node, interactively or with -c and -f",
		Long: `Ask a running node in SQL: interactively, or with -c and -f, or whatever standard input says when it is no terminal.

Statements end with a semicolon; \? lists the shell's own commands. Several statements run one after the other up to the
first that fails; then the exit code is 1. COPY … FROM STDIN and TO STDOUT use standard input and output.
Statements mean what they mean in PostgreSQL, unless the node's --dialect (but with --attach), or SET csm.dialect =
'duckdb', says otherwise.

With --attach the node's memory is mapped into this process, and this process' own query engine reads the tables in place:
nothing is copied, the node does not work for it, and nothing can be written.`,
		Example: `  csmsql sql
  csmsql sql -c 'SELECT count(*) FROM lineitem'
  csmsql sql --attach -c 'SELECT count(*) FROM lineitem' --timing
  csmsql sql -c 'COPY (SELECT * FROM orders LIMIT 10) TO STDOUT WITH (FORMAT csv, HEADER)' > orders.csv
  csmsql sql --format json -f report.sql`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return runSQL(c, o) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&o.commands, "command", "c", nil, "`sql` to run (may be repeated)")
	flags.StringArrayVarP(&o.files, "file", "f", nil, "`file` of SQL to run; - is standard input (may be repeated, after -c)")
	o.to.flags(c)
	flags.BoolVar(&o.attach, "attach", false, "run the statements in this process, over the lent memory")
	flags.StringVar(&o.format, "format", present.Formats[0], "`format` of results: "+strings.Join(present.Formats, ", "))
	flags.BoolVar(&o.timing, "timing", false, "show how long each statement took")
	return c
}

func runSQL(c *cobra.Command, o sqlOptions) error {
	if _, err := present.New(o.format, nil); err != nil {
		return usageError{err}
	}
	if len(o.commands)+len(o.files) == 0 && isTerminal(c.InOrStdin()) {
		return interactive(c, o)
	}
	return interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
		return withShell(ctx, c, o, func(s *shell.Shell) error {
			if len(o.commands)+len(o.files) == 0 {
				o.files = []string{"-"}
			}
			for _, text := range o.commands {
				if err := s.Script(ctx, text); err != nil {
					return err
				}
			}
			for _, path := range o.files {
				if err := s.File(ctx, path); err != nil {
					return err
				}
			}
			return nil
		})
	})(c, nil)
}

// interactive leaves Ctrl-C to the shell.
func interactive(c *cobra.Command, o sqlOptions) error {
	return withShell(c.Context(), c, o, func(s *shell.Shell) error {
		where := "over the PostgreSQL protocol"
		if o.attach {
			where = "in this process, over the lent memory"
		}
		greeting := fmt.Sprintf("csmsql %s, %s. \\? for help.\n", engine.Version, where)
		return s.Interactive(c.Context(), greeting, shell.HistoryFile())
	})
}

func withShell(ctx context.Context, c *cobra.Command, o sqlOptions, use func(*shell.Shell) error) error {
	talk, err := converse(ctx, c, o.to, o.attach)
	if err != nil {
		return err
	}
	defer talk.Close() // every statement has ended
	s, err := shell.New(talk, shell.Options{In: c.InOrStdin(), Out: c.OutOrStdout(), Errors: c.ErrOrStderr(), Format: o.format, Timing: o.timing})
	if err != nil {
		return err
	}
	err = use(s)
	switch {
	case errors.Is(err, shell.ErrReported):
		return quietError{err}
	case errors.Is(err, unix.EPIPE):
		return nil // the reader has seen enough: csmsql sql … | head
	}
	return err
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

func presentNotice(w io.Writer, n conversation.Notice) { present.Notice(w, n) }
