package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// A tagged table says in every row whose bytes it is made of: rows that mix tags, or contradict theirs, are foreign bytes.
func tagged(name string, tag, rows int) string {
	return fmt.Sprintf(`CREATE OR REPLACE TABLE %s AS SELECT %d::bigint AS tag, i::bigint AS i, (i * 31 + %d)::bigint AS mixed,
		'row ' || i || ' of the table with the tag %d' AS body, 'tag %d' AS label, CASE WHEN i %% 7 = 0 THEN NULL ELSE i / 4.0 END AS part FROM range(%d) r(i)`,
		name, tag, tag*17, tag, tag, rows)
}

// taggedQuery gives one row: the tag, the number of rows and true, if all is well.
func taggedQuery(name string) string {
	return `SELECT min(tag), count(*), coalesce(bool_and(tag = (SELECT max(tag) FROM ` + name + `) AND mixed = i * 31 + tag * 17 AND body = 'row ' || i || ' of the table with the tag ' || tag
		AND label = 'tag ' || tag AND part IS NOT DISTINCT FROM CASE WHEN i % 7 = 0 THEN NULL ELSE i / 4.0 END), true) FROM ` + name
}

// nodeArguments of a child that is a node; its socket is csmsql.sock in the directory.
type nodeArguments struct {
	Directory string
	LeaseTTL  time.Duration
}

func (a nodeArguments) socket() string { return filepath.Join(a.Directory, "csmsql.sock") }

// nodeRole serves, and runs the statements that it receives.
func nodeRole(c *childSide) error {
	var a nodeArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Config{
		Dialect:   engine.DialectDuckDB,
		Directory: a.Directory, RegionDirectory: a.Directory, RegionBytes: 256 << 20, MemoryBytes: 256 << 20, Threads: 1, LeaseTTL: a.LeaseTTL, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	stop, err := serve(e, a.socket())
	if err != nil {
		return err
	}
	defer stop()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	c.say("ready")
	for {
		sql, ok := c.hear()
		if !ok {
			return nil
		}
		if _, err := s.Exec(context.Background(), sql); err != nil {
			return err
		}
		c.say("done")
	}
}

// serve lets others attach to e.
func serve(e *engine.Engine, socket string) (stop func() error, err error) {
	return serveNode(e.Service(noderpc.Frontend{}), socket)
}

func serveNode(node noderpc.Node, socket string) (stop func() error, err error) {
	listener, err := noderpc.ListenUnix(socket)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	server := noderpc.NewServer(node, noderpc.ServerOptions{Name: "local", Log: slog.New(slog.DiscardHandler), Grace: time.Millisecond})
	go func() { result <- server.Serve(ctx, listener) }()
	return func() error { cancel(); return <-result }, nil
}

// borrowerArguments of a child that attaches.
type borrowerArguments struct {
	Target  string
	Backend string
	Threads int
}

// borrowerRole obeys: "first SQL" reads the first batch of a result, "rest" all others, checking each row; "loop SQL" asks until the
// parent says something else.
func borrowerRole(c *childSide) error {
	var a borrowerArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.AttachWith(context.Background(), a.Target, engine.Config{Dialect: engine.DialectDuckDB, MemoryBytes: 256 << 20, Threads: a.Threads, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	if a.Backend != "" {
		if _, err := s.Exec(context.Background(), "SET csm.backend = "+a.Backend); err != nil {
			return err
		}
	}
	b := &borrowing{c: c, session: s}
	c.say("ready")
	for {
		command, ok := c.hear()
		if !ok {
			return nil
		}
		word, rest, _ := strings.Cut(command, " ")
		switch word {
		case "first":
			b.first(rest)
		case "rest":
			b.rest()
		case "ask":
			b.ask(rest)
		case "loop":
			b.loop(rest)
		default:
			return fmt.Errorf("unknown command %q", command)
		}
	}
}

type borrowing struct {
	c       *childSide
	session *engine.Session
	reader  array.RecordReader
}

// tellError says SQLSTATE and text.
func (b *borrowing) tellError(err error) {
	b.c.say("error %s %s", sqlState(err), strings.ReplaceAll(err.Error(), "\n", " ⏎ "))
}

func sqlState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return "-----"
}

// first reads a batch and keeps it, unlooked at.
func (b *borrowing) first(sql string) {
	r, err := b.session.Query(context.Background(), sql)
	if err == nil && r.Next() {
		b.reader = r
		b.c.say("holding %d", r.RecordBatch().NumRows())
		return
	}
	if err == nil {
		err = r.Err()
	}
	b.tellError(err)
}

// rest looks at the batch in hand and at all that follow.
func (b *borrowing) rest() {
	defer b.reader.Release()
	rows, err := sameTag(b.reader)
	if err == nil {
		err = b.reader.Err()
	}
	if err != nil {
		b.tellError(err)
		return
	}
	b.c.say("rows %d", rows)
}

// foreignError: a row that is not of its table.
type foreignError struct{ text string }

func (e *foreignError) Error() string    { return "foreign bytes: " + e.text }
func (e *foreignError) SQLState() string { return "FOREIGN" }

// sameTag checks (tag, i, mixed, body, label) from the current batch on.
func sameTag(r array.RecordReader) (rows int, err error) {
	tag := ""
	for more := true; more; more = r.Next() {
		batch := r.RecordBatch()
		for k := range int(batch.NumRows()) {
			cells := make([]string, batch.NumCols())
			for c := range cells {
				cells[c] = batch.Column(c).ValueStr(k)
			}
			if tag == "" {
				tag = strings.Clone(cells[0])
			}
			want := fmt.Sprintf("row %s of the table with the tag %s", cells[1], tag)
			if cells[0] != tag || cells[3] != want || cells[4] != "tag "+tag {
				return rows, &foreignError{fmt.Sprintf("row %d is %q in a table with the tag %s", rows, cells, tag)}
			}
			rows++
		}
	}
	return rows, nil
}

func (b *borrowing) ask(sql string) {
	found, err := tryRows(b.session, sql)
	if err != nil {
		b.tellError(err)
		return
	}
	b.c.say("answer %s", strings.Join(found, ";"))
}

func (b *borrowing) loop(sql string) {
	stop := make(chan struct{})
	go func() {
		b.c.hear()
		close(stop)
	}()
	for {
		select {
		case <-stop:
			b.c.say("stopped")
			return
		default:
			b.ask(sql)
		}
	}
}

func foreignLeases(e *engine.Engine) (n int) {
	for _, l := range e.Status(noderpc.Frontend{}).Leases {
		if l.Domain != "local" {
			n++
		}
	}
	return n
}

// lend opens a node in this process and serves it.
func lend(t *testing.T, change ...func(*engine.Config)) (*engine.Engine, string) {
	t.Helper()
	dir := t.TempDir()
	e := open(t, append(change, func(c *engine.Config) {
		c.Directory, c.RegionDirectory, c.Log = dir, dir, slog.New(slog.DiscardHandler)
	})...)
	socket := filepath.Join(dir, "csmsql.sock")
	stop, err := serve(e, socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return e, socket
}

const bigTable = 600_000 // rows: three chunks, many batches

// TestBorrowerKilled: its leases are gone within 5 s and the memory comes back.
func TestBorrowerKilled(t *testing.T) {
	t.Parallel()
	e, socket := lend(t)
	s := session(t, e)
	exec(t, s, tagged("t", 1, bigTable))
	b := spawn(t, "borrower", borrowerArguments{Target: socket, Threads: 1})
	b.expect("ready")
	b.tell("first SELECT * FROM t")
	b.expect("holding")
	exec(t, s, "DROP TABLE t")
	require.Positive(t, foreignLeases(e))
	require.Positive(t, e.RegionStats().Used, "the borrower reads it")
	b.kill()
	start := time.Now()
	require.Eventually(t, func() bool { return foreignLeases(e) == 0 && e.RegionStats().Used == 0 }, 5*time.Second, 20*time.Millisecond)
	t.Logf("leases and memory were back after %v", time.Since(start).Round(time.Millisecond))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// TestBorrowerPaused: a borrower that slept longer than its lease wakes up with another table in the memory that it reads
// (E3). It must notice by itself, also for the batch that it has in hand.
func TestBorrowerPaused(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"duckdb", "compute"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			e, socket := lend(t, func(c *engine.Config) { c.LeaseTTL = 500 * time.Millisecond })
			s := session(t, e)
			exec(t, s, tagged("t", 1, bigTable))
			used := e.RegionStats().Used
			b := spawn(t, "borrower", borrowerArguments{Target: socket, Backend: backend, Threads: 1})
			b.expect("ready")
			b.insist("first SELECT tag, i, mixed, body, label FROM t", "holding")
			b.signal(syscall.SIGSTOP)
			exec(t, s, "DROP TABLE t")
			require.Eventually(t, func() bool { return e.RegionStats().Used == 0 }, 10*time.Second, 10*time.Millisecond)
			exec(t, s, tagged("other", 2, bigTable))
			require.Equal(t, used, e.RegionStats().Used, "the new table lies where the old one lay")
			b.signal(syscall.SIGCONT)
			b.tell("rest")
			answer := b.expect("error")
			require.True(t, strings.HasPrefix(answer, "72000") || strings.HasPrefix(answer, "08006"), answer)
			answer = b.insist("ask SELECT min(tag), max(tag), count(*) FROM other", "answer")
			require.Equal(t, fmt.Sprintf("2|2|%d", bigTable), answer, "with a new snapshot all is well")
		})
	}
}

// leaseError reports whether a borrower may fail with the state after its node was away or its lease has ended.
func leaseError(state string) bool {
	return state == "72000" || state == "08006" || state == "08001" // 08001: no listener
}

// TestBorrowerPausedAtRandomMoments: whatever the borrower is doing when it is stopped, it answers right or not at all.
func TestBorrowerPausedAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	e, socket := lend(t, func(c *engine.Config) { c.LeaseTTL = 120 * time.Millisecond })
	s := session(t, e)
	const rows = 150_000
	tag := 1
	replace := func() { tag++; exec(t, s, tagged("t", tag, rows)) }
	replace()
	b := spawn(t, "borrower", borrowerArguments{Target: socket, Threads: 2})
	b.expect("ready")
	b.tell("loop " + strings.ReplaceAll(taggedQuery("t"), "\n", " "))
	right, late := 0, 0
	heard, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		for line := range b.lines {
			word, rest, _ := strings.Cut(line, " ")
			switch state, _, _ := strings.Cut(rest, " "); {
			case word == "stopped":
				return
			case word == "answer" && strings.HasSuffix(rest, fmt.Sprintf("|%d|true", rows)):
				if right++; right == 1 {
					close(answered)
				}
			case word == "error" && leaseError(state):
				late++
			default:
				t.Errorf("seed %d: the borrower said %q", seed, line)
				return
			}
		}
	}()
	for range 12 {
		time.Sleep(time.Duration(r.Int64N(int64(100 * time.Millisecond)))) // the moment is what is random
		b.signal(syscall.SIGSTOP)
		replace()
		time.Sleep(200 * time.Millisecond) // longer than a lease lives
		replace()
		replace()
		b.signal(syscall.SIGCONT)
	}
	select {
	case <-answered: // on a slow machine no question ends between two pauses: then it is the first one after them
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("no right answer a minute after the last pause")
	}
	b.tell("stop")
	<-heard
	t.Logf("%d right answers, %d lease errors", right, late)
	require.Positive(t, right)
}

// TestNodeKilledUnderABorrower: clear errors while it is away, then right answers again, with a new snapshot.
func TestNodeKilledUnderABorrower(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 3))
	a := nodeArguments{Directory: shmDirectory(t), LeaseTTL: 300 * time.Millisecond}
	const rows = 150_000
	node := spawn(t, "node", a)
	node.expect("ready")
	node.tell(strings.ReplaceAll(tagged("t", 1, rows), "\n", " "))
	node.expect("done")
	b := spawn(t, "borrower", borrowerArguments{Target: a.socket(), Threads: 2})
	b.expect("ready")
	question := "ask " + strings.ReplaceAll(taggedQuery("t"), "\n", " ")
	for tag := 2; tag < 7; tag++ {
		b.tell("loop " + question[len("ask "):])
		time.Sleep(time.Duration(r.Int64N(int64(150 * time.Millisecond)))) // the moment is what is random
		node.kill()
		node = spawn(t, "node", a)
		node.expect("ready")
		node.tell(strings.ReplaceAll(tagged("t", tag, rows), "\n", " "))
		node.expect("done")
		b.tell("stop")
		for line := range b.lines {
			if line == "stopped" {
				break
			}
			word, rest, _ := strings.Cut(line, " ")
			state, _, _ := strings.Cut(rest, " ")
			correct := word == "error" && leaseError(state) || word == "answer" && strings.HasSuffix(rest, fmt.Sprintf("|%d|true", rows))
			require.True(t, correct, "seed %d: the borrower said %q", seed, line)
		}
		require.Equal(t, fmt.Sprintf("%d|%d|true", tag, rows), b.insist(question, "answer"), "seed %d", seed)
	}
}

// TestAnotherNodeUnderABorrower: the socket is the same, the tables are not: the new node owns none of what is mapped.
func TestAnotherNodeUnderABorrower(t *testing.T) {
	t.Parallel()
	sockets := t.TempDir()
	first := open(t, func(c *engine.Config) { c.Directory = shmDirectory(t); c.RegionDirectory = c.Directory })
	second := open(t, func(c *engine.Config) { c.Directory = shmDirectory(t); c.RegionDirectory = c.Directory })
	exec(t, session(t, first), tagged("t", 1, 1000))
	exec(t, session(t, second), tagged("t", 2, 1000))
	socket := filepath.Join(sockets, "csmsql.sock")
	stop, err := serve(first, socket)
	require.NoError(t, err)
	e, err := engine.AttachWith(context.Background(), socket, engine.Config{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	s := session(t, e)
	require.Equal(t, []string{"1|1000|true"}, rows(t, s, taggedQuery("t")))
	require.NoError(t, stop())
	stop, err = serve(second, socket)
	require.NoError(t, err)
	defer stop()
	for range 3 {
		if found, err := tryRows(s, taggedQuery("t")); err == nil {
			require.Equal(t, []string{"2|1000|true"}, found)
		} else {
			require.Equal(t, "08006", sqlState(err), "%v", err)
		}
	}
}

// TestSubqueriesInColumnNames: DuckDB names a column after its expression; what we put in place of a table must not show.
func TestSubqueriesInColumnNames(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	st, err := s.Prepare(context.Background(), "SELECT coalesce((SELECT max(a) FROM t), 0), (SELECT min(x.a) FROM t AS x WHERE x.a > 0) + 1 FROM t")
	require.NoError(t, err)
	for _, f := range st.Schema().Fields() {
		require.NotContains(t, f.Name, "csm_")
	}
	exec(t, s, "CREATE OR REPLACE TABLE t AS SELECT 2 AS a")
	_, err = st.Exec(context.Background())
	require.NoError(t, err, "replanned it has the same columns")
	require.NoError(t, st.Close())
}
