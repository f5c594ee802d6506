package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testfabric"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
)

// What another process does to the region's file while the node runs and has already read and verified all of it.

// A deed is what a stranger does to the bytes of one extent. Each alters the byte At.
type deed struct {
	Path  string
	What  string
	Range memregion.Range
	At    int64  // in the file
	From  string // of "restore": the file as it was
}

// strangerRole executes commands: it opens the file, does the deed, and closes it.
func strangerRole(c *childSide) error {
	for {
		line, ok := c.hear()
		if !ok {
			return nil
		}
		var d deed
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return err
		}
		if err := d.do(); err != nil {
			return err
		}
		c.say("done")
	}
}

func (d deed) do() error {
	file, err := os.OpenFile(d.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.alter(file), file.Close())
}

func (d deed) alter(file *os.File) error {
	switch d.What {
	case "flip":
		b := make([]byte, 1)
		if _, err := file.ReadAt(b, d.At); err != nil {
			return err
		}
		_, err := file.WriteAt([]byte{b[0] ^ 4}, d.At)
		return err
	case "restore":
		good, err := os.Open(d.From)
		if err != nil {
			return err
		}
		defer good.Close()
		_, err = io.Copy(io.NewOffsetWriter(file, d.Range.Offset), io.NewSectionReader(good, d.Range.Offset, d.Range.Length))
		return err
	case "cut":
		st, err := file.Stat()
		if err != nil {
			return err
		}
		return errors.Join(file.Truncate(d.Range.Offset), file.Truncate(st.Size()))
	case "punch":
		return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, d.Range.Offset, d.Range.Length)
	case "store":
		memory, err := unix.Mmap(int(file.Fd()), d.Range.Offset, int(d.Range.Length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		memory[d.At-d.Range.Offset] ^= 4 // it loads first, so that no page fault shows
		return unix.Munmap(memory)
	}
	return fmt.Errorf("unknown deed %q", d.What)
}

// stranger is the parent's end.
type stranger struct{ *child }

func newStranger(t testing.TB) stranger { return stranger{spawn(t, "stranger", nil)} }

func (s stranger) does(d deed) {
	s.t.Helper()
	text, err := json.Marshal(d)
	require.NoError(s.t, err)
	s.tell(string(text))
	s.expect("done")
}

// kept is a copy of a file as it is now.
func kept(t testing.TB, path string) string {
	t.Helper()
	bytes, err := os.ReadFile(path)
	require.NoError(t, err)
	good := filepath.Join(t.TempDir(), "good")
	require.NoError(t, os.WriteFile(good, bytes, 0o600))
	return good
}

// attached borrows from e in this process; the region lies elsewhere in its address space then.
func attached(t testing.TB, e *engine.Engine, socket string) (borrower func() *engine.Engine) {
	stop, err := serve(e, socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	return func() *engine.Engine {
		b, err := engine.AttachWith(context.Background(), socket, engine.Config{MemoryBytes: testMemory, Threads: 2, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
}

// TestAlteredWhileTheNodeRuns attacks E2: another process alters the file of a region that was read and verified. The
// next query of the altered chunk fails with an error that names table, chunk and node; every other query is answered
// right, and all are when the bytes are back: by the node, by a borrower that had read everything before, and by one
// that comes later.
func TestAlteredWhileTheNodeRuns(t *testing.T) {
	t.Parallel()
	g := plant(t)
	good := kept(t, g.path)
	e, err := engine.Open(context.Background(), g.config)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	t.Run("", func(t *testing.T) { // borrowers are gone before the node
		attach := attached(t, e, filepath.Join(g.config.Directory, "csmsql.sock"))
		s := newStranger(t)
		seed := uint64(time.Now().UnixNano())
		r := rand.New(rand.NewPCG(seed, 9))
		borrower := attach()
		require.Zero(t, g.glance(borrower, nil, seed))
		for _, what := range []string{"flip", "store", "punch", "cut"} {
			require.Zero(t, g.glance(e, nil, seed))
			damaged := map[string]bool{}
			for range 3 {
				x := g.extents[r.IntN(len(g.extents))]
				d := deed{Path: g.path, What: what, Range: x.Range, At: x.Range.Offset + r.Int64N(x.Seal.Length)}
				s.does(d)
				damaged[x.Table.Name] = true
				for _, y := range g.extents {
					if what == "cut" && y.Range.Offset >= x.Range.Offset {
						damaged[y.Table.Name] = true
					}
				}
				if what != "punch" && what != "cut" {
					break // a second flip might undo the first
				}
			}
			late := attach()
			for _, asked := range []*engine.Engine{e, borrower, late, e} {
				require.Positive(t, g.glance(asked, damaged, seed), "%s", what)
			}
			require.Equal(t, "XX001", sqlState(e.VerifyChecksums(context.Background())))
			require.NoError(t, e.CheckSpace(context.Background()))
			for _, x := range g.extents {
				s.does(deed{Path: g.path, What: "restore", Range: x.Range, From: good})
			}
		}
		require.Zero(t, g.look(e, nil, seed))
		require.Zero(t, g.glance(borrower, nil, seed))
		require.NoError(t, e.VerifyChecksums(context.Background()))
		require.Positive(t, e.Counters().Invalidated.Load())
		require.NoError(t, attach().VerifyChecksums(context.Background()))
	})
	require.NoError(t, e.CheckSpace(context.Background()))
}

// writtenHere is a node with a table of several chunks that it has written itself and therefore trusts, and a stranger.
func writtenHere(t *testing.T) (*engine.Engine, stranger) {
	t.Helper()
	dir := shmDirectory(t)
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: dir, RegionDirectory: dir, RegionBytes: 1 << 30, MemoryBytes: testMemory, Threads: 2, Log: slog.New(slog.DiscardHandler),
		LeaseTTL: time.Minute, // as in a garden
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	defer s.Close()
	exec(t, s, "CREATE TABLE t AS SELECT i, i * 3 AS j, 'so long that two hundred thousand rows or so make up a chunk, number ' || i AS body FROM range(400000) r(i)")
	exec(t, s, "CREATE TABLE small AS SELECT i FROM range(10) r(i)")
	return e, newStranger(t)
}

// flips are deeds on the first extent of a table's chunk.
func flips(t *testing.T, e *engine.Engine, table string, chunk int) deed {
	t.Helper()
	extents, err := e.LiveExtents(context.Background())
	require.NoError(t, err)
	for _, x := range extents {
		if x.Table.Name == table && x.Chunk == chunk {
			return deed{Path: e.RegionSpec().Path, What: "flip", Range: x.Range, At: x.Range.Offset + x.Seal.Length/2}
		}
	}
	require.FailNow(t, "no such chunk", "%s %d", table, chunk)
	return deed{}
}

// TestAlteredWhileRowsAreRead attacks E3: a result that is being read when a chunk is altered that it is made of, be it one that was read
// long ago, ends with an error. Another's does not.
func TestAlteredWhileRowsAreRead(t *testing.T) {
	t.Parallel()
	e, stranger := writtenHere(t)
	for _, backend := range []string{"duckdb", "compute"} {
		s := session(t, e)
		exec(t, s, "SET csm.backend = "+backend)
		for _, table := range []string{"t", "small"} {
			result, err := s.Query(context.Background(), "SELECT i, j, body FROM t")
			require.NoError(t, err)
			require.True(t, result.Next(), "%v", result.Err())
			stranger.does(flips(t, e, table, 0))
			for result.Next() {
			}
			require.Equal(t, map[string]string{"t": "XX001", "small": "-----"}[table], sqlState(result.Err()), "%s: %v", backend, result.Err())
			if table == "t" {
				for _, word := range []string{"public.t ", "chunk 0", "node local", "checksum"} {
					require.Contains(t, result.Err().Error(), word)
				}
			}
			result.Release()
			stranger.does(flips(t, e, table, 0)) // back
			require.Equal(t, []string{"79999800000"}, rows(t, s, "SELECT sum(i) FROM t"))
		}
	}
}

// TestAlteredBeforeABorrowerCame: a borrower trusts what its node has written, as the node does, unless another process
// has altered it.
func TestAlteredBeforeABorrowerCame(t *testing.T) {
	t.Parallel()
	e, stranger := writtenHere(t)
	attach := attached(t, e, filepath.Join(e.Directory(), "csmsql.sock"))
	ask := func() (string, error) {
		found, err := tryRows(session(t, attach()), "SELECT sum(i) FROM t")
		return strings.Join(found, ""), err
	}
	first := attach()
	require.Equal(t, []string{"79999800000"}, rows(t, session(t, first), "SELECT sum(i) FROM t"))
	if e.RegionStats().Watch == memregion.WatchProcess {
		require.Zero(t, first.VerifiedBytes(), "trusted")
	}
	stranger.does(flips(t, e, "t", 0))
	_, err := ask()
	require.Equal(t, "XX001", sqlState(err), "%v", err)
	stranger.does(flips(t, e, "t", 0))
	found, err := ask()
	require.NoError(t, err)
	require.Equal(t, "79999800000", found)
}

// TestAlteredUnderACursor: rows that a cursor has read and that are not fetched yet are checked again.
func TestAlteredUnderACursor(t *testing.T) {
	t.Parallel()
	e, stranger := writtenHere(t)
	s := session(t, e)
	for _, backend := range []string{"duckdb", "compute"} {
		exec(t, s, "SET csm.backend = "+backend)
		exec(t, s, "BEGIN")
		exec(t, s, "DECLARE c CURSOR FOR SELECT i, j FROM t")
		first := rows(t, s, "FETCH 3 FROM c")
		require.Len(t, first, 3)
		stranger.does(flips(t, e, "t", 0))
		if backend == "compute" { // DuckDB's rows are copies, and right
			_, err := tryRows(s, "FETCH 3 FROM c")
			require.Equal(t, "XX001", sqlState(err), "%v", err)
		} else {
			_, err := tryRows(s, "FETCH ALL FROM c")
			require.Equal(t, "XX001", sqlState(err), "%v", err)
		}
		exec(t, s, "ROLLBACK")
		stranger.does(flips(t, e, "t", 0))
	}
}

// TestAlteredWhileRowsAreWritten: a statement that takes its rows from an altered table writes nothing.
func TestAlteredWhileRowsAreWritten(t *testing.T) {
	t.Parallel()
	e, stranger := writtenHere(t)
	s := session(t, e)
	require.Equal(t, []string{"400000"}, rows(t, s, "SELECT count(body) FROM t"))
	stranger.does(flips(t, e, "t", 1))
	for _, sql := range []string{
		"CREATE TABLE c AS SELECT * FROM t", "INSERT INTO small SELECT i FROM t", "INSERT INTO small SELECT i FROM t WHERE i = 3 OR i > 5", "DELETE FROM t WHERE i % 2 = 1",
		"UPDATE t SET j = 1 WHERE i % 2 = 0", "CREATE TEMP TABLE c AS SELECT * FROM t",
	} {
		_, err := s.Exec(context.Background(), sql)
		require.Equal(t, "XX001", sqlState(err), "%s: %v", sql, err)
	}
	for _, name := range []string{"c"} {
		_, err := tryRows(s, "SELECT 1 FROM "+name)
		require.Equal(t, "42P01", sqlState(err), "%v", err)
	}
	require.Equal(t, []string{"10"}, rows(t, s, "SELECT count(i) FROM small"))
	require.NoError(t, e.CheckSpace(context.Background()))
	stranger.does(flips(t, e, "t", 1))
	require.Equal(t, []string{"400000"}, rows(t, s, "SELECT count(body) FROM t"))
}

// TestAlteredBetweenStoreAndSeal: a chunk's checksum is computed from the bytes in the region; if another process has
// altered them, it is invalid.
func TestAlteredBetweenStoreAndSeal(t *testing.T) {
	t.Parallel()
	e, stranger := writtenHere(t)
	if e.RegionStats().Watch != memregion.WatchProcess {
		t.Skip("this kernel does not say who alters a file")
	}
	before := e.RegionStats().Used
	for _, altered := range []bool{false, true} {
		err := e.WriteExtent(func() {
			if altered {
				stranger.does(flips(t, e, "small", 0))
			}
		})
		if !altered {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, "58030", sqlState(err), "%v", err)
	}
	require.Equal(t, before, e.RegionStats().Used)
}

// TestOwnWorkIsNoAlteration: sessions that load, insert, drop and read cause no comparison of checksums and no error.
func TestOwnWorkIsNoAlteration(t *testing.T) {
	t.Parallel()
	e, _ := writtenHere(t)
	sum := fmt.Sprint(400000 * 399999 / 2)
	var workers sync.WaitGroup
	for w := range 2 {
		workers.Go(func() {
			s, err := e.Session(engine.SessionOptions{})
			require.NoError(t, err)
			defer s.Close()
			for n := range 6 {
				name := fmt.Sprintf("w%d_%d", w, n%3)
				for _, sql := range []string{
					fmt.Sprintf("CREATE OR REPLACE TABLE %s AS SELECT i, 'a text that takes some room ' || i AS b FROM range(%d) r(i)", name, 200_000+n*30_000),
					fmt.Sprintf("INSERT INTO %s VALUES (1, 'one')", name), fmt.Sprintf("DELETE FROM %s WHERE i < 1000", name),
				} {
					if _, err := s.Exec(context.Background(), sql); err != nil {
						t.Errorf("%s: %v", sql, err)
					}
				}
				if found, err := tryRows(s, "SELECT sum(i)::bigint FROM t"); err != nil || found[0] != sum {
					t.Errorf("%v: %v", found, err)
				}
				if n%4 == 3 {
					if _, err := s.Exec(context.Background(), "DROP TABLE "+name); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	workers.Wait()
	stats := e.RegionStats()
	require.Positive(t, stats.ReservedTotal)
	require.NoError(t, e.CheckSpace(context.Background()))
	if stats.Watch != memregion.WatchProcess {
		t.Skip("this kernel does not say who alters a file: checksums are compared more often than need be")
	}
	require.Zero(t, stats.Alterations)
	require.Zero(t, e.Counters().Invalidated.Load())
	require.Zero(t, e.Counters().Mismatches.Load())
	if testfabric.Coherent() { // elsewhere checksums are compared at first use, also after own writes
		require.Zero(t, e.VerifiedBytes())
	}
	require.LessOrEqual(t, e.Counters().Acquires.Load()-e.Counters().Releases.Load(), uint64(200), "what is over is forgotten")
}

// TestStrangersAtAllTimes: bytes are flipped, punched out, cut off, and put back, at random moments of reading. Answers
// are right, or errors that name what was hit. What is altered stays so until all readers that began before have ended:
// see readings.
func TestStrangersAtAllTimes(t *testing.T) {
	t.Parallel()
	e, stranger := writtenHere(t)
	const question = "SELECT count(*), sum(i)::bigint, sum(j)::bigint, sum(length(body))::bigint, max(body) FROM t"
	want := rows(t, session(t, e), question)
	good := kept(t, e.RegionSpec().Path)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 10))
	a := newAudience(t, e, question, want[0])
	defer a.leave() // before the engine is closed, whatever happens
	for range 5 * testsuite.Effort() {
		time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond)))) // the moment is what is random
		d := flips(t, e, "t", random.IntN(2))
		whole := d.Range
		d.At = whole.Offset + random.Int64N(whole.Length/2)
		d.What = []string{"flip", "punch", "cut"}[random.IntN(3)]
		if d.What == "punch" { // a large hole is there before the call that makes it returns
			d.Range = memregion.Range{Offset: d.At / memregion.PageSize * memregion.PageSize, Length: memregion.PageSize}
		}
		stranger.does(d)
		a.askAll(2) // the first may have begun before
		d.What, d.From, d.Range = "restore", good, whole
		if whole.Offset != 0 {
			d.Range = memregion.Range{Length: whole.End()}
		}
		stranger.does(d)
		stranger.does(deed{Path: d.Path, What: "restore", From: good, Range: memregion.Range{Offset: whole.End(), Length: size(t, good) - whole.End()}})
		a.askAll(2)
	}
	a.leave()
	require.Empty(t, a.wrong, "seed %d", seed)
	require.Positive(t, a.right)
	require.Positive(t, a.failed)
	t.Logf("%d right, %d expected errors", a.right, a.failed)
	require.Equal(t, want, rows(t, session(t, e), question))
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	require.NoError(t, err)
	return st.Size()
}

// An audience asks the same question all the time, each member in a session of its own.
type audience struct {
	mu            sync.Mutex // guards the rest
	asked         *sync.Cond
	answers       []int // by member
	right, failed int
	wrong         []string

	stop  chan struct{}
	leave func()
}

func newAudience(t *testing.T, e *engine.Engine, question, want string) *audience {
	const members = 2
	a := &audience{answers: make([]int, members), stop: make(chan struct{})}
	a.asked = sync.NewCond(&a.mu)
	var group sync.WaitGroup
	a.leave = sync.OnceFunc(func() { close(a.stop); group.Wait() })
	for member := range members {
		s := session(t, e)
		group.Go(func() {
			for {
				select {
				case <-a.stop:
					return
				default:
				}
				found, err := tryRows(s, question)
				a.hear(member, want, found, err)
			}
		})
	}
	return a
}

func (a *audience) hear(member int, want string, found []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch state := sqlState(err); {
	case err == nil && found[0] == want:
		a.right++
	case state == "58030" || state == "XX001" && strings.Contains(err.Error(), "table public.t on node local"):
		a.failed++
	default:
		a.wrong = append(a.wrong, fmt.Sprint(found, err))
	}
	a.answers[member]++
	a.asked.Broadcast()
}

// askAll returns when every member has got n more answers.
func (a *audience) askAll(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := append([]int(nil), a.answers...)
	for i := range until {
		for a.answers[i] < until[i]+n {
			a.asked.Wait()
		}
	}
}
