package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Options of a pool.
type Options struct {
	// Count is how many workers there are.
	Count int
	// Command starts one, with its arguments; Environment are variables that it has beside the node's.
	Command     []string
	Environment []string
	// Start gives what the Handler of the worker in a slot, from 0, is started with.
	Start func(slot int) ([]byte, error)
	// Grace is how long a worker has to end a statement that is not wanted any more; 0: GraceDefault.
	Grace time.Duration
	// Lot is where results are accounted for that stand in the way of others.
	Lot Lot
	Log *slog.Logger
}

// GraceDefault leaves DuckDB time to hear of an interruption, and its client's next statement not much to wait for.
const GraceDefault = 80 * time.Millisecond

const (
	// pauseLeast and pauseMost are before a worker is started again that did not come up, or ended before it was
	// given anything.
	pauseLeast, pauseMost = 100 * time.Millisecond, 5 * time.Second
	// failuresMost are starts in a row that fail before statements hear of it, instead of waiting.
	failuresMost = 3
	// startMost is how long one may take to come up.
	startMost = 60 * time.Second
	// stallMost is how long a result may keep a worker waiting for which others wait.
	stallMost = 200 * time.Millisecond
	// loggedText is what is logged of a statement that crashed.
	loggedText = 2000
)

// Pool keeps workers and gives statements to them. Safe for concurrent use.
type Pool struct {
	options Options
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	keepers sync.WaitGroup
	ends    sync.WaitGroup // of Results

	mu       sync.Mutex // guards the rest
	slots    []slotState
	idle     []*process // the one that was used last at the end: its caches are warm
	waiting  []chan *process
	failures int   // starts in a row
	failed   error // the last of them
}

// slotState is one worker's place, whichever process has it.
type slotState struct {
	process        *process // nil: it is being started
	result         *Result  // nil: it is idle
	crashes, kills int64
	statements     int64 // of former processes
}

// Status is one worker.
type Status struct {
	Process int // 0: it is being started
	Started time.Time
	Busy    bool
	// Statements were given to it and its predecessors. Crashes and Kills are how its predecessors ended: by
	// themselves, or because they did not end a statement that was cancelled.
	Statements, Crashes, Kills int64
}

// Open starts a pool. Workers come up in the background.
func Open(o Options) *Pool {
	if o.Grace == 0 {
		o.Grace = GraceDefault
	}
	p := &Pool{options: o, slots: make([]slotState, o.Count)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for i := range p.slots {
		p.keepers.Go(func() { p.keep(i) })
	}
	return p
}

// Close ends all workers and what they run, and returns when they are gone.
func (p *Pool) Close() {
	p.stop()
	p.keepers.Wait()
	p.ends.Wait()
}

// keep has a worker in a slot until the pool is closed.
func (p *Pool) keep(slot int) {
	for pause := pauseLeast; p.ctx.Err() == nil; {
		worked := p.employ(slot)
		if worked {
			pause = pauseLeast
			continue
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseMost)
	}
}

// employ starts a worker and waits for its end; worked: it was given something meanwhile.
func (p *Pool) employ(slot int) (worked bool) {
	w, err := p.start(slot)
	if err != nil {
		p.notStarted(err)
		return false
	}
	p.mu.Lock()
	p.failures, p.failed = 0, nil
	p.slots[slot].process = w
	p.mu.Unlock()
	p.put(w)
	select {
	case <-w.ended:
	case <-p.ctx.Done():
		w.kill(true)
		<-w.ended
	}
	w.mu.Lock()
	gone, wanted, resting, ran := w.gone, w.wanted, w.resting, w.ran-1 // the first order was to start
	w.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.slots[slot]
	s.process = nil
	s.statements += ran
	p.idle = slices.DeleteFunc(p.idle, func(other *process) bool { return other == w })
	switch {
	case p.ctx.Err() != nil:
	case wanted:
		s.kills++
	default:
		s.crashes++
		if resting {
			p.options.Log.Error("a worker ended that ran nothing", "process", gone.Process, "how", gone.How, "output", gone.Output)
		}
	}
	return ran > 0
}

// start brings a worker up.
func (p *Pool) start(slot int) (*process, error) {
	payload, err := p.options.Start(slot)
	if err != nil {
		return nil, err
	}
	w, err := spawn(&p.options, slot)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.ctx, startMost)
	defer cancel()
	r, err := w.order(ctx, &order{Kind: orderStart, Payload: payload}, p.options.Grace, func(*Result) {})
	if err == nil {
		err = r.await()
	}
	if err != nil {
		w.kill(true)
		<-w.ended
		if w.gone.Output != "" {
			err = fmt.Errorf("%w: %s", err, w.gone.Output)
		}
		return nil, err
	}
	return w, nil
}

// notStarted wakes the waiting statements if workers have failed to start too often.
func (p *Pool) notStarted(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures++
	p.failed = err
	if p.ctx.Err() != nil {
		return
	}
	p.options.Log.Error("a worker does not come up", "error", err, "times", p.failures)
	if p.failures < failuresMost || slices.ContainsFunc(p.slots, func(s slotState) bool { return s.process != nil }) {
		return
	}
	for _, w := range p.waiting {
		close(w)
	}
	p.waiting = nil
}

// put is for a worker that has nothing to do.
func (p *Pool) put(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.mu.Lock()
	gone := w.gone != nil || w.wanted || w.leaves
	w.mu.Unlock()
	if gone {
		return
	}
	if len(p.waiting) > 0 {
		p.waiting[0] <- w // it takes one
		p.waiting = p.waiting[1:]
		return
	}
	p.idle = append(p.idle, w)
}

// get waits for a worker; for the one of a process that is preferred, if that is idle.
func (p *Pool) get(ctx context.Context, preferred int) (*process, error) {
	for {
		if ctx.Err() != nil {
			return nil, canceled(ctx)
		}
		w, mine, err := p.enqueue(preferred)
		if w != nil || err != nil {
			return w, err
		}
		if w, err = p.wait(ctx, mine); w != nil || err != nil {
			return w, err
		}
	}
}

// enqueue gives an idle worker, or a place to wait for one.
func (p *Pool) enqueue(preferred int) (w *process, mine chan *process, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil:
		return nil, nil, ErrClosed
	case len(p.idle) > 0:
		at := slices.IndexFunc(p.idle, func(w *process) bool { return w.command.Process.Pid == preferred })
		if at < 0 {
			at = len(p.idle) - 1
		}
		w := p.idle[at]
		p.idle = slices.Delete(p.idle, at, at+1)
		return w, nil, nil
	case p.failures >= failuresMost && !slices.ContainsFunc(p.slots, func(s slotState) bool { return s.process != nil }):
		return nil, nil, &StartError{p.failed}
	}
	mine = make(chan *process, 1)
	p.waiting = append(p.waiting, mine)
	return nil, mine, nil
}

// wait waits at a place; without worker and error it is to be asked again.
func (p *Pool) wait(ctx context.Context, mine chan *process) (*process, error) {
	relieve := time.NewTicker(stallMost)
	defer relieve.Stop()
	for {
		select {
		case w := <-mine: // nil when none comes up
			return w, nil
		case <-relieve.C:
			p.relieve()
			continue
		case <-ctx.Done():
		case <-p.ctx.Done():
		}
		p.mu.Lock()
		p.waiting = slices.DeleteFunc(p.waiting, func(other chan *process) bool { return other == mine })
		p.mu.Unlock()
		select {
		case w := <-mine:
			if w != nil {
				p.put(w)
			}
		default:
		}
		if ctx.Err() != nil {
			return nil, canceled(ctx)
		}
		return nil, ErrClosed
	}
}

// relieve reads results ahead whose readers have kept their workers waiting (WK6).
func (p *Pool) relieve() {
	if p.options.Lot == nil {
		return
	}
	since := time.Now().Add(-stallMost)
	for _, r := range p.results() {
		r.park(p.options.Lot, since)
	}
}

func (p *Pool) results() (list []*Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.slots {
		if r := p.slots[i].result; r != nil {
			list = append(list, r)
		}
	}
	return list
}

// Snapshot is what a statement sees: Record writes it for a worker that does not have it yet.
type Snapshot struct {
	Revision int64
	Record   func() ([]byte, error)
}

// Describe plans a statement without running it. preferred is the process that is to do it, if that is idle.
// release is as for Execute.
func (p *Pool) Describe(ctx context.Context, s *Statement, snapshot Snapshot, preferred int,
	release func()) (*Result, error) {
	return p.run(ctx, orderDescribe, s, snapshot, preferred, release)
}

// Execute begins to run a statement; its result is there when it is known what the rows look like. release is
// called once, when no worker reads anything for the statement any more (WK5), also after an error.
func (p *Pool) Execute(ctx context.Context, s *Statement, snapshot Snapshot, preferred int,
	release func()) (*Result, error) {
	return p.run(ctx, orderExecute, s, snapshot, preferred, release)
}

func (p *Pool) run(ctx context.Context, kind orderKind, s *Statement, snapshot Snapshot, preferred int,
	release func()) (*Result, error) {
	w, err := p.get(ctx, preferred)
	if err != nil {
		release()
		return nil, err
	}
	s.Revision = snapshot.Revision
	if w.revision != snapshot.Revision {
		if s.Record, err = snapshot.Record(); err != nil {
			p.put(w)
			release()
			return nil, err
		}
		w.revision = snapshot.Revision
	}
	r, err := p.begin(ctx, w, &order{Kind: kind, Statement: s}, release)
	if err != nil {
		return nil, err
	}
	if err := r.await(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// begin gives an order to a worker, which is the pool's again when it has ended it.
func (p *Pool) begin(ctx context.Context, w *process, o *order, release func()) (*Result, error) {
	p.ends.Add(1)
	known := make(chan struct{})
	r, err := w.order(ctx, o, p.options.Grace, func(r *Result) {
		<-known
		p.report(r, o.Statement.Text)
		p.mu.Lock()
		p.slots[w.slot].result = nil
		p.mu.Unlock()
		p.put(w)
		release()
		p.ends.Done()
	})
	if err != nil {
		close(known)
		release()
		p.ends.Done()
		return nil, err
	}
	p.mu.Lock()
	p.slots[w.slot].result = r
	p.mu.Unlock()
	close(known)
	return r, nil
}

// report logs a crash.
func (p *Pool) report(r *Result, text string) {
	c := r.crashed()
	if c == nil || p.ctx.Err() != nil {
		return
	}
	if len(text) > loggedText {
		text = text[:loggedText] + "…"
	}
	p.options.Log.Error("a worker crashed", "process", c.Process, "how", c.How, "statement", text, "output", c.Output)
}

// Status is that of all workers.
func (p *Pool) Status() []Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Status, len(p.slots))
	for i, s := range p.slots {
		list[i] = Status{Busy: s.result != nil, Statements: s.statements, Crashes: s.crashes, Kills: s.kills}
		if s.process != nil {
			s.process.mu.Lock()
			list[i].Process, list[i].Started = s.process.command.Process.Pid, s.process.started
			list[i].Statements += s.process.ran - 1
			s.process.mu.Unlock()
		}
	}
	return list
}

// IsCrash reports whether a statement failed because its worker ended under it.
func IsCrash(err error) (*Crash, bool) {
	var c *Crash
	return c, errors.As(err, &c)
}
