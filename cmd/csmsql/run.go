package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/sql/lex"
)

// runOptions are tpch run's flags.
type runOptions struct {
	scale   float64
	to      target
	attach  bool
	schema  string
	runs    int
	numbers []int
}

func newTPCHRun() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the 22 TPC-H queries and check the answers",
		Long: `Run the 22 TPC-H queries over the tables of a running node, one after the other, and compare the answers with the
published ones, which there are for scale factors 0.01, 0.1 and 1. At other scale factors the answers are "unchecked".

The queries go to the node over the PostgreSQL protocol. With --attach this process maps the node's memory and runs them
itself, over the same bytes.

The time of a query is from sending it to having read its last row; with --runs it is the median.
The exit code is 1 if an answer is wrong or a query fails.`,
		Example: `  csmsql tpch run
  csmsql tpch run --query 1,6 --runs 5
  csmsql tpch run --attach`,
		Args: noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error { return tpchRun(ctx, c, o) }),
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.Float64Var(&o.scale, "sf", 0, "scale `factor` of the tables (default: deduced from their sizes)")
	o.to.flags(c)
	flags.BoolVar(&o.attach, "attach", false, "run the queries in this process, over the lent memory")
	flags.StringVar(&o.schema, "schema", "", "`schema` of the tables (default public)")
	flags.IntVar(&o.runs, "runs", 1, "run every query that often and show the median time")
	flags.IntSliceVar(&o.numbers, "query", nil, "only these queries: `1,6,14`")
	return c
}

func tpchRun(ctx context.Context, c *cobra.Command, o runOptions) error {
	chosen, err := chooseQueries(o)
	if err != nil {
		return usageError{err}
	}
	talk, err := converse(ctx, c, o.to, o.attach)
	if err != nil {
		return err
	}
	defer talk.Close() // every statement has ended
	if o.schema != "" {
		if _, err := ask(ctx, talk, "SET search_path TO "+lex.Quote(o.schema)); err != nil {
			return err
		}
	}
	deduced, err := deduceScale(ctx, talk)
	if err != nil {
		return err
	}
	switch {
	case o.scale == 0:
		o.scale = deduced
	case o.scale != deduced:
		return fmt.Errorf("the tables are those of scale factor %g, not %g", deduced, o.scale)
	}
	return runQueries(ctx, c.OutOrStdout(), talk, o, chosen)
}

// converse opens a conversation with the node behind --to, or attaches to it.
func converse(ctx context.Context, c *cobra.Command, to target, attach bool) (conversation.Conversation, error) {
	notice := func(n conversation.Notice) { presentNotice(c.ErrOrStderr(), n) }
	if attach {
		credentials, err := to.credentials()
		if err != nil {
			return nil, err
		}
		return conversation.Attach(ctx, to.address(), engine.Config{Credentials: credentials}, notice)
	}
	options, err := to.options()
	if err != nil {
		return nil, err
	}
	return conversation.Dial(ctx, to.address(), notice, options...)
}

func chooseQueries(o runOptions) (chosen []queries.Query, err error) {
	if o.runs < 1 {
		return nil, fmt.Errorf("--runs %d: every query must run at least once", o.runs)
	}
	if !(o.scale >= 0) {
		return nil, fmt.Errorf("--sf %g: say the scale factor of the tables, or leave it out", o.scale)
	}
	for _, q := range queries.TPCH() {
		if len(o.numbers) == 0 || slices.Contains(o.numbers, q.Number) {
			chosen = append(chosen, q)
		}
	}
	for _, n := range o.numbers {
		if n < 1 || n > len(queries.TPCH()) {
			return nil, fmt.Errorf("--query %d: the queries are numbered 1 to %d", n, len(queries.TPCH()))
		}
	}
	return chosen, nil
}

// deduceScale finds the scale factor by the number of suppliers: there are 10,000 at scale factor 1.
func deduceScale(ctx context.Context, talk conversation.Conversation) (float64, error) {
	answer, err := ask(ctx, talk, "SELECT count(*) FROM supplier")
	if err != nil {
		var f *conversation.Failure
		if errors.As(err, &f) && f.State == "42P01" {
			return 0, &conversation.Failure{
				State: f.State, Message: "the TPC-H tables are not there", HintText: "csmsql tpch load --sf 0.1 generates them.", Cause: err,
			}
		}
		return 0, err
	}
	var suppliers float64
	if _, err := fmt.Sscan(answer.rows[0][0], &suppliers); err != nil {
		return 0, fmt.Errorf("count the suppliers: %w", err)
	}
	return suppliers / 10_000, nil
}

// runQueries prints one line per query, and the sum.
func runQueries(ctx context.Context, out io.Writer, talk conversation.Conversation, o runOptions,
	chosen []queries.Query) error {
	var total time.Duration
	verdicts := map[string]int{}
	for _, q := range chosen {
		took, got, err := timed(ctx, talk, q.SQL, o.runs)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		verdict, detail := judge(o.scale, q.Number, got, err)
		verdicts[verdict]++
		total += took
		fmt.Fprintf(out, "Q%02d  %9s  %s%s\n", q.Number, milliseconds(took), verdict, detail)
	}
	fmt.Fprintf(out, "sum  %9s  %s\n", milliseconds(total), summary(verdicts, len(chosen)))
	if verdicts[unchecked] > 0 {
		fmt.Fprintf(out, "There are no published answers at scale factor %g; there are at %v.\n", o.scale, queries.ScaleFactors())
	}
	if wrong := verdicts[wrongAnswer] + verdicts[failed]; wrong > 0 {
		return quietError{fmt.Errorf("%d of %d queries did not give the published answer", wrong, len(chosen))}
	}
	return nil
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// What became of a query.
const (
	right       = "ok"
	wrongAnswer = "WRONG"
	failed      = "FAILED"
	unchecked   = "unchecked"
)

func summary(verdicts map[string]int, all int) string {
	var parts []string
	for _, v := range []string{right, unchecked, wrongAnswer, failed} {
		if n := verdicts[v]; n == all {
			return v
		} else if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

func judge(scale float64, number int, got *answer, err error) (verdict, detail string) {
	if err != nil {
		return failed, ": " + err.Error()
	}
	want, published := queries.AnswerFor(scale, number)
	if !published {
		return unchecked, ""
	}
	if err := want.Compare(got.columns, got.rows); err != nil {
		return wrongAnswer, ": " + strings.TrimPrefix(err.Error(), "queries: ")
	}
	return right, ""
}

// timed runs a statement several times; the time is the median, the answer the last run's.
func timed(ctx context.Context, talk conversation.Conversation, sql string, runs int) (time.Duration, *answer, error) {
	times := make([]time.Duration, runs)
	var got *answer
	for i := range times {
		start := time.Now()
		var err error
		got, err = ask(ctx, talk, sql)
		times[i] = time.Since(start)
		if err != nil {
			return times[i], nil, err
		}
	}
	slices.Sort(times)
	return times[runs/2], got, nil
}

// answer is a whole result as text; NULL is "".
type answer struct {
	columns []string
	rows    [][]string
}

func ask(ctx context.Context, talk conversation.Conversation, sql string) (*answer, error) {
	a := &answer{}
	return a, talk.Run(ctx, sql, a)
}

// Begin implements conversation.Sink.
func (a *answer) Begin(columns []conversation.Column) error {
	for _, c := range columns {
		a.columns = append(a.columns, c.Name)
	}
	return nil
}

// Row implements conversation.Sink.
func (a *answer) Row(values [][]byte) error {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = string(v)
	}
	a.rows = append(a.rows, row)
	return nil
}

// End implements conversation.Sink.
func (a *answer) End(string) error { return nil }
