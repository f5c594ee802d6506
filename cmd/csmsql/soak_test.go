package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// soak is a cluster of processes under load that dies in parts and is healed, again and again:
//
//	seed ─► faults: kill, stop, continue, restart of nodes and etcd, one after the other
//	   ├──► writers: each changes the tables of its group, and reports to the model what is done, refused or in doubt
//	   └──► readers: every answer must be that of a world that the model holds for possible
type soak struct {
	t       *testing.T
	seed    uint64
	members *members
	groups  []*group
	ended   chan struct{}

	troubles  atomic.Int64 // odd: something is broken now
	calmSince atomic.Int64 // when that ended last, in nanoseconds
	answers   atomic.Int64

	mu      sync.Mutex
	faults  []error        // guarded by mu; whatever is wrong
	states  map[string]int // guarded by mu; errors that are to be expected, by SQLSTATE and whether it was calm
	last    error          // guarded by mu; the last one of them
	longest time.Duration  // guarded by mu
	slow    string         // guarded by mu; the statement that took longest
	begun   time.Time
}

// soakVariable: how long TestSoak goes on.
const soakVariable = "CSMSQL_SOAK"

// soakFor is how long a test goes on, short if nothing else is asked for, and by which random choices.
func soakFor(t *testing.T, short time.Duration) (duration time.Duration, seed uint64) {
	duration, seed = short, uint64(time.Now().UnixNano())%1_000_000
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		duration, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	return duration, seed
}

// TestSoak attacks the promises of docs/cluster.md with what happens to processes.
func TestSoak(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	duration, seed := soakFor(t, 20*time.Second)
	for _, way := range []struct {
		name     string
		embedded bool
		part     time.Duration
	}{{"etcd of its own", false, duration * 2 / 3}, {"etcd in a node", true, duration / 3}} {
		t.Run(way.name, func(t *testing.T) { newSoak(t, seed, way.embedded).run(way.part) })
	}
}

func newSoak(t *testing.T, seed uint64, embedded bool) *soak {
	s := &soak{t: t, seed: seed, ended: make(chan struct{}), states: map[string]int{}, begun: time.Now()}
	s.members = newMembers(t, 3, embedded, func(what string) { s.wrong(errors.New(what)) }, []string{"--repair-after", sessionTTL.String()}, nil)
	for i := range 3 {
		s.groups = append(s.groups, newGroup(fmt.Sprintf("g%d", i)))
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.lastWords())
		}
	})
	return s
}

// lastWords is what all processes said last.
func (s *soak) lastWords() string {
	var log strings.Builder
	for _, m := range s.members.all() {
		fmt.Fprintf(&log, "--- %s\n%s", m.name, m.output.String())
	}
	return log.String()
}

func (s *soak) run(duration time.Duration) {
	s.t.Logf("seed %d (CSMSQL_SEED=%[1]d CSMSQL_SOAK=%v)", s.seed, duration)
	require.NoError(s.t, s.members.heal())
	join := s.clients(2)
	done := s.breakThings(duration)
	close(s.ended)
	join()
	s.require()
	s.finish()
	s.t.Logf("%d answers right; %s; errors %v; the machine stood still or was crowded %d times; the slowest took %v: %s",
		s.answers.Load(), strings.Join(done, ", "), s.states, s.members.stalls.count.Load(), s.longest, s.slow)
	working := max(duration-time.Duration(s.members.stalls.lost.Load()), duration/10) // some must come all the same
	require.Greater(s.t, s.answers.Load(), int64(working.Seconds()), "too few answers for this test to mean anything")
}

// over reports whether the soak has ended: then its workers end.
func (s *soak) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return s.isWrong()
	}
}

func (s *soak) wrong(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fmt.Errorf("at %.3f s: %w", time.Since(s.begun).Seconds(), err))
}

func (s *soak) slowest(took time.Duration, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took > s.longest {
		s.longest, s.slow = took, what
	}
}

// lastError is the last one that a client got, and that was to be expected.
func (s *soak) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *soak) isWrong() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults) > 0
}

// require ends the test if anything is wrong.
func (s *soak) require() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return
	}
	require.FailNow(s.t, "a promise is broken", "seed %d: %v", s.seed, errors.Join(s.faults[:min(5, len(s.faults))]...))
}

// expected are the errors that a client may get while something is broken, and for a retry.
var expected = []string{
	"08000", "08003", "08006", "08007", // the connection, or the node's to the cluster
	"40001",                            // safe to retry
	"57P01", "57P02", "57P03", "57014", // the node ends, is out, cannot ask etcd; the caller gave up
	"58000", // the lender is not there
	"55000", // a placement names a node that is not there
}

// trouble is the state of the cluster, for failed.
func (s *soak) trouble() int64 { return s.troubles.Load() }

// redial is how long a node may take after etcd is back to dial it, which it tries twice a second, and to renew its session.
const redial = 2 * time.Second

// failed judges a statement that failed: it may while something is broken. When all is well it must not.
func (s *soak) failed(m *member, since int64, sql string, err error) {
	var sqlError interface{ SQLState() string } // of the frontend, or of the node's RPC
	state := "connection"
	if errors.As(err, &sqlError) {
		state = sqlError.SQLState()
	}
	calm := since%2 == 0 && s.trouble() == since && !errors.Is(err, errOld)
	if recent := time.Since(time.Unix(0, s.calmSince.Load())) < redial; recent && (state == "08006" || state == "57P03") {
		calm = false // a node that could not dial etcd tries again only after a while
	}
	calm = calm && !s.members.stalls.recent()
	if state != "connection" && !slices.Contains(expected, state) || calm && state != "40001" {
		s.wrong(fmt.Errorf("%s at %s failed, calm %v: %w", sql, m.name, calm, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = fmt.Errorf("%s at %s: %w", sql, m.name, err)
	if s.states[state]++; calm {
		s.states[state+" in calm"]++
	}
}

// pause is after an error, and ends with the soak.
func (w *worker) pause() { w.sleep(time.Duration(10+w.IntN(60)) * time.Millisecond) }

func (s *soak) sleep(d time.Duration) {
	select {
	case <-s.ended:
	case <-time.After(d):
	}
}

func (s *soak) awaitCalm() {
	for s.trouble()%2 == 1 && !s.over() {
		s.sleep(10 * time.Millisecond)
	}
}

// mishap is one thing that happens to a cluster.
type mishap struct {
	name string
	do   func(s *soak, r *rand.Rand)
}

func some(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

var mishaps = []mishap{
	{"kill", func(s *soak, r *rand.Rand) {
		s.node(r).kill()
		s.sleep(some(r, 0, sessionTTL+sessionTTL/2))
	}},
	{"stop for long", func(s *soak, r *rand.Rand) {
		s.node(r).stop()
		s.sleep(some(r, sessionTTL+sessionTTL/4, 2*sessionTTL))
	}},
	{"stop etcd", func(s *soak, r *rand.Rand) {
		s.store().stop()
		s.sleep(some(r, sessionTTL/8, 2*sessionTTL))
	}},
	{"kill etcd", func(s *soak, r *rand.Rand) {
		s.store().kill()
		s.sleep(some(r, 0, sessionTTL))
	}},
	{"stop a moment", func(s *soak, r *rand.Rand) {
		s.node(r).stop()
		s.sleep(some(r, 0, sessionTTL/2))
	}},
	{"terminate", func(s *soak, r *rand.Rand) {
		s.wrong(s.node(r).terminate())
		s.sleep(some(r, 0, sessionTTL/4))
	}},
	{"kill and stop", func(s *soak, r *rand.Rand) {
		first := r.IntN(len(s.members.nodes))
		s.members.nodes[first].kill()
		s.members.nodes[(first+1)%len(s.members.nodes)].stop()
		s.sleep(some(r, 0, sessionTTL*3/2))
	}},
	{"kill all", func(s *soak, r *rand.Rand) {
		for _, m := range s.members.all() {
			m.kill()
		}
	}},
	{"stop etcd for very long", func(s *soak, r *rand.Rand) {
		s.store().stop()
		s.sleep(some(r, 3*sessionTTL, 5*sessionTTL))
	}},
}

func (s *soak) node(r *rand.Rand) *member { return s.members.nodes[r.IntN(len(s.members.nodes))] }

// store is the process that runs etcd.
func (s *soak) store() *member {
	if s.members.etcd != nil {
		return s.members.etcd
	}
	return s.members.nodes[0]
}

// breakThings lets mishaps happen, each healed before the next, in an order by chance: all of them before any comes again.
func (s *soak) breakThings(duration time.Duration) (done []string) {
	r := rand.New(rand.NewPCG(s.seed, 1))
	var left []mishap
	for end := time.Now().Add(duration); time.Now().Before(end) && !s.over(); {
		if len(left) == 0 {
			left = slices.Clone(mishaps)
			r.Shuffle(len(left), func(i, k int) { left[i], left[k] = left[k], left[i] })
		}
		s.sleep(some(r, sessionTTL/8, sessionTTL))
		m := left[0]
		left = left[1:]
		s.troubles.Add(1)
		done = append(done, fmt.Sprintf("%s at %.1f s", m.name, time.Since(s.begun).Seconds()))
		m.do(s, r)
		s.wrong(s.members.heal())
		s.calmSince.Store(time.Now().UnixNano())
		s.troubles.Add(1)
	}
	return done
}

// untilAnswered does it again while that is no fault: a machine that does not run a node in time loses it its session.
func (w *worker) untilAnswered(do func() bool) {
	for end := time.Now().Add(patience); !do() && !w.isWrong(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.wrong(fmt.Errorf("no answer in %v; the last error was: %w", patience, w.lastError()))
			return
		}
	}
}

// finish looks at what is left when all is quiet: every node gives the same, right answers, and no memory is held for nothing. Then
// everything is dropped, and nothing is held.
func (s *soak) finish() {
	w := s.worker(1)
	w.split = []string{"always"}
	defer w.close()
	for _, g := range s.groups {
		g.settled()
	}
	split := 0
	for _, m := range s.members.nodes {
		for _, g := range s.groups {
			for _, q := range questions {
				w.untilAnswered(func() bool { return w.question(g, m, q) })
			}
			w.untilAnswered(func() bool { return w.tellApart(g, m) })
		}
		var rows []string
		w.untilAnswered(func() bool {
			const asked = "SELECT count(*) FROM csm.queries WHERE fragments > 0"
			since := w.trouble()
			list, _, err := w.ask(m, false, asked)
			if rows = list; err != nil {
				w.failed(m, since, asked, err)
			}
			return err == nil
		})
		s.require() // what went wrong before says more
		n, err := strconv.Atoi(rows[0])
		require.NoError(s.t, err)
		split += n
	}
	s.require()
	for _, g := range s.groups {
		require.Len(s.t, g.worlds(), 1, "what was in doubt is settled by looking")
	}
	require.Positive(s.t, split, "no query was split")
	s.requireSpace(w)
	for _, g := range s.groups {
		for _, name := range g.tables {
			w.untilAnswered(func() bool {
				drop := "DROP TABLE IF EXISTS " + name
				since := w.trouble()
				_, _, err := w.ask(s.members.nodes[0], false, drop)
				if err != nil {
					w.failed(s.members.nodes[0], since, drop, err)
				}
				return err == nil
			})
		}
	}
	s.requireSpace(w)
	for _, m := range s.members.nodes {
		used, _ := m.used(s.t)
		require.Zero(s.t, used, m.name)
		require.Empty(s.t, m.complaints(), m.name)
	}
	for _, m := range slices.Backward(s.members.all()) {
		require.NoError(s.t, m.terminate())
	}
}

// requireSpace: each region holds what the catalog has there, once what is on its way has arrived, and the used bytes
// are those of the versions, to the byte: there is no other holder, and nothing is unowned.
func (s *soak) requireSpace(w *worker) {
	for i, m := range s.members.nodes {
		for end := time.Now().Add(patience / 2); ; time.Sleep(50 * time.Millisecond) {
			rows, _, err := w.ask(m, false, fmt.Sprintf("SELECT coalesce(sum(bytes), 0)::BIGINT FROM csm.regions WHERE node = 'n%d'", i))
			used, holders := m.used(s.t)
			held, only := versionsOnly(holders)
			if err == nil && fmt.Sprint(used) == rows[0] && held == used && only {
				break
			}
			if time.Now().After(end) {
				require.NoError(s.t, err)
				nodes, _, _ := w.ask(m, false, "SELECT name || ' ' || state || ' reads revision ' || oldest_revision FROM csm.nodes")
				tables, _, _ := w.ask(m, false, "SELECT name || ' version ' || version || ': ' || bytes || ' bytes at ' || nodes FROM csm.tables")
				require.FailNow(s.t, "memory is held for nothing", "%s: %d bytes are used, its chunks have %s, it is held by %+v; %q; %q",
					m.name, used, rows[0], holders, nodes, tables)
			}
		}
	}
}
