package refreshing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/bench/result"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/queries/dbgen"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

const (
	// OrdersMost is how many orders, with their lines, a transaction of RF1 or RF2 has at most.
	OrdersMost = 50
	// pairsAhead is for how many pairs texts are made before a stream.
	pairsAhead = 8
	// quietShare, quietFor: a node is quiet when it has used less than this share of one processor for so long.
	quietShare = 0.05
	quietFor   = 300 * time.Millisecond
	// quietWithin is how long a node may take to become quiet.
	quietWithin = time.Minute
)

// A Stream is one way in which the queries are asked, one after the other.
type Stream struct {
	Name string
	rest bool // of tables that are never refreshed, with the same chunks
	// pairs run beside it: 0: none; 1: as many as the specification has for each stream of queries, evenly spread over
	// the time that a stream takes at rest; -1: as many as there is time for.
	pairs int64
}

// Streams are in the order of the first run.
var Streams = []Stream{
	AtRest:  {Name: "at rest", rest: true},
	Paced:   {Name: "beside a pair", pairs: 1},
	Unpaced: {Name: "beside all it can", pairs: -1},
	After:   {Name: "after refreshes"},
}

// Where each is in Streams.
const (
	AtRest = iota
	Paced
	Unpaced
	After
)

// Refreshing: whether refreshes run beside it.
func (s Stream) Refreshing() bool { return s.pairs != 0 }

// Setting is what Measure measures with.
type Setting struct {
	Engine      *engine.Engine // has the tables of TPC-H, as loaded, and no other user
	Twin        Twin
	ScaleFactor float64
	Asked       []queries.Query
	Runs        int
	Settings    string // statements with which the sessions begin that ask
	Say         func(format string, args ...any)
	Sabotage    bool // tests: RF2 leaves the lines of its orders
}

// Twin has the tables of TPC-H, and is refreshed as the engine's are.
type Twin interface {
	Ask(ctx context.Context, sql string) (columns []string, rows [][]string, err error)
	Exec(sql string) error
}

// Found is what was measured. Lists of lists begin with the stream.
type Found struct {
	Times     []map[int][]time.Duration // by the query's number
	Totals    [][]time.Duration         // all queries of a stream
	Processor [][]time.Duration         // what the process has used of all processors meanwhile
	Committed [][]int64                 // transactions that were committed meanwhile
	Published int                       // answers that were compared with the published ones
	Compared  int                       // with those of the twin
	Client    *Client
}

// Measure asks the queries in all ways, in turns, and compares all answers. A wrong one is an error.
func Measure(ctx context.Context, s Setting) (_ *Found, err error) {
	m := &measurement{Setting: s, want: map[int]queries.Answer{}}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	if err := m.checkLoaded(ctx); err != nil {
		return nil, err
	}
	for run := range s.Runs {
		order := slices.Clone(s.Asked) // another one in each run, so that other queries meet the same transactions
		swap := func(i, k int) { order[i], order[k] = order[k], order[i] }
		rand.New(rand.NewPCG(25, uint64(run))).Shuffle(len(order), swap)
		for k := range Streams {
			i := (k + run) % len(Streams) // which side goes first changes
			s.Say("run %d of %d, %s", run+1, s.Runs, Streams[i].Name)
			if err := m.stream(ctx, i, order); err != nil {
				return nil, fmt.Errorf("%s: %w", Streams[i].Name, err)
			}
		}
	}
	return &m.found, nil
}

// tables makes the second set of tables, which stays as it is: of the same chunks, in the same node.
const tables = "CREATE SCHEMA rest; CREATE TABLE rest.orders CLONE orders;" +
	" CREATE TABLE rest.lineitem CLONE lineitem; " + createTable

// measurement is under way.
type measurement struct {
	Setting
	sessions [3]*engine.Session // that ask the refreshed tables, and those at rest; that refreshes
	client   Client
	twinNext int64                  // the transaction that the twin comes to next
	want     map[int]queries.Answer // of the tables as loaded, by query
	found    Found
}

func (m *measurement) open(ctx context.Context) error {
	g, err := dbgen.New(m.ScaleFactor)
	if err != nil {
		return err
	}
	for i, settings := range []string{m.Settings, m.Settings + "; SET search_path = rest, public", tables} {
		if m.sessions[i], err = m.Engine.Session(engine.SessionOptions{}); err != nil {
			return err
		}
		if _, err := m.sessions[i].Exec(ctx, settings); err != nil {
			return err
		}
	}
	m.client.Source = NewSource(g, OrdersMost)
	m.client.Refused = func(err error) bool { return sqlerror.State(err) == "40001" }
	m.client.Send = func(ctx context.Context, sql string) error {
		if m.Sabotage && strings.HasPrefix(sql, "DELETE FROM lineitem") {
			return nil
		}
		_, err := m.sessions[2].Exec(ctx, sql)
		return err
	}
	f := &m.found
	f.Client = &m.client
	f.Totals, f.Processor = make([][]time.Duration, len(Streams)), make([][]time.Duration, len(Streams))
	f.Committed = make([][]int64, len(Streams))
	for range Streams {
		f.Times = append(f.Times, map[int][]time.Duration{})
	}
	return nil
}

func (m *measurement) close() (err error) {
	for _, s := range m.sessions {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// checkLoaded compares the answers of all three with the published ones, or with each other where there are none (B1).
func (m *measurement) checkLoaded(ctx context.Context) error {
	m.Say("checking answers")
	for _, q := range m.Asked {
		want, published := queries.AnswerFor(m.ScaleFactor, q.Number)
		for i := range 3 { // ours first, whose names of columns are those of PostgreSQL
			ask := m.Twin.Ask
			if i < 2 {
				ask = func(ctx context.Context, sql string) ([]string, [][]string, error) {
					return result.Of(ctx, m.sessions[i], sql, true)
				}
			}
			columns, rows, err := ask(ctx, q.SQL)
			if err != nil {
				return fmt.Errorf("query %d: %w", q.Number, err)
			}
			if i == 0 && !published {
				want = queries.Answer{Columns: columns, Rows: rows}
			}
			if err := want.Compare(columns, rows); err != nil {
				return fmt.Errorf("query %d gives a wrong answer: %w", q.Number, err)
			}
			if published {
				m.found.Published++
			}
		}
		m.want[q.Number] = want
	}
	return nil
}

// An answered query of a stream.
type answered struct {
	query   queries.Query
	seen    int64 // transactions
	columns []string
	rows    [][]string
	took    time.Duration
}

// stream asks the queries in one of the ways, and compares their answers. Its times count when all are right.
func (m *measurement) stream(ctx context.Context, i int, order []queries.Query) error {
	how := Streams[i]
	if err := m.quiet(ctx); err != nil {
		return err
	}
	if err := m.client.Source.Prepare(ctx, m.client.Next.Load(), pairsAhead); err != nil {
		return err
	}
	count, interval := how.pairs, time.Duration(0)
	if how.pairs > 0 {
		count *= m.client.Source.PerPair()
		interval = middle(m.found.Totals[AtRest]) / time.Duration(count)
	}
	session := m.sessions[0]
	if how.rest {
		session = m.sessions[1]
	}
	hurry, ended := make(chan struct{}), make(chan error, 1)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	before, used := m.client.Next.Load(), processorTime()
	go func() {
		err := m.client.Run(work, count, interval, hurry)
		if err != nil {
			cancel()
		}
		ended <- err
	}()
	answers, err := askStream(work, session, order)
	used = processorTime() - used
	committed := m.client.Next.Load() - before
	close(hurry)
	if failed := <-ended; failed != nil {
		err = errors.Join(fmt.Errorf("transaction %d: %w", m.client.Next.Load(), failed), err)
	}
	if err != nil {
		return err
	}
	var total time.Duration
	for _, a := range answers {
		if err := m.compare(ctx, how, a); err != nil {
			return err
		}
		m.found.Times[i][a.query.Number] = append(m.found.Times[i][a.query.Number], a.took)
		total += a.took
	}
	m.found.Totals[i] = append(m.found.Totals[i], total)
	m.found.Processor[i] = append(m.found.Processor[i], used)
	m.found.Committed[i] = append(m.found.Committed[i], committed)
	return m.replay(ctx, m.client.Next.Load())
}

// askStream asks the queries one after the other, each in a transaction that also reads which refreshes it has seen.
// Only the query is timed: it is the transaction's first statement, and takes its snapshot.
func askStream(ctx context.Context, s *engine.Session, order []queries.Query) (answers []answered, err error) {
	for _, q := range order {
		a := answered{query: q}
		if _, err := s.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ"); err != nil {
			return nil, err
		}
		start := time.Now()
		if a.columns, a.rows, err = result.Of(ctx, s, q.SQL, true); err != nil {
			return nil, fmt.Errorf("query %d: %w", q.Number, err)
		}
		a.took = time.Since(start)
		_, numbers, err := result.Of(ctx, s, done, true)
		if err != nil {
			return nil, err
		}
		if len(numbers) != 1 || numbers[0][0] != numbers[0][1] {
			return nil, fmt.Errorf("a wrong answer: transactions and their count are %v", numbers)
		}
		if a.seen, err = strconv.ParseInt(numbers[0][0], 10, 64); err != nil {
			return nil, err
		}
		if _, err := s.Exec(ctx, "COMMIT"); err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// compare compares an answer with what the tables had that it saw.
func (m *measurement) compare(ctx context.Context, how Stream, a answered) (err error) {
	want := m.want[a.query.Number]
	if !how.rest {
		if last := m.client.Next.Load(); a.seen < m.twinNext || a.seen > last {
			return fmt.Errorf("query %d gives a wrong answer: it saw %d transactions, and there were %d to %d",
				a.query.Number, a.seen, m.twinNext, last)
		}
		if err := m.replay(ctx, a.seen); err != nil {
			return err
		}
		if _, want.Rows, err = m.Twin.Ask(ctx, a.query.SQL); err != nil {
			return fmt.Errorf("query %d: DuckDB: %w", a.query.Number, err)
		}
	}
	if err := want.Compare(a.columns, a.rows); err != nil {
		return fmt.Errorf("query %d gives a wrong answer after %d transactions: %w", a.query.Number, a.seen, err)
	}
	m.found.Compared++
	return nil
}

// replay has the twin run the transactions before a number.
func (m *measurement) replay(ctx context.Context, before int64) error {
	for ; m.twinNext < before; m.twinNext++ {
		t, err := m.client.Source.Transaction(ctx, m.twinNext)
		if err != nil {
			return err
		}
		for _, sql := range t.Changes {
			if err := m.Twin.Exec(sql); err != nil {
				return fmt.Errorf("DuckDB: transaction %d: %w", m.twinNext, err)
			}
		}
	}
	return ctx.Err()
}

// quiet waits until the node does nothing in the background: it folds what refreshes have left.
func (m *measurement) quiet(ctx context.Context) error {
	for begin := time.Now(); ; {
		before := processorTime()
		select {
		case <-time.After(quietFor):
		case <-ctx.Done():
			return ctx.Err()
		}
		if used := processorTime() - before; used < time.Duration(quietShare*float64(quietFor)) {
			return nil
		}
		if time.Since(begin) > quietWithin {
			return fmt.Errorf("the node does not become quiet within %v", quietWithin)
		}
	}
}

// processorTime is what this process has used of all processors.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// middle is the median of what there is.
func middle(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
