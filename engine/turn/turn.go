package turn

import (
	"container/heap"
	"context"
	"sync"
)

// Queue is where flows wait. Safe for concurrent use.
type Queue struct {
	places int // immutable

	mu      sync.Mutex
	inside  int    // guarded by mu
	now     int64  // guarded by mu; the tag of who was let in last
	arrived uint64 // guarded by mu; how many have waited
	waiting line   // guarded by mu
}

// Flow is who enters again and again.
type Flow struct {
	queue *Queue
	tag   int64 // guarded by queue.mu; of its last entry
}

// entry is one that waits.
type entry struct {
	tag   int64
	order uint64 // of arrival
	at    int    // in the line; -1: it was let in
	in    chan struct{}
}

// NewQueue makes a queue with places, at least one.
func NewQueue(places int) *Queue { return &Queue{places: max(places, 1)} }

// Flow adds one.
func (q *Queue) Flow() *Flow { return &Flow{queue: q} }

// Enter waits for a place for work of a cost. Call leave when it is done, once. The error is the context's cause.
func (f *Flow) Enter(ctx context.Context, cost int64) (leave func(), err error) {
	q := f.queue
	e := q.arrive(f, cost)
	if e == nil {
		return q.leave, nil
	}
	select {
	case <-e.in:
		return q.leave, nil
	case <-ctx.Done():
		q.giveUp(e)
		return nil, context.Cause(ctx)
	}
}

// arrive lets in, or gives the entry that waits.
func (q *Queue) arrive(f *Flow, cost int64) *entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.tag = max(f.tag, q.now) + cost
	if q.inside < q.places { // and so nobody waits (T2)
		q.inside++
		q.now = max(q.now, f.tag-cost)
		return nil
	}
	q.arrived++
	e := &entry{tag: f.tag, order: q.arrived, in: make(chan struct{})}
	heap.Push(&q.waiting, e)
	return e
}

func (q *Queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inside--
	q.admit()
}

// admit lets the next one in. Preconditions: mu is held.
func (q *Queue) admit() {
	if q.inside == q.places || len(q.waiting) == 0 {
		return
	}
	e := heap.Pop(&q.waiting).(*entry)
	q.inside++
	q.now = max(q.now, e.tag)
	close(e.in)
}

// giveUp is for an entry that does not wait any more; it may have been let in meanwhile.
func (q *Queue) giveUp(e *entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.at >= 0 {
		heap.Remove(&q.waiting, e.at)
		return
	}
	q.inside--
	q.admit()
}

// Waiting is how many wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// line is a heap by tag.
type line []*entry

func (l line) Len() int { return len(l) }

func (l line) Less(i, j int) bool {
	return l[i].tag < l[j].tag || l[i].tag == l[j].tag && l[i].order < l[j].order
}

func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].at, l[j].at = i, j
}

// Push implements heap.Interface.
func (l *line) Push(x any) {
	e := x.(*entry)
	e.at = len(*l)
	*l = append(*l, e)
}

// Pop implements heap.Interface.
func (l *line) Pop() any {
	last := (*l)[len(*l)-1]
	(*l)[len(*l)-1] = nil
	*l = (*l)[:len(*l)-1]
	last.at = -1
	return last
}
