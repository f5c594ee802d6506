package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/csmsql/csmsql/bench/cancelled"
	"github.com/csmsql/csmsql/bench/serving"
)

// cancelGoal is how long after a cancel, or after its statement_timeout, a statement may end.
const cancelGoal = 100 * time.Millisecond

const (
	// cancelWithin bounds the moments at which long statements are cancelled.
	cancelWithin = 500 * time.Millisecond
	// cancelTries is how often a statement is asked again that was faster than what ends it.
	cancelTries = 10
	// goesOnMost is how long DuckDB may work on a statement that has failed.
	goesOnMost = 5 * time.Minute
)

// cancel measures how long statements go on that are cancelled, or whose statement_timeout is over, at random moments:
// queries, what writes, what makes indexes and constraints, what waits for another client, the planning of long texts,
// and long scalar functions; in a node without workers and in one with some. Afterwards the nodes' answers are compared
// with the published ones, and their tables with what they were.
func cancel(ctx context.Context, o Options) (_ *Report, err error) {
	asked, err := chosen(o.Queries)
	if err != nil {
		return nil, err
	}
	nodes, err := startWorkerNodes(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, nodes.close()) }()
	var cases []cancelled.Statement
	for _, q := range asked {
		cases = append(cases, cancelled.Statement{Kind: "TPC-H", Name: fmt.Sprintf("Q%02d", q.Number), SQL: q.SQL})
	}
	cases = append(cases, cancelled.Statements()...)
	if o.few {
		cases = firstOfKinds(cases)
	}
	r := &Report{
		Name: "cancel", Columns: []string{"what", "ended", "p50", "p99", "max"}, Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("TPC-H SF %g: from a cancel, or from the end of statement_timeout, to the error, over a unix socket, at random moments within %v; %d of each kind for each statement, in a node without workers and in one with %d; %d threads", o.ScaleFactor, cancelWithin, o.Runs, workersOf, o.Threads),
	}
	for i, node := range nodes {
		side := []string{"without workers", "with workers"}[i]
		if err := cancelAll(ctx, node, o, side, cases, r); err != nil {
			return nil, fmt.Errorf("%s: %w", node.Name, err)
		}
	}
	if _, err := nodes.checkTPCH(ctx, o, asked); err != nil {
		return nil, err
	}
	r.Machine = thisMachine() // with the load at the end
	return r, nil
}

func firstOfKinds(cases []cancelled.Statement) (first []cancelled.Statement) {
	for _, c := range cases {
		if !slices.ContainsFunc(first, func(other cancelled.Statement) bool { return other.Kind == c.Kind }) {
			first = append(first, c)
		}
	}
	return first
}

// cancelAll ends each statement of a node o.Runs times in either way.
func cancelAll(ctx context.Context, s *serving.Server, o Options, side string,
	cases []cancelled.Statement, r *Report) error {
	for _, sql := range cancelled.Tables {
		if err := s.Exec(ctx, sql); err != nil {
			return err
		}
	}
	before, err := cancelledSums(ctx, s)
	if err != nil {
		return err
	}
	byKind := map[string][]time.Duration{}
	var kinds []string
	for _, c := range cases {
		o.say("%s: %s", side, c.Name)
		delays, err := cancelOne(ctx, s, o, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if !slices.Contains(kinds, c.Kind) {
			kinds = append(kinds, c.Kind)
		}
		byKind[c.Kind] = append(byKind[c.Kind], delays...)
		r.delays(c.Kind+", "+c.Name+", "+side, delays)
	}
	for _, kind := range kinds {
		if all := byKind[kind]; len(all) > 0 {
			r.delays("all of "+kind+", "+side, all)
			r.Goals = append(r.Goals, atMost(kind+", "+side+", p99, ms", milliseconds(percentile(all, 99)), milliseconds(cancelGoal)))
		}
	}
	if o.sabotage {
		if err := s.Exec(ctx, "INSERT INTO cancelled VALUES (1, 'a')"); err != nil {
			return err
		}
	}
	after, err := cancelledSums(ctx, s)
	if err == nil && before != after {
		err = fmt.Errorf("statements that were cancelled left something behind: %s became %s", before, after)
	}
	return err
}

// delays adds a line.
func (r *Report) delays(what string, d []time.Duration) {
	r.Samples[what] = d
	if len(d) == 0 {
		r.Rows = append(r.Rows, []any{what, 0, "-", "-", "-"})
		return
	}
	r.Rows = append(r.Rows, []any{what, len(d), percentile(d, 50), percentile(d, 99), slices.Max(d)})
}

// cancelledSums show whether the tables are as they were.
func cancelledSums(ctx context.Context, s *serving.Server) (string, error) {
	conn, err := pgconn.Connect(ctx, s.Conninfo)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, rows, err := textOf(ctx, conn, cancelled.Sums)
	return fmt.Sprint(rows), err
}

// cancelOne gives how long a statement went on each time. One that is over before is asked again, and left out if it
// always is.
func cancelOne(ctx context.Context, s *serving.Server, o Options,
	c cancelled.Statement) (delays []time.Duration, err error) {
	conn, err := pgconn.Connect(ctx, s.Conninfo)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if c.Held != "" {
		holder, err := pgconn.Connect(ctx, s.Conninfo)
		if err != nil {
			return nil, err
		}
		defer holder.Close(context.WithoutCancel(ctx))
		if _, err := holder.Exec(ctx, "BEGIN; "+c.Held).ReadAll(); err != nil {
			return nil, err
		}
	}
	within := cancelWithin
	for try := 0; len(delays) < 2*o.Runs && try < 2*o.Runs+cancelTries; try++ {
		moment := time.Millisecond + rand.N(within)
		delay, took, err := cancelAt(ctx, conn, c, moment, try%2 == 0)
		if err != nil {
			return nil, err
		}
		if took == 0 {
			delays = append(delays, delay)
		} else {
			within = max(time.Millisecond, min(within, took*3/4))
			if c.Undo != "" {
				if _, _, err := textOf(ctx, conn, "SET statement_timeout = 0"); err != nil {
					return nil, err
				}
				if _, _, err := textOf(ctx, conn, c.Undo); err != nil {
					return nil, err
				}
			}
		}
	}
	return delays, nil
}

// cancelAt runs a statement and ends it at a moment, by a cancel request or by statement_timeout. It gives how late it
// ended; or, if it was faster, how long it took.
func cancelAt(ctx context.Context, conn *pgconn.PgConn, c cancelled.Statement, moment time.Duration,
	byRequest bool) (delay, took time.Duration, err error) {
	timeout := moment.Milliseconds() + 1
	if byRequest {
		timeout = 0
	}
	if _, _, err := textOf(ctx, conn, fmt.Sprintf("SET statement_timeout = %d", timeout)); err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	due := begin.Add(time.Duration(timeout) * time.Millisecond)
	requested := make(chan error, 1)
	if byRequest {
		due = begin.Add(moment)
		stop := time.AfterFunc(moment, func() { requested <- conn.CancelRequest(ctx) })
		defer func() {
			if !stop.Stop() {
				err = errors.Join(err, <-requested)
			}
			if err == nil {
				_, _, err = textOf(ctx, conn, "SELECT 1") // a request that came late hits nothing else, and what goes on is waited for
			}
		}()
	}
	err = runCancelled(ctx, conn, c)
	end := time.Now()
	var pgError *pgconn.PgError
	switch {
	case err == nil:
		return 0, max(end.Sub(begin), 1), nil
	case !errors.As(err, &pgError) || pgError.Code != "57014":
		return 0, 0, fmt.Errorf("it was to be cancelled: %w", err)
	}
	if !byRequest {
		_, _, err = textOf(ctx, conn, "SET statement_timeout = 0")
		for err != nil && time.Since(end) < goesOnMost && ctx.Err() == nil { // it waits for what goes on, as long as a statement may take
			_, _, err = textOf(ctx, conn, "SET statement_timeout = 0")
		}
		return end.Sub(due), 0, err
	}
	return end.Sub(due), 0, nil
}

func runCancelled(ctx context.Context, conn *pgconn.PgConn, c cancelled.Statement) error {
	switch {
	case c.Read != "":
		_, err := conn.CopyFrom(ctx, &again{text: c.Read}, c.SQL)
		return err
	case strings.HasPrefix(c.SQL, "COPY"):
		_, err := conn.CopyTo(ctx, discard{}, c.SQL)
		return err
	}
	_, _, err := textOf(ctx, conn, c.SQL)
	return err
}

// again reads a text again and again.
type again struct {
	text string
	at   int
}

func (a *again) Read(into []byte) (int, error) {
	n := copy(into, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
