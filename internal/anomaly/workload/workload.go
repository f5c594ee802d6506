package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/internal/anomaly"
)

// Session is one conversation with the database.
type Session interface {
	// Query runs a statement and gives its rows, NULL as an empty text.
	Query(ctx context.Context, sql string) (rows [][]string, err error)
	Close()
}

// Options say where a workload runs.
type Options struct {
	Seed    uint64
	Clients int
	// Open begins a session for a client. The clients' settings are its own.
	Open func(ctx context.Context, client int) (Session, error)
	// With is what follows CREATE TABLE of a table, or "".
	With func(*rand.Rand) string
	// Beside are statements that clients run now and then. They change nothing that a client may see. They may
	// conflict.
	Beside []string
	// Unanswered reports whether an error leaves the outcome of the statement unknown. Nil: none does.
	Unanswered func(error) bool
}

// Workload is one run. Its methods except Stop are for one goroutine.
type Workload struct {
	options Options
	clock   atomic.Int64
	objects *objects
	clients []*client
	stopped atomic.Bool

	mu      sync.Mutex
	history anomaly.History // guarded by mu
	states  map[string]int  // guarded by mu; errors that were fair, by SQLSTATE
	wrong   []error         // guarded by mu
}

// keys is how many objects each table has.
const keys = 200

// New makes the tables of a workload, in the place of a former one's.
func New(ctx context.Context, o Options) (*Workload, error) {
	random := rand.New(rand.NewPCG(o.Seed, 0))
	w := &Workload{options: o, states: map[string]int{}, objects: newObjects()}
	s, err := o.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for _, t := range tables {
		with := ""
		if o.With != nil {
			with = o.With(random)
		}
		statements := []string{
			"DROP TABLE IF EXISTS " + t.name, fmt.Sprintf("CREATE TABLE %s (%s) %s", t.name, t.columns, with),
		}
		if t.fill != nil {
			statements = append(statements, t.fill(keys))
		}
		for _, sql := range statements {
			if _, err := s.Query(ctx, sql); err != nil {
				return nil, fmt.Errorf("%s: %w", sql, err)
			}
		}
	}
	for i := range o.Clients {
		w.clients = append(w.clients, &client{
			Workload: w, number: i, Rand: rand.New(rand.NewPCG(o.Seed, uint64(i)+1)),
		})
	}
	return w, nil
}

// Concurrent has all clients run transactions at the same time: so many each, or until Stop, or until an error.
func (w *Workload) Concurrent(ctx context.Context, transactions int) {
	var group sync.WaitGroup
	for _, c := range w.clients {
		group.Go(func() {
			for range transactions {
				for c.begin(); len(c.plan) > 0; {
					c.step(ctx)
				}
				if w.stopped.Load() || w.failed() {
					return
				}
			}
		})
	}
	group.Wait()
}

// Stop has Concurrent return when the clients' transactions have ended.
func (w *Workload) Stop() { w.stopped.Store(true) }

// Interleaved runs so many statements, one after the other; the seed decides whose is next. No statement may wait for
// another transaction: sessions have a short lock_timeout.
func (w *Workload) Interleaved(ctx context.Context, statements int) {
	random := rand.New(rand.NewPCG(w.options.Seed, 1<<32))
	for range statements {
		c := w.clients[random.IntN(len(w.clients))]
		if len(c.plan) == 0 {
			c.begin()
		}
		c.step(ctx)
		if w.failed() {
			return
		}
	}
	for _, c := range w.clients {
		for len(c.plan) > 0 && !w.failed() {
			c.step(ctx)
		}
	}
}

// Look has every client read all objects that have values, at the end, so that no loss is missed.
func (w *Workload) Look(ctx context.Context) {
	for _, c := range w.clients {
		c.look(ctx, w.objects.used())
	}
}

// Close ends all sessions.
func (w *Workload) Close() {
	for _, c := range w.clients {
		c.leave()
	}
}

// Check returns what is wrong with the answers, or nil: errors that are none of conflicts, and anomalies.
func (w *Workload) Check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrong) > 0 {
		return errors.Join(w.wrong[:min(len(w.wrong), shownMost)]...)
	}
	found, err := anomaly.Check(w.history, anomaly.Options{Set: isSet, RealTime: true, EveryRead: true})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	counts := map[anomaly.Kind]int{}
	var b strings.Builder
	for _, a := range found { // the first one of each kind
		if counts[a.Kind]++; counts[a.Kind] == 1 && len(counts) <= shownMost {
			b.WriteString(a.String())
		}
	}
	return fmt.Errorf("anomalies in %d transactions: %v\n%s", len(w.history), counts, b.String())
}

// shownMost is how many errors, and kinds of anomalies, are shown.
const shownMost = 5

// Counts is what a run did, so that tests can check that it could have shown something.
type Counts struct {
	Transactions map[anomaly.Outcome]int
	Appended     map[string]int // by table, of committed transactions
	Values       int            // that were read
	States       map[string]int // errors that were fair, by SQLSTATE
}

// Counts counts what was answered so far.
func (w *Workload) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := Counts{Transactions: map[anomaly.Outcome]int{}, Appended: map[string]int{}, States: maps.Clone(w.states)}
	for _, t := range w.history {
		c.Transactions[t.Outcome]++
		for _, s := range t.Statements {
			for _, o := range s.Operations {
				c.Values += len(o.Values)
				name, _, _ := strings.Cut(string(o.Key), "/")
				if o.Append && !o.Undone && t.Outcome == anomaly.Committed {
					c.Appended[name]++
				}
			}
		}
	}
	return c
}

// Add adds what another run was.
func (c *Counts) Add(other Counts) {
	if c.Transactions == nil {
		*c = Counts{Transactions: map[anomaly.Outcome]int{}, Appended: map[string]int{}, States: map[string]int{}}
	}
	for outcome, n := range other.Transactions {
		c.Transactions[outcome] += n
	}
	for name, n := range other.Appended {
		c.Appended[name] += n
	}
	for state, n := range other.States {
		c.States[state] += n
	}
	c.Values += other.Values
}

func (c Counts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Appended)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.Appended[name], name))
	}
	return fmt.Sprintf("%d transactions committed, %d aborted, %d unknown; %s; %d values read; errors %v",
		c.Transactions[anomaly.Committed], c.Transactions[anomaly.Aborted], c.Transactions[anomaly.Unknown],
		strings.Join(parts, ", "), c.Values, c.States)
}

// Tables are the names of the tables.
func Tables() (names []string) {
	for _, t := range tables {
		names = append(names, t.name)
	}
	return names
}

func (w *Workload) now() anomaly.Moment { return anomaly.Moment(w.clock.Add(1)) }

func (w *Workload) record(t anomaly.Transaction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, t)
}

func (w *Workload) fair(state string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[state]++
}

func (w *Workload) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, err)
}

func (w *Workload) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wrong) > 0
}

// objects hands out values: those of a few keys of each table at a time, so that transactions meet.
type objects struct {
	mu    sync.Mutex
	first map[*table]int // guarded by mu; the first key that takes values
	next  map[object]int // guarded by mu; the last value
}

// inUse is how many keys of a table take values at a time.
const inUse = 3

func newObjects() *objects {
	return &objects{first: map[*table]int{}, next: map[object]int{}}
}

// choose is an object that takes values.
func (o *objects) choose(r *rand.Rand, t *table) object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return object{t, (o.first[t] + r.IntN(inUse)) % keys}
}

// value is a new one of the object; 0: it has them all.
func (o *objects) value(one object) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.next[one] >= valuesMost {
		return 0
	}
	o.next[one]++
	for o.next[object{one.table, o.first[one.table]}] >= valuesMost && o.first[one.table] < keys-inUse {
		o.first[one.table]++
	}
	return o.next[one]
}

func (o *objects) used() (list []object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range tables {
		for key := range keys {
			if o.next[object{t, key}] > 0 {
				list = append(list, object{t, key})
			}
		}
	}
	return list
}
