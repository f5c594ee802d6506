package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

const (
	noteWriters = 8
	noteTables  = 20 // more than have deltas at once
)

// noteArguments of a child in which many writers insert until it is killed.
type noteArguments struct {
	Directory string
	Point     string // see crashArguments
	Hit       int
	Acked     [noteWriters]int // how many statements of each were acknowledged; one more may be there
	Seed      uint64
}

// noteTable is where a writer's statement inserts, noteRows how many rows it and all before it have.
func noteTable(writer, statement int) int { return (writer + 7*statement) % noteTables }
func noteRows(statements int) int         { return statements + statements/5 }

// noteRole checks what is there, says so, and has writers insert into many tables, beside a session that reads and
// alters them.
func noteRole(c *childSide) error {
	var a noteArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	hits := atomic.Int64{}
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.Directory, Fabric: memregion.FabricFile, RegionBytes: 256 << 20,
		MemoryBytes: 256 << 20, Threads: 1, Log: slog.New(slog.DiscardHandler), Fault: func(point faults.Point) {
			if point.String() == a.Point && hits.Add(1) == int64(a.Hit) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing after it happens
				select {}
			}
		},
	})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	done, err := checkNotes(e, s, a)
	if err != nil {
		return err
	}
	c.say("checked %s", strings.Trim(fmt.Sprint(done), "[]"))
	var group errgroup.Group
	for w := range noteWriters {
		group.Go(func() error { return writeNotes(c, e, w, done[w]) })
	}
	group.Go(func() error { return disturbNotes(s, rand.New(rand.NewPCG(a.Seed, uint64(done[0])))) })
	return group.Wait()
}

// checkNotes finds out how many statements of each writer are there: each once and whole, all that were acknowledged, and
// at most one more.
func checkNotes(e *engine.Engine, s *engine.Session, a noteArguments) (done [noteWriters]int, err error) {
	var all []string
	for i := range noteTables {
		if _, err := s.Exec(context.Background(), fmt.Sprintf("CREATE TABLE IF NOT EXISTS t%d (w int, k int, part int, s text)", i)); err != nil {
			return done, err
		}
		all = append(all, fmt.Sprintf("SELECT w, k, part, s, %d AS t FROM t%d", i, i))
	}
	found, err := tryRows(s, "SELECT w, count(*), count(DISTINCT (k, part)), max(k), bool_and(s = repeat(w || '/' || k || ';', (k % 700)::int)), "+
		fmt.Sprintf("bool_and(t = (w + 7 * k) %% %d) FROM (%s) q GROUP BY w", noteTables, strings.Join(all, " UNION ALL ")))
	if err != nil {
		return done, err
	}
	for _, line := range found {
		var w, rows, distinct, last int
		if _, err := fmt.Sscan(strings.ReplaceAll(line, "|", " "), &w, &rows, &distinct, &last); err != nil {
			return done, err
		}
		if done[w] = last + 1; rows != noteRows(last+1) || distinct != rows || !strings.HasSuffix(line, "|true|true") {
			return done, fmt.Errorf("of writer %d there is %s; %d rows make a whole", w, line, noteRows(last+1))
		}
	}
	for w, n := range done {
		if n != a.Acked[w] && n != a.Acked[w]+1 {
			return done, fmt.Errorf("%d statements of writer %d are there, %d were acknowledged", n, w, a.Acked[w])
		}
	}
	return done, errors.Join(e.VerifyChecksums(context.Background()), e.CheckSpace(context.Background()))
}

// writeNotes inserts a row with each statement, and two with each fifth.
func writeNotes(c *childSide, e *engine.Engine, w, from int) error {
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	for k := from; ; k++ {
		text := strings.Repeat(fmt.Sprintf("%d/%d;", w, k), k%700)
		list := fmt.Sprintf("(%d, %d, 0, '%s')", w, k, text)
		if k%5 == 4 {
			list += fmt.Sprintf(", (%d, %d, 1, '%s')", w, k, text)
		}
		_, err := s.Exec(context.Background(), fmt.Sprintf("INSERT INTO t%d VALUES %s", noteTable(w, k), list))
		if errors.Is(err, catalog.ErrConflict) { // the table was altered meanwhile: nothing is there (GA1)
			k--
			continue
		} else if err != nil {
			return fmt.Errorf("writer %d, statement %d: %w", w, k, err)
		}
		c.say("ack %d %d", w, k)
	}
}

// disturbNotes has rows sealed that wait, and tables altered that have some.
func disturbNotes(s *engine.Session, r *rand.Rand) error {
	for {
		table := fmt.Sprintf("t%d", r.IntN(noteTables))
		text := []string{
			"SELECT count(*) FROM " + table, "SELECT 1", "ALTER TABLE " + table + " ALTER COLUMN part SET DEFAULT " + strconv.Itoa(r.IntN(9)),
			"VACUUM " + table, "ALTER TABLE " + table + " ADD COLUMN IF NOT EXISTS more int", "ALTER TABLE " + table + " DROP COLUMN IF EXISTS more",
		}[r.IntN(6)]
		if _, err := s.Exec(context.Background(), text); err != nil && sqlerror.State(err) != "40001" {
			return fmt.Errorf("%s: %w", text, err)
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	}
}

// notesKilled runs children until they are killed, and knows what was acknowledged.
type notesKilled struct {
	t     *testing.T
	a     noteArguments
	kills int
}

func (n *notesKilled) one(point faults.Point, hit int, after time.Duration) {
	a := n.a
	a.Point, a.Hit = point.String(), hit
	p := spawn(n.t, "notes", a)
	timer := time.AfterFunc(time.Minute, func() { _ = p.process.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	if after < 0 { // while it starts
		timer.Reset(-after)
	}
	for line := range p.lines {
		word, rest, _ := strings.Cut(line, " ")
		var numbers [noteWriters]int
		for i, text := range strings.Fields(rest) {
			if word != "failed" && i < len(numbers) {
				numbers[i], _ = strconv.Atoi(text) // as the child has written it
			}
		}
		switch word {
		case "checked":
			n.a.Acked = numbers
			if after > 0 {
				timer.Reset(after)
			}
		case "ack":
			require.Equal(n.t, n.a.Acked[numbers[0]], numbers[1])
			n.a.Acked[numbers[0]]++
		default:
			require.FailNow(n.t, line, "%s %d, %v, seed %d\n%s", point, hit, after, a.Seed, p.stderr.String())
		}
	}
	p.wait()
	require.True(n.t, p.killed(), "%s %d, %v: %v\n%s", point, hit, after, p.process.ProcessState, p.stderr.String())
	n.kills++
}

// TestNotesOfManyWritersSurviveKills kills a node while eight sessions insert into many tables: at the points that a seal
// passes, and at any moment. Every row that was acknowledged is there, once (K16, GA1).
func TestNotesOfManyWritersSurviveKills(t *testing.T) {
	t.Parallel()
	n := &notesKilled{t: t, a: noteArguments{Directory: t.TempDir(), Seed: uint64(time.Now().UnixNano())}}
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		n.a.Seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("seed %d", n.a.Seed)
	r := rand.New(rand.NewPCG(n.a.Seed, 2))
	n.one(nowhere, 0, 200*time.Millisecond)
	points := []faults.Point{faults.CommitBegin, faults.CommitPublished, faults.CommitStored, faults.CommitVisible, faults.CommitDone}
	wanted, _ := strconv.Atoi(os.Getenv(killVariable)) // unset is 0
	start, effort := time.Now(), testsuite.Effort()
	enough, most := killsEnough*effort, killTime/2*time.Duration(effort)
	for n.kills < wanted || wanted == 0 && n.kills < enough && time.Since(start) < most {
		switch r.IntN(4) {
		case 0:
			n.one(points[n.kills%len(points)], 1+r.IntN(6), 10*time.Second)
		case 1:
			n.one(nowhere, 0, -time.Duration(50+r.IntN(400))*time.Millisecond)
		default:
			n.one(nowhere, 0, time.Duration(1+r.IntN(300))*time.Millisecond)
		}
	}
	n.one(nowhere, 0, time.Millisecond) // a last check
	total := 0
	for _, acked := range n.a.Acked {
		total += acked
	}
	require.Greater(t, total, 10*n.kills, "too few statements for this test to mean anything")
	t.Logf("%d kills, %d statements", n.kills, total)
}
