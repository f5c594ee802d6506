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

// cancelCase is a statement that is ended before it is over.
type cancelCase struct {
	kind, name, sql string
	read            string // COPY FROM STDIN: what is sent again and again
}

// cancel measures how long statements go on that are cancelled, or whose statement_timeout is over, at random moments:
// queries, what writes, the planning of long texts, and long scalar functions; in a node without workers and in one
// with some. Afterwards the nodes' answers are compared with the published ones, and their tables with what they were.
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
	var cases []cancelCase
	for _, q := range asked {
		cases = append(cases, cancelCase{kind: "TPC-H", name: fmt.Sprintf("Q%02d", q.Number), sql: q.SQL})
	}
	cases = append(cases, cancelledWrites...)
	cases = append(cases, cancelledTexts()...)
	cases = append(cases, cancelledFunctions...)
	if o.few {
		cases = firstOfKinds(cases)
	}
	r := &Report{
		Name: "cancel", Columns: []string{"what", "ended", "p50", "p99", "max"}, Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("TPC-H SF %g: from a cancel, or from the end of statement_timeout, to the error, over a unix socket, at random moments within %v; %d of each kind for each statement, in a node without workers and in one with %d; %d threads", o.ScaleFactor, cancelWithin, o.Runs, workersOf, o.Threads),
	}
	for i, node := range nodes {
		side := []string{"without workers", "with workers"}[i]
		if err := node.cancelAll(ctx, o, side, cases, r); err != nil {
			return nil, fmt.Errorf("%s: %w", node.name, err)
		}
	}
	if _, err := nodes.checkTPCH(ctx, o, asked); err != nil {
		return nil, err
	}
	r.Machine = thisMachine() // with the load at the end
	return r, nil
}

func firstOfKinds(cases []cancelCase) (first []cancelCase) {
	for _, c := range cases {
		if !slices.ContainsFunc(first, func(other cancelCase) bool { return other.kind == c.kind }) {
			first = append(first, c)
		}
	}
	return first
}

// cancelledWrites are statements that write, and COPY out.
var cancelledWrites = []cancelCase{
	{kind: "writing", name: "COPY TO STDOUT", sql: "COPY (SELECT * FROM lineitem ORDER BY l_comment) TO STDOUT"},
	{kind: "writing", name: "COPY FROM STDIN", sql: "COPY cancelled FROM STDIN", read: strings.Repeat("1\tsome text that is copied\n", 2000)},
	{kind: "writing", name: "CREATE TABLE AS", sql: "CREATE TABLE cancelled2 AS SELECT a.*, random() AS r FROM lineitem a, range(1000)"},
	{kind: "writing", name: "INSERT", sql: "INSERT INTO cancelled SELECT l_orderkey, l_comment FROM lineitem, range(1000)"},
	{kind: "writing", name: "UPDATE", sql: "UPDATE lineitem SET l_comment = upper(l_comment) || (SELECT count(*) FROM range(100000000) r(i) WHERE i % 7 = 1)"},
	{kind: "writing", name: "DELETE", sql: "DELETE FROM lineitem WHERE l_quantity > (SELECT sum(hash(i) % 7) FROM range(100000000) r(i))"},
}

// cancelledTexts take long to be planned.
func cancelledTexts() []cancelCase {
	list := func(n int, between, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(parts, between)
	}
	return []cancelCase{
		{kind: "planning", name: "a union of 5,000", sql: "SELECT count(*) FROM (" + list(5000, " UNION ALL ", "SELECT # AS a") + ")"},
		{kind: "planning", name: "10,000 columns", sql: "SELECT " + list(10_000, ", ", "a + # AS c#") + " FROM range(1) r(a)"},
		{kind: "planning", name: "IN (200,000)", sql: "SELECT count(*) FROM range(10) r(a) WHERE a IN (" + list(200_000, ", ", "#") + ")"},
		{kind: "planning", name: "an OR of 4,000", sql: "SELECT count(*) FROM range(10) r(a) WHERE " + list(4000, " OR ", "a = #")},
		{kind: "planning", name: "600 calls in each other", sql: "SELECT " + strings.Repeat("abs(", 600) + "1" + strings.Repeat(")", 600)},
		{kind: "planning", name: "VALUES of 50,000", sql: "SELECT count(*) FROM (VALUES " + list(50_000, ", ", "(#, 'x#')") + ") v"},
		{kind: "planning", name: "a join of 300", sql: "SELECT count(*) FROM " + list(300, ", ", "(SELECT # AS a) t#") + " WHERE " + list(299, " AND ", "t#.a < t299.a")},
	}
}

// cancelledFunctions are in one value for seconds, or longer.
var cancelledFunctions = []cancelCase{
	{kind: "functions", name: "levenshtein", sql: "SELECT levenshtein(repeat('a', 30000), repeat('b', 30000))"},
	{kind: "functions", name: "damerau_levenshtein", sql: "SELECT damerau_levenshtein(repeat('ab', 5000), repeat('ba', 5000))"},
	{kind: "functions", name: "levenshtein of a row", sql: "SELECT max(levenshtein(repeat('a', 30000 + i::int), repeat('b', 30000))) FROM range(2) r(i)"},
	{kind: "functions", name: "replace", sql: "SELECT length(replace(repeat('a', 10000000), 'a', repeat('b', 20)))"},
	{kind: "functions", name: "translate", sql: "SELECT length(translate(repeat('a', 50000000), 'a', 'b'))"},
	{kind: "functions", name: "lpad", sql: "SELECT length(lpad('a', 300000000, 'b'))"},
	{kind: "functions", name: "regexp_replace", sql: "SELECT length(regexp_replace(repeat('a', 20000000), 'a+?', 'bb', 'g'))"},
	{kind: "functions", name: "jaro_similarity", sql: "SELECT jaro_similarity(repeat('ab', 100000), repeat('ba', 100000))"},
	{kind: "functions", name: "list_sort", sql: "SELECT len(list_sort(range(20000000)))"},
	{kind: "functions", name: "list_reduce", sql: "SELECT list_reduce(range(1000000), lambda x, y: x + y)"},
	{kind: "functions", name: "text of a bignum", sql: "SELECT length(repeat('9', 200000)::bignum::text)"},
}

// cancelAll ends each statement of a node o.Runs times in either way.
func (s *server) cancelAll(ctx context.Context, o Options, side string, cases []cancelCase, r *Report) error {
	if err := s.exec(ctx, "CREATE TABLE cancelled (a bigint, b text)"); err != nil {
		return err
	}
	before, err := s.sums(ctx)
	if err != nil {
		return err
	}
	byKind := map[string][]time.Duration{}
	var kinds []string
	for _, c := range cases {
		o.say("%s: %s", side, c.name)
		delays, err := s.cancelOne(ctx, o, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if len(byKind[c.kind]) == 0 {
			kinds = append(kinds, c.kind)
		}
		byKind[c.kind] = append(byKind[c.kind], delays...)
		r.delays(c.kind+", "+c.name+", "+side, delays)
	}
	for _, kind := range kinds {
		if all := byKind[kind]; len(all) > 0 {
			r.delays("all of "+kind+", "+side, all)
			r.Goals = append(r.Goals, atMost(kind+", "+side+", p99, ms", milliseconds(percentile(all, 99)), milliseconds(cancelGoal)))
		}
	}
	if o.sabotage {
		if err := s.exec(ctx, "INSERT INTO cancelled VALUES (1, 'a')"); err != nil {
			return err
		}
	}
	after, err := s.sums(ctx)
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

// sums tell whether the tables are as they were.
func (s *server) sums(ctx context.Context) (string, error) {
	conn, err := pgconn.Connect(ctx, s.conninfo)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, rows, err := textOf(ctx, conn, "SELECT (SELECT count(*) FROM cancelled), (SELECT sum(hash(l_comment))::text FROM lineitem), (SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'public')")
	return fmt.Sprint(rows), err
}

// cancelOne gives how long a statement went on each time. One that is over before is asked again, and left out if it
// always is.
func (s *server) cancelOne(ctx context.Context, o Options, c cancelCase) (delays []time.Duration, err error) {
	conn, err := pgconn.Connect(ctx, s.conninfo)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
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
		}
	}
	return delays, nil
}

// cancelAt runs a statement and ends it at a moment, by a cancel request or by statement_timeout. It gives how late it
// ended; or, if it was faster, how long it took.
func cancelAt(ctx context.Context, conn *pgconn.PgConn, c cancelCase, moment time.Duration,
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
	err = c.run(ctx, conn)
	end := time.Now()
	var told *pgconn.PgError
	switch {
	case err == nil:
		return 0, max(end.Sub(begin), 1), nil
	case !errors.As(err, &told) || told.Code != "57014":
		return 0, 0, fmt.Errorf("it was to be cancelled: %w", err)
	}
	if !byRequest {
		_, _, err = textOf(ctx, conn, "SET statement_timeout = 0")
		for err != nil && time.Since(end) < goesOnMost { // it waits for what goes on, as long as a statement may take
			_, _, err = textOf(ctx, conn, "SET statement_timeout = 0")
		}
		return end.Sub(due), 0, err
	}
	return end.Sub(due), 0, nil
}

func (c cancelCase) run(ctx context.Context, conn *pgconn.PgConn) error {
	switch {
	case c.read != "":
		_, err := conn.CopyFrom(ctx, &again{text: c.read}, c.sql)
		return err
	case strings.HasPrefix(c.sql, "COPY"):
		_, err := conn.CopyTo(ctx, discard{}, c.sql)
		return err
	}
	_, _, err := textOf(ctx, conn, c.sql)
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
