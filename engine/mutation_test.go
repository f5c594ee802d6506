package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// No step of the protocol is there for nothing, seen from SQL: a step is left out, everything else is done, and a query gives a wrong answer. Package
// coherence does it with all steps (coherence/table_test.go); this is a sample. No checksum is compared, or it would notice some of them.

// spoiler stands between the protocol of one node and its caches.
type spoiler struct {
	mu       sync.Mutex
	mutation string
	stores   bool            // the last fence was a store fence: a writer's clean or abort follows
	flushed  bool            // and the last flush has no fence behind it yet
	count    map[uintptr]int // flushes that began with a full fence, by address
	spoiled  int
	early    bool // what is flushed now is flushed before the write, as the papers have it
	late     []func()
	// beside is what two extents in one line lead to: who writes one back, writes the other one back.
	beside func(b []byte)
}

// zeroes is the mutation that leaves out what the lender does before memory goes to another node, or ahead of that.
const zeroes = "lender's zeroes not flushed before a foreign grant"

// spoiledLines are those of one use.
type spoiledLines struct {
	coherence.Lines
	use     string
	spoiler *spoiler
}

func (s *spoiler) set(mutation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mutation, s.spoiled, s.count = mutation, 0, map[uintptr]int{}
}

// spoils is how often it has.
func (s *spoiler) spoils() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spoiled
}

// spoil notes what was spoiled elsewhere.
func (s *spoiler) spoil() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoiled++
}

// idles reports whether what the lender would drop ahead is left as it is: where the mutation says so, and where its
// flushes and fences, which come at any time, might do what is left out. Requires mu.
func (s *spoiler) idles() bool {
	return s.mutation == zeroes || strings.HasPrefix(s.mutation, "no fence")
}

// before runs flushes that the papers do and the protocol does not.
func (s *spoiler) before(flushes func()) {
	set := func(early bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.early = early
	}
	set(true)
	defer set(false)
	flushes()
}

// flushLate does what was put off until everybody had read.
func (s *spoiler) flushLate() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, flush := range late {
		flush()
	}
}

func (l *spoiledLines) Flush(b []byte) int {
	s := l.spoiler
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early || l.use == "ahead" && !s.idles() {
		return l.Lines.Flush(b)
	}
	if l.use == "ahead" {
		s.spoiled++
		return len(b) / 64
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if !s.stores {
		s.count[at]++
	}
	s.flushed = true
	const line = 128
	spoil := false
	switch l.use + ": " + s.mutation {
	case "home: no writer flush", "borrowing: no writer flush", "borrowing: an aborted writer's dirty lines survive":
		spoil = s.stores
	case "reader: no reader flush", "reader: the papers' own order", "reader: reader flushes only before the write":
		spoil = true
	case "home: two extents in one line":
		if s.stores {
			s.spoiled++
			s.mu.Unlock() // it takes the region's, under which others flush
			s.beside(b)
			s.mu.Lock()
		}
	case "home: publish before flush":
		if spoil = s.stores; spoil {
			s.late = append(s.late, func() { l.Lines.Flush(b); l.Lines.FenceFull() })
		}
	case "reader: acquire remembered by address":
		spoil = s.count[at] > 1
	case "home: " + zeroes:
		spoil = !s.stores && s.count[at] == 1
	case "home: home not flushed", "home: home flushed before the writer's flush":
		spoil = !s.stores && s.count[at] > 1
	case "home: home's range one line short":
		if spoil = !s.stores && s.count[at] > 1 && len(b) > line; spoil {
			l.Lines.Flush(b[line:])
		}
	case "home: writer's range one line short", "borrowing: writer's range one line short":
		if spoil = s.stores && len(b) > line; spoil {
			l.Lines.Flush(b[line:])
		}
	case "reader: reader's range one line short":
		if spoil = len(b) > line; spoil {
			l.Lines.Flush(b[line:])
		}
	}
	if spoil {
		s.spoiled++
		return len(b) / 64
	}
	return l.Lines.Flush(b)
}

func (l *spoiledLines) FenceStore() {
	l.spoiler.mu.Lock()
	defer l.spoiler.mu.Unlock()
	if l.use != "ahead" {
		l.spoiler.stores = true
	}
	l.Lines.FenceStore()
}

func (l *spoiledLines) FenceFull() {
	s := l.spoiler
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.use == "ahead" {
		if !s.idles() {
			l.Lines.FenceFull()
		}
		return
	}
	behind := s.flushed && !s.early
	spoil := behind && (s.mutation == "no fence before publish" && s.stores && (l.use == "home" || l.use == "borrowing") ||
		s.mutation == "no fence between reader flush and load" && l.use == "reader")
	s.stores, s.flushed = false, false
	switch {
	case !spoil:
		l.Lines.FenceFull()
	case s.mutation == "no fence between reader flush and load":
		l.Lines.FenceStore() // which does not order loads
		fallthrough
	default:
		s.spoiled++
	}
}

// spoiledCluster are two nodes of which all steps can be spoiled. Those of the first one are from the beginning, if there is a mutation.
func spoiledCluster(t *testing.T, fabric memregion.FabricKind, mutation string) (c *cluster, spoilers []*spoiler) {
	for range 2 {
		spoilers = append(spoilers, &spoiler{count: map[uintptr]int{}})
	}
	spoilers[0].mutation = mutation
	return startCluster(&cluster{t: t, change: func(i int, config *engine.Config) {
		config.Fabric, config.Cluster.SessionTTL = fabric, time.Minute // nobody is given up here
		config.Spoil(func(use string, lines coherence.Lines) coherence.Lines {
			return &spoiledLines{Lines: lines, use: use, spoiler: spoilers[i]}
		})
	}}, 2), spoilers
}

const mutatedRows = 20_000

// written makes the table m at a node, in the memory of n0; no two tables have a value in common.
func written(t *testing.T, s *engine.Session, round int) (sum string) {
	first := (round + 1) * 1_000_000
	exec(t, s, fmt.Sprintf("CREATE OR REPLACE TABLE m WITH (placement = 'node(n0)') AS SELECT range + %d AS a FROM range(%d)", first, mutatedRows))
	return fmt.Sprint(mutatedRows*first + mutatedRows*(mutatedRows-1)/2)
}

// abort gives a grant of n0's memory back that a node has written.
func abort(t *testing.T, c *cluster, writer int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.onFault(func(node int, point faults.Point) {
		if node == writer && point == faults.BorrowWritten {
			cancel()
		}
	})
	_, err := c.session(writer).Exec(ctx, fmt.Sprintf("CREATE TABLE never WITH (placement = 'node(n0)') AS SELECT range AS a FROM range(%d)", mutatedRows))
	require.Error(t, err)
	c.onFault(func(int, faults.Point) {})
}

func TestMutationsThroughSQL(t *testing.T) {
	const lender, other = 0, 1
	mutations := map[memregion.FabricKind][]struct {
		name                    string
		spoiled, writer, reader int
	}{
		"emulated:11": {
			{"no writer flush", lender, lender, other},
			{"no writer flush", other, other, lender},
			{"no fence before publish", lender, lender, other},
			{"no reader flush", other, lender, other},
			{"the papers' own order", other, lender, other},
			{"no fence between reader flush and load", other, lender, other},
			{"acquire remembered by address", other, lender, other},
			{zeroes, lender, other, other},
			{"an aborted writer's dirty lines survive", other, lender, other},
			{"writer's range one line short", lender, lender, other},
			{"writer's range one line short", other, other, lender},
			{"no fence before publish", other, other, lender},
			{"publish before flush", lender, lender, other},
			{"reader flushes only before the write", other, lender, other},
			{"a store into a sealed line", lender, lender, other},
			{"reader's range one line short", other, lender, other},
			{"two extents in one line", lender, other, other},
		},
		"emulated:12,home-snoop,128": {
			{"home not flushed", lender, other, other},
			{"home flushed before the writer's flush", lender, other, other},
			{"home's range one line short", lender, other, other},
			{"no reader flush", other, other, other},
			{"a store into a sealed line", lender, lender, other}, // and not two extents in one line: the home clean drops what the lender would write back
		},
	}
	late := map[string]int{zeroes: 200, "an aborted writer's dirty lines survive": 200}
	for fabric, list := range mutations {
		t.Run(string(fabric), func(t *testing.T) {
			t.Parallel()
			c, spoilers := spoiledCluster(t, fabric, "")
			round := 0
			// play writes and reads a table once or, where only another writing of the same memory shows, some times: is
			// each answer right? Memory comes back when all nodes have told that they are done with it, which may take
			// longer than any number of rounds.
			play := func(name string, writer, reader int) bool {
				for i, begun := 0, time.Now(); i < 2 || name != "" && time.Since(begun) < 30*time.Second; i++ {
					round++
					if name == "an aborted writer's dirty lines survive" {
						abort(t, c, other)
					}
					for i, e := range c.nodes { // caches, before the write
						if name == "the papers' own order" || name == "reader flushes only before the write" && i == reader || name == "home flushed before the writer's flush" && i == lender {
							spoilers[i].before(e.DropAll)
						}
					}
					want := written(t, c.session(writer), round)
					for range late[name] { // what is written back late does harm here; elsewhere it would mend what was left out
						c.nodes[lender].Disturb()
						c.nodes[other].Disturb()
					}
					if name == "two extents in one line" { // the lender's own come to lie beside the table's
						exec(t, c.session(lender), "CREATE OR REPLACE TABLE k WITH (placement = 'node(n0)') AS SELECT range AS a FROM range(1000)")
					}
					if name == "a store into a sealed line" {
						require.NoError(t, c.nodes[lender].Scribble(t.Context(), "public.m"))
						spoilers[lender].spoil()
						spoilers[lender].before(c.nodes[lender].DropAll) // the line is evicted
					}
					got := rows(t, c.session(reader), "SELECT sum(a)::VARCHAR FROM m")[0]
					spoilers[lender].flushLate()
					if got != want {
						return false
					}
				}
				return true
			}
			for _, m := range list {
				if raceDetector && m.name == "a store into a sealed line" {
					continue // it goes to the cache's file
				}
				if raceDetector && strings.Contains(string(fabric), "home-snoop") && m.name == "no reader flush" {
					continue // caches lie on the heap then, where no lender's cache answers: what a writer has dropped it finds as it left it
				}
				require.True(t, play("", m.writer, m.reader), "nothing is left out, before: %s", m.name)
				if m.name == zeroes { // which are flushed once, and soon: who begins to leave that out later finds none
					c, spoilers = spoiledCluster(t, fabric, m.name)
				}
				s := spoilers[m.spoiled]
				s.beside = func(b []byte) {
					if err := c.nodes[lender].WriteBackBeside(b); err != nil {
						t.Error(err)
					}
				}
				if m.name != zeroes {
					s.set(m.name)
				}
				right := play(m.name, m.writer, m.reader)
				spoiled := s.spoils()
				s.set("")
				require.Positive(t, spoiled, m.name)
				require.False(t, right, "%s: every answer is right", m.name)
				for _, e := range c.nodes {
					e.DropAll()
				}
			}
		})
	}
}
