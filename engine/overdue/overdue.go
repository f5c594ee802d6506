package overdue

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Statement is one that is overdue.
type Statement struct {
	Session    uint32 // the number of its session
	User, Text string
	Since      time.Time // when it began
	Reason     string    // that its client has received
}

// Places are where overdue statements are. Safe for concurrent use.
type Places struct {
	taken chan struct{} // a token for each place that is taken

	mu    sync.Mutex
	list  map[*Statement]struct{} // guarded by mu
	total uint64                  // guarded by mu
}

// Most bounds the statements that go on though their clients were answered. Each has a thread; what it has of DuckDB's
// memory is bounded with all else.
const Most = 64

// New makes so many places.
func New(most int) *Places {
	return &Places{taken: make(chan struct{}, most), list: map[*Statement]struct{}{}}
}

// Door takes what is sent when a place is free. The sender calls Leave or Put.
func (p *Places) Door() chan<- struct{} { return p.taken }

// Leave gives back a place that nothing was put at.
func (p *Places) Leave() { <-p.taken }

// Put lists a statement at a place that was taken. Call gone when it has ended, once.
func (p *Places) Put(s Statement) (gone func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list[&s] = struct{}{}
	p.total++
	return func() {
		p.mu.Lock()
		delete(p.list, &s)
		p.mu.Unlock()
		p.Leave()
	}
}

// List is all of them, the oldest first.
func (p *Places) List() []Statement {
	p.mu.Lock()
	list := make([]Statement, 0, len(p.list))
	for s := range p.list {
		list = append(list, *s)
	}
	p.mu.Unlock()
	slices.SortFunc(list, func(a, b Statement) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Session, b.Session)) })
	return list
}

// Usage is how many there are, may be, and have been.
type Usage struct {
	Now, Most int
	Total     uint64
}

// Usage counts.
func (p *Places) Usage() Usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Usage{len(p.list), cap(p.taken), p.total}
}
