package turn

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

// stretch is how many times as long as it works a turn may have taken before it goes before all that come later.
const stretch = 100

// Lane says how long turns of it take, and how many there are at once. The last lane's take any time.
type Lane struct {
	Most   time.Duration
	Places int
}

// Clock is where time comes from.
type Clock struct {
	// Now is the time, and Used how much of it the calling thread has had a processor.
	Now  func() time.Time
	Used func() time.Duration
}

// Queue is where flows wait. Safe for concurrent use.
type Queue struct {
	clock Clock   // immutable
	lanes []*lane // immutable; those of short turns first

	mu      sync.Mutex
	arrived uint64 // guarded by mu; how many have waited
}

// lane is guarded by the queue's mu, except its measures.
type lane struct {
	Lane
	inside  []*Flow // that have its places
	waiting line
}

// Flow is a session, which enters again and again. It is used by one goroutine at a time, except Abandon.
type Flow struct {
	queue *Queue
	in    chan struct{} // has a token once the turn was let in

	// The rest is guarded by queue.mu.
	usual  time.Duration // of its turns
	depth  int           // of turns within one another: the outermost counts
	on     int           // which lane
	inside bool          // of it
	paused bool
	since  time.Time     // when it entered, or resumed
	from   time.Duration // what its thread had used then
	worked time.Duration // before

	due   time.Time
	order uint64 // of arrival
	at    int    // in the line; -1: it does not wait
}

// NewQueue makes a queue with lanes, the shortest turns' first.
func NewQueue(clock Clock, lanes ...Lane) *Queue {
	q := &Queue{clock: clock}
	for _, l := range lanes {
		l.Places = max(l.Places, 1)
		q.lanes = append(q.lanes, &lane{Lane: l})
	}
	return q
}

// Flow adds one.
func (q *Queue) Flow() *Flow { return &Flow{queue: q, at: -1, in: make(chan struct{}, 1)} }

func (f *Flow) lane() *lane { return f.queue.lanes[f.on] }

// last reports whether the flow is in the lane whose turns may take any time.
func (f *Flow) last() bool { return f.on == len(f.queue.lanes)-1 }

// Enter waits for a place for a turn, which is expected to take a time at least. Call Leave when it is over. Within a
// turn it waits for nothing. The error is the context's cause.
func (f *Flow) Enter(ctx context.Context, atLeast time.Duration) error {
	look := f.arrive(atLeast)
	if look == 0 {
		return nil
	}
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		select {
		case <-f.in:
			f.begin()
			return nil
		case <-ctx.Done():
			f.giveUp()
			return context.Cause(ctx)
		case <-again.C:
			f.queue.moveOn()
		}
	}
}

// seldom is after how long a turn looks again that waits for turns of any length.
const seldom = time.Hour

// arrive lets the turn in: 0; or has it wait, and says when to look whether others must have moved on.
func (f *Flow) arrive(atLeast time.Duration) (look time.Duration) {
	q := f.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if f.depth++; f.depth > 1 {
		return 0
	}
	expected := max(f.usual, atLeast)
	f.worked, f.on = 0, 0
	for !f.last() && expected > f.lane().Most {
		f.on++
	}
	now, l := q.clock.Now(), f.lane()
	if len(l.inside) < l.Places { // and so no turn waits (T2)
		f.enter(now)
		f.from = q.clock.Used()
		return 0
	}
	q.arrived++
	f.due, f.order = now.Add(stretch*expected), q.arrived
	heap.Push(&l.waiting, f)
	if f.last() {
		return seldom
	}
	return l.Most
}

// begin is for a flow that another one has let in.
func (f *Flow) begin() {
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.from = f.queue.clock.Used()
}

// enter takes a place. Preconditions: mu is held, also for the following.
func (f *Flow) enter(now time.Time) {
	l := f.lane()
	f.inside, f.since = true, now
	l.inside = append(l.inside, f)
}

func (f *Flow) leave() {
	l := f.lane()
	i := slices.Index(l.inside, f)
	l.inside = slices.Delete(l.inside, i, i+1)
	f.inside = false
}

// admit lets the next turns in.
func (l *lane) admit(now time.Time) {
	for len(l.inside) < l.Places && len(l.waiting) > 0 {
		f := heap.Pop(&l.waiting).(*Flow)
		f.enter(now)
		f.in <- struct{}{}
	}
}

// moveOn has turns that have been in a lane for longer than its turns take go to the next one (T4).
func (q *Queue) moveOn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for _, l := range q.lanes[:len(q.lanes)-1] {
		for i := len(l.inside) - 1; i >= 0; i-- {
			if f := l.inside[i]; now.Sub(f.since) >= l.Most {
				since := f.since
				f.leave()
				f.on++
				f.enter(since)
			}
		}
		l.admit(now)
	}
}

// Leave ends the turn.
func (f *Flow) Leave() {
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	if f.depth--; f.depth > 0 {
		return
	}
	f.giveBack()
	f.paused = false
	f.usual = (3*f.usual + f.worked) / 4
}

// giveBack gives the flow's place to the next one, if it has one. A turn that another goroutine ends, whose thread has
// used something else, has worked no longer than it was there.
func (f *Flow) giveBack() {
	if !f.inside {
		return
	}
	now := f.queue.clock.Now()
	f.worked += min(max(f.queue.clock.Used()-f.from, 0), now.Sub(f.since))
	f.leave()
	f.lane().admit(now)
}

// Pause gives the place back while the flow waits for something within its turn, until Resume, which waits for nothing.
// Outside of a turn both do nothing.
func (f *Flow) Pause() {
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.paused = f.inside
	f.giveBack()
}

// Resume is the end of Pause.
func (f *Flow) Resume() {
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	if f.paused {
		f.enter(f.queue.clock.Now())
		f.from, f.paused = f.queue.clock.Used(), false
	}
}

// Abandon has a turn that goes on count no more. Any goroutine may call it, at any time.
func (f *Flow) Abandon() {
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.giveBack()
	f.paused = false
}

// giveUp is for a turn that does not wait any more; it may have been let in meanwhile, and have been abandoned since.
func (f *Flow) giveUp() {
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.depth--
	if f.at >= 0 {
		heap.Remove(&f.lane().waiting, f.at)
		return
	}
	<-f.in
	if f.inside {
		f.leave()
		f.lane().admit(f.queue.clock.Now())
	}
}

// Waiting is how many wait.
func (q *Queue) Waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lanes {
		n += len(l.waiting)
	}
	return n
}

// line is a heap by when its flows are due.
type line []*Flow

func (l line) Len() int { return len(l) }

func (l line) Less(i, j int) bool {
	return l[i].due.Before(l[j].due) || l[i].due.Equal(l[j].due) && l[i].order < l[j].order
}

func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].at, l[j].at = i, j
}

// Push implements heap.Interface.
func (l *line) Push(x any) {
	f := x.(*Flow)
	f.at = len(*l)
	*l = append(*l, f)
}

// Pop implements heap.Interface.
func (l *line) Pop() any {
	last := (*l)[len(*l)-1]
	(*l)[len(*l)-1] = nil
	*l = (*l)[:len(*l)-1]
	last.at = -1
	return last
}
