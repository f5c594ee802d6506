package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// A garden is a directory with many small tables of every layout that storage has, which can be damaged and looked at.
type garden struct {
	t       testing.TB
	config  engine.Config
	path    string // of the region
	extents []catalog.LiveExtent
	answers map[string][]string // by query
}

const gardenTables = 24

// testMemory is much, because the bound of a node's own memory is one of its process, and several tests share this one.
const testMemory = 2 << 30

func plant(t testing.TB) *garden {
	t.Helper()
	dir := shmDirectory(t)
	g := &garden{t: t, answers: map[string][]string{}, config: engine.Config{
		Directory: dir, RegionDirectory: dir, RegionBytes: 128 << 20, MemoryBytes: testMemory, Threads: 2, Log: slog.New(slog.DiscardHandler),
		LeaseTTL: time.Minute, // borrowers keep their leases on a machine that is busy, too
	}}
	e, err := engine.Open(context.Background(), g.config)
	require.NoError(t, err)
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	for i := range gardenTables {
		exec(t, s, fmt.Sprintf(`CREATE TABLE t%02d AS SELECT i::bigint AS i, CASE WHEN i %% 5 = 0 THEN NULL ELSE i * %d END AS hole, 'a longer text, number ' || (i * 7919 %% 1000) AS body,
			['red', 'green', 'blue'][1 + i %% 3] AS label, (i / 8.0)::decimal(12,3) AS price, i / 3.0::double AS part, DATE '2000-01-01' + (i %% 5000)::int AS day, i %% 2 = 0 AS even,
			CASE WHEN i %% 4 = 0 THEN NULL ELSE [i, i + 1, NULL] END AS list, {'a': i, 'b': 'text ' || i} AS pair, ('blob ' || i)::blob AS raw, i::hugeint * 10000000000 AS huge FROM range(%d) r(i)`, i, i+1, 300+i*37))
	}
	g.path = e.RegionSpec().Path
	g.extents, err = e.LiveExtents(context.Background())
	require.NoError(t, err)
	for i := range gardenTables {
		for _, q := range g.questions(i) {
			g.answers[q] = rows(t, s, q)
		}
	}
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	return g
}

// questions go through every column, through ENUMs, through key sets of joins and through the Arrow kernels.
func (g *garden) questions(table int) []string {
	name := fmt.Sprintf("t%02d", table)
	return []string{
		"SELECT count(*), sum(i), sum(hole), count(hole), sum(length(body)), min(body), max(body), sum(price), sum(part)::decimal(20,4), min(day), max(day), count(*) FILTER (even), sum(list[2]), sum(pair.a), max(pair.b), max(raw), sum(huge) FROM " + name,
		"SELECT label, count(*) FROM " + name + " WHERE label <> 'red' GROUP BY label ORDER BY label",
		"SELECT count(*) FROM " + name + " a JOIN " + name + " b ON a.i = b.i WHERE b.label = 'blue'",
		"SELECT i, body, label FROM " + name + " WHERE i < 20",
	}
}

// look asks all tables; damaged may fail, with XX001 and its name; nothing may be wrong.
func (g *garden) look(e *engine.Engine, damaged map[string]bool, seed uint64) (failed int) {
	return g.ask(e, damaged, seed, 4)
}

// glance is look with fewer questions.
func (g *garden) glance(e *engine.Engine, damaged map[string]bool, seed uint64) (failed int) {
	return g.ask(e, damaged, seed, 1)
}

func (g *garden) ask(e *engine.Engine, damaged map[string]bool, seed uint64, questions int) (failed int) {
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(g.t, err)
	defer s.Close()
	for i := range gardenTables {
		name := fmt.Sprintf("t%02d", i)
		for k, q := range g.questions(i)[:questions] {
			found, err := tryRows(s, q)
			if err == nil {
				require.Equal(g.t, g.answers[q], found, "seed %d: %s", seed, q)
				require.False(g.t, damaged[name] && k == 0, "seed %d: the damage of %s was not noticed", seed, name)
				continue
			}
			failed++
			require.True(g.t, damaged[name], "seed %d: %s: %v", seed, q, err)
			require.Equal(g.t, "XX001", sqlState(err), "seed %d: %v", seed, err)
			for _, word := range []string{"public." + name, "chunk 0", "node local", "checksum"} {
				require.Contains(g.t, err.Error(), word, "seed %d", seed)
			}
		}
	}
	return failed
}

// flip changes a bit of the file and returns what undoes it.
func flip(t testing.TB, file *os.File, at int64, bit int) (undo func()) {
	t.Helper()
	b := make([]byte, 1)
	_, err := file.ReadAt(b, at)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte{b[0] ^ 1<<bit}, at)
	require.NoError(t, err)
	return func() {
		_, err := file.WriteAt(b, at)
		require.NoError(t, err)
	}
}

// TestAlteredBytes: bits that were flipped while the node was down are found before a row is made of them.
func TestAlteredBytes(t *testing.T) {
	t.Parallel()
	g := plant(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 5))
	file, err := os.OpenFile(g.path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	flips := 0
	for range 6 * testsuite.Effort() {
		damaged := map[string]bool{}
		var undo []func()
		for _, x := range g.extents {
			if r.IntN(8) == 0 {
				continue // some stay whole
			}
			at := r.Int64N(x.Range.Length)
			undo = append(undo, flip(t, file, x.Range.Offset+at, r.IntN(8)))
			flips++
			if at < x.Seal.Length { // what is behind the end means nothing
				damaged[x.Table.Name] = true
			}
		}
		e, err := engine.Open(context.Background(), g.config)
		require.NoError(t, err, "seed %d", seed)
		g.look(e, damaged, seed)
		require.Equal(t, "XX001", sqlState(e.VerifyChecksums(context.Background())))
		s, err := e.Session(engine.SessionOptions{})
		require.NoError(t, err)
		require.NoError(t, e.CheckSpace(context.Background()))
		require.NoError(t, s.Close())
		require.NoError(t, e.Close())
		for _, u := range undo {
			u()
		}
	}
	verify := g.config
	verify.VerifyAtStart = true
	e, err := engine.Open(context.Background(), verify)
	require.NoError(t, err)
	require.Zero(t, g.look(e, nil, seed))
	require.NoError(t, e.Close())
	t.Logf("%d flips", flips)

	flip(t, file, g.extents[3].Range.Offset, 0)
	_, err = engine.Open(context.Background(), verify)
	require.Equal(t, "XX001", sqlState(err), "%v", err)
}

// TestRegionTruncatedWhileDown: what was cut off is damaged, the rest is as it was, and the damaged tables can be
// recreated.
func TestRegionTruncatedWhileDown(t *testing.T) {
	t.Parallel()
	g := plant(t)
	for _, share := range []float64{0.7, 0.3, 0} {
		var end int64
		for _, x := range g.extents {
			end = max(end, x.Range.End())
		}
		size := int64(float64(end) * share)
		require.NoError(t, os.Truncate(g.path, size))
		damaged := map[string]bool{}
		for _, x := range g.extents {
			if x.Range.Offset+x.Seal.Length > size {
				damaged[x.Table.Name] = true
			}
		}
		e, err := engine.Open(context.Background(), g.config)
		require.NoError(t, err, "tables that are whole must be there")
		require.Positive(t, g.look(e, damaged, 0))
		require.NoError(t, e.CheckSpace(context.Background()))
		require.NoError(t, e.Close())
	}
	e, err := engine.Open(context.Background(), g.config)
	require.NoError(t, err)
	s := session(t, e)
	exec(t, s, "CREATE OR REPLACE TABLE t00 AS SELECT 1 AS a")
	exec(t, s, "DROP TABLE t01")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM t00"))
	require.NoError(t, e.CheckSpace(context.Background()))
	s.Close()
	require.NoError(t, e.Close())
}

// TestRegionRemovedWhileDown: as after a reboot of the machine.
func TestRegionRemovedWhileDown(t *testing.T) {
	t.Parallel()
	g := plant(t)
	require.NoError(t, os.Remove(g.path))
	for range 2 {
		e, err := engine.Open(context.Background(), g.config)
		require.NoError(t, err)
		s := session(t, e)
		_, err = tryRows(s, "SELECT sum(i) FROM t05")
		require.Equal(t, "58030", sqlState(err), "%v", err)
		require.Contains(t, err.Error(), "public.t05")
		require.Contains(t, err.Error(), g.path)
		exec(t, s, "CREATE OR REPLACE TABLE t00 AS SELECT 1 AS a")
		exec(t, s, "DROP TABLE IF EXISTS t01")
		exec(t, s, "INSERT INTO t00 VALUES (2)")
		require.Equal(t, []string{"3"}, rows(t, s, "SELECT sum(a) FROM t00"))
		require.NoError(t, e.CheckSpace(context.Background()))
		s.Close()
		require.NoError(t, e.Close())
	}
}

// victimRole reads and writes all the time, and reports every answer; it must not end before the command to stop.
func victimRole(c *childSide) error {
	var a nodeArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.Directory, RegionBytes: 64 << 20, MemoryBytes: 256 << 20, Threads: 2, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	if _, err := s.Exec(context.Background(), tagged("t", 1, victimRows)); err != nil {
		return err
	}
	c.say("ready %s", e.RegionSpec().Path)
	stop := make(chan struct{})
	go func() { c.hear(); close(stop) }()
	b := &borrowing{c: c, session: s}
	for n := 2; ; n++ {
		select {
		case <-stop:
			s.Close()
			c.say("stopped")
			return e.Close()
		default:
		}
		b.ask(taggedQuery("t"))
		if _, err := s.Exec(context.Background(), tagged("other", n, victimRows)); err != nil {
			b.tellError(err)
		}
		b.ask("SELECT sum(i) FROM t")
	}
}

const victimRows = 40_000

// TestRegionTruncatedWhileTheNodeRuns: at random moments of reading and writing, and made long again or not. Answers are right or errors;
// the node does not die.
func TestRegionTruncatedWhileTheNodeRuns(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 6))
	for round := range 5 {
		dir := shmDirectory(t)
		p := spawn(t, "victim", nodeArguments{Directory: dir})
		path := p.expect("ready")
		failed, length := 0, int64(8<<20)
		for range 3 {
			time.Sleep(time.Duration(r.Int64N(int64(80 * time.Millisecond)))) // the moment is what is random
			if length = r.Int64N(length + 1); round%3 == 2 {
				length = 0
			}
			require.NoError(t, os.Truncate(path, length))
			if r.IntN(2) == 0 {
				require.NoError(t, os.Truncate(path, 64<<20))
			}
		}
		time.Sleep(50 * time.Millisecond)
		p.tell("stop")
		stopped := false
		for line := range p.lines {
			word, rest, _ := strings.Cut(line, " ")
			state, _, _ := strings.Cut(rest, " ")
			switch {
			case word == "stopped":
				stopped = true
			case word == "answer" && (rest == fmt.Sprintf("1|%d|true", victimRows) || rest == fmt.Sprint(victimRows*(victimRows-1)/2)):
			case word == "error" && (state == "58030" || state == "XX001" || state == "53200"):
				failed++
			default:
				require.Fail(t, "a wrong answer", "seed %d, round %d: %q", seed, round, line)
			}
		}
		p.wait()
		require.True(t, stopped, "seed %d, round %d: the node died: %v\n%s", seed, round, p.process.ProcessState, p.stderr.String())
		t.Logf("round %d: %d expected errors", round, failed)
	}
}

// TestDamagedCatalogFile: cut off and altered anywhere: it opens and is right, or says what is wrong.
func TestDamagedCatalogFile(t *testing.T) {
	t.Parallel()
	g := plant(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 7))
	path := filepath.Join(g.config.Directory, store.FileName)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	attempt := func(what string, bytes []byte) bool {
		require.NoError(t, os.WriteFile(path, bytes, 0o600))
		e, err := engine.Open(context.Background(), g.config)
		if err != nil {
			known := errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrForeign) || errors.Is(err, catalog.ErrCorrupt) ||
				errors.Is(err, hugetable.ErrLost) // a page whose key was hit: it says of which table
			require.True(t, known, "seed %d, %s: %v", seed, what, err)
			return false
		}
		defer e.Close()
		g.answersOrErrors(e, seed, what)
		return true
	}
	opened := 0
	for _, length := range []int{0, 1, 100, 4096, 8192, len(good) / 2, len(good) - 4096, len(good) - 1} {
		if attempt(fmt.Sprintf("%d of %d bytes", length, len(good)), good[:length]) {
			opened++
		}
	}
	for range 8 * testsuite.Effort() {
		bad := append([]byte(nil), good...)
		at, bit := r.IntN(len(bad)), r.IntN(8)
		bad[at] ^= 1 << bit
		if attempt(fmt.Sprintf("bit %d of byte %d", bit, at), bad) {
			opened++
		}
	}
	t.Logf("%d damaged files could be opened (damage where nothing lies)", opened)
	require.NoError(t, os.WriteFile(path, good, 0o600))
	e, err := engine.Open(context.Background(), g.config)
	require.NoError(t, err)
	require.Zero(t, g.look(e, nil, seed), "no attempt has damaged the tables")
	require.NoError(t, e.Close())
}

// answersOrErrors: nothing wrong may be said.
func (g *garden) answersOrErrors(e *engine.Engine, seed uint64, what string) {
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(g.t, err, "seed %d, %s", seed, what)
	defer s.Close()
	for i := 0; i < gardenTables; i += 3 {
		for _, q := range g.questions(i)[:2] {
			found, err := tryRows(s, q)
			if err == nil {
				require.Equal(g.t, g.answers[q], found, "seed %d, %s: %s", seed, what, q)
				continue
			}
			require.Contains(g.t, []string{"XX001", "42P01", "42703", "58030", "3F000"}, sqlState(err), "seed %d, %s: %s: %v", seed, what, q, err)
		}
	}
}

// TestDamagedRecords: a bit of a record of the catalog is another one, and the store's own checksum does not know.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	g := plant(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 8))
	path := filepath.Join(g.config.Directory, store.FileName)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	bolt, err := store.OpenBolt(g.config.Directory)
	require.NoError(t, err)
	var items []store.Item
	_, err = bolt.Scan(context.Background(), []string{""}, func(i store.Item) error {
		items = append(items, store.Item{Key: i.Key, Value: append([]byte(nil), i.Value...)})
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, bolt.Close())
	noticed, harmless := 0, 0
	for range 10 * testsuite.Effort() {
		item := items[r.IntN(len(items))]
		if len(item.Value) == 0 {
			continue
		}
		at, bit := r.IntN(len(item.Value)), r.IntN(8)
		bad := append([]byte(nil), item.Value...)
		bad[at] ^= 1 << bit
		what := fmt.Sprintf("bit %d of byte %d of the %d in %q", bit, at, len(bad), item.Key)
		require.NoError(t, os.WriteFile(path, good, 0o600))
		bolt, err := store.OpenBolt(g.config.Directory)
		require.NoError(t, err)
		_, err = bolt.Commit(context.Background(), store.Transaction{Puts: []store.Item{{Key: item.Key, Value: bad}}})
		require.NoError(t, errors.Join(err, bolt.Close()))
		e, err := engine.Open(context.Background(), g.config)
		if err != nil {
			noticed++
			require.NotContains(t, []string{"", "-----", "XX000"}, sqlState(err), "seed %d, %s: %v", seed, what, err)
			continue
		}
		g.answersOrErrors(e, seed, what)
		harmless++
		require.NoError(t, e.Close())
	}
	t.Logf("%d of %d were noticed when the node started, the others when they were asked for, or meant nothing", noticed, noticed+harmless)
}

type takenArguments struct {
	Directory   string
	Base, Bytes uintptr
}

// takenRole occupies the addresses of a region before it opens the node that had it.
func takenRole(c *childSide) error {
	var a takenArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	if err := occupy(a.Base, a.Bytes); err != nil {
		return err
	}
	var said strings.Builder
	e, err := engine.Open(context.Background(), engine.Config{Directory: a.Directory, RegionDirectory: a.Directory, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		return err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	found, err := tryRows(s, taggedQuery("t"))
	if err != nil {
		return err
	}
	if err := errors.Join(e.VerifyChecksums(context.Background()), e.CheckSpace(context.Background())); err != nil {
		return err
	}
	c.say("answer %s %#x %v", found[0], uint64(e.RegionSpec().Base), strings.Contains(said.String(), "address is taken"))
	s.Close()
	return e.Close()
}

// occupy takes addresses as another library would.
func occupy(base, bytes uintptr) error {
	const fixedNoReplace = 0x100000
	got, _, errno := unix.Syscall6(unix.SYS_MMAP, base, bytes, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|fixedNoReplace, ^uintptr(0), 0)
	if errno != 0 || got != base {
		return fmt.Errorf("cannot occupy %#x: %w", base, errno)
	}
	return nil
}

// TestAddressTaken: the region moves, says so, and answers as before.
func TestAddressTaken(t *testing.T) {
	t.Parallel()
	dir := shmDirectory(t)
	config := engine.Config{Directory: dir, RegionDirectory: dir, RegionBytes: 64 << 20}
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	exec(t, s, tagged("t", 3, 10_000))
	base := e.RegionSpec().Base
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	p := spawn(t, "taken", takenArguments{Directory: dir, Base: uintptr(base) + 8192, Bytes: 4096})
	answer := strings.Fields(p.expect("answer"))
	require.Equal(t, "3|10000|true", answer[0])
	require.NotEqual(t, fmt.Sprintf("%#x", uint64(base)), answer[1])
	require.Equal(t, "true", answer[2], "the log says so")
	p.wait()
	require.True(t, p.process.ProcessState.Success())
	e, err = engine.Open(context.Background(), config)
	require.NoError(t, err)
	require.Equal(t, []string{"3|10000|true"}, rows(t, session(t, e), taggedQuery("t")))
	require.NoError(t, e.Close())
}
