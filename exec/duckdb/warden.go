package duckdb

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// warden keeps what this process' C code has within what its databases were given together (D8), counted by DuckDB or
// not:
//
//	a large allocation that does not fit fails          memory.c, at once, in whichever thread
//	small ones that add up to too much are found        here, within watchEvery: a statement whose plan has taken a good
//	                                                    part of them, or the one that has been running for longest, is
//	                                                    interrupted, and fails with 53200
//
// Allocators keep what was freed, up to as much again as was used. They give it back before anything fails, when
// nothing has run for a while, and now and then when much more is there than the last time: asking them to keep less
// all the time made sorts take twice as long.
//
// Its goroutine runs while bounded databases are open, and ticks only while statements run: Database.Close joins it.
type warden struct {
	statements atomic.Int64 // running now
	asleep     atomic.Bool
	wake       chan struct{} // capacity 1
	bound      atomic.Int64  // of large blocks: beyond it small ones have some more until a statement has ended

	mu       sync.Mutex          // guards everything below
	accounts map[*Database]int64 // what each was given; noBound
	others   int64               // what C code had before the first of them was opened: an embedding program's
	stop     chan struct{}       // nil: the goroutine does not run
	stopped  chan struct{}
}

const (
	watchEvery   = 10 * time.Millisecond
	strikeEvery  = 100 * time.Millisecond // an interrupted statement needs a moment to give its memory back
	collectEvery = time.Second
	restAfter    = 100         // quiet ticks
	restPause    = time.Second // before memory is given back once more; then four times as long, three times
	tidyEvery    = 5 * time.Second
	tidyBytes    = 32 << 20         // more than was kept when it was given back last: what allocators keep may be worth it
	tidySeldom   = 30 * time.Second // then it is in any case: where something always runs there is no rest
	programBytes = 32 << 20         // of what there is before the first database: the program's own data, for which accounts have room
	endsWithin   = 2 * time.Second  // a large plan is freed within, before others are interrupted
	planShare    = 4                // what of the bound makes a plan large: few ever take a hundredth
	noBound      = math.MaxInt64
)

// processWarden: memory is the process', so there is one.
var processWarden = &warden{wake: make(chan struct{}, 1), accounts: map[*Database]int64{}}

// account is what a database adds to what the process may have.
func (o Options) account() int64 {
	switch {
	case o.Within != nil:
		return 0
	case o.ProcessBytes > 0:
		return o.ProcessBytes
	}
	return noBound
}

// join adds a database's account. One without a bound lifts it for the whole process: memory does not say whose it is.
func (w *warden) join(db *Database, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.accounts) == 0 {
		w.others = max(0, ownMemoryAtRest()-programBytes)
	}
	w.accounts[db] = bytes
	w.settle()
}

func (w *warden) leave(db *Database) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.accounts, db)
	w.settle()
	if len(w.accounts) == 0 {
		LimitHeap(0)
		giveBackMemory()
	}
}

// change gives a database another account, and reports whether C code is within the bound then. False: it is as it was.
func (w *warden) change(db *Database, bytes int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, bounded := w.accounts[db]
	if !bounded || before == noBound {
		return true
	}
	w.accounts[db] = bytes
	w.settle()
	if bytes >= before || ownMemory() <= w.bound.Load() {
		return true
	}
	giveBackMemory()
	if ownMemory() <= w.bound.Load() {
		return true
	}
	w.accounts[db] = before
	w.settle()
	return false
}

// settle sets the bound and starts or joins the goroutine. Requires mu, which the goroutine takes as a try only.
func (w *warden) settle() {
	bound := int64(0)
	for _, bytes := range w.accounts {
		if bytes == noBound || bound > noBound-bytes {
			bound = noBound
			break
		}
		bound += bytes
	}
	if bound == 0 || bound > noBound-w.others { // no account is left, or one is unbounded
		bound = noBound
	} else {
		bound += w.others
	}
	tellGoMemory()
	known := boundOwnMemory(bound)
	w.bound.Store(boundOfLarge())
	switch {
	case known && bound < noBound && w.stop == nil:
		w.stop, w.stopped = make(chan struct{}), make(chan struct{})
		w.asleep.Store(false)
		go w.run(w.stop, w.stopped)
	case bound == noBound && w.stop != nil:
		close(w.stop)
		<-w.stopped
		w.stop, w.stopped = nil, nil
	}
}

// begin is called for every statement before it runs, and end when it is over.
func (w *warden) begin() {
	w.statements.Add(1)
	if w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		select {
		case w.wake <- struct{}{}:
		default: // it is woken already
		}
	}
}

func (w *warden) end() { w.statements.Add(-1) }

func (w *warden) run(stop, stopped chan struct{}) {
	defer close(stopped)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last shift
	defer func() { last.finish() }()
	for quiet := 0; ; {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			w.look(now, &last)
		}
		if quiet++; w.statements.Load() > 0 {
			quiet = 0
		}
		if quiet < restAfter {
			continue
		}
		tick.Stop()
		w.asleep.Store(true)
		if (w.statements.Load() == 0 || !w.asleep.CompareAndSwap(true, false)) && !w.rest(stop) {
			return
		}
		tick.Reset(watchEvery)
		quiet = 0
	}
}

// rest sleeps until a statement begins; false: it is to stop. What allocators keep is given back at once, and some more
// times: what has ended may be freed late, by threads of DuckDB that had no processor, or by Go's collector.
func (w *warden) rest(stop chan struct{}) bool {
	for pause := restPause; ; pause *= 4 {
		giveBackMemory()
		var again <-chan time.Time
		if pause <= restPause*64 {
			again = time.After(pause)
		}
		select {
		case <-stop:
			return false
		case <-w.wake:
			return true
		case <-again:
		}
	}
}

// shift records when the warden last did what it must not do too often.
type shift struct {
	collected, struck time.Time
	tidied            time.Time
	kept              int64         // what C code had then, or less since
	collecting        chan struct{} // closed when the last collection has ended; nil before the first
}

// collect frees C memory of Go objects that are unreferenced: key sets, batches that were not released. A collection
// takes longer than the warden can look away.
func (s *shift) collect(now time.Time) {
	if now.Sub(s.collected) < collectEvery {
		return
	}
	s.finish()
	s.collected = now
	ended := make(chan struct{})
	s.collecting = ended
	go func() {
		defer close(ended)
		runtime.GC()
	}()
}

// finish waits for the last collection.
func (s *shift) finish() {
	if s.collecting != nil {
		<-s.collecting
	}
}

// tidy gives back what allocators keep, if C code has much more than when that was done last: it may be in use, so not
// often.
func (s *shift) tidy(now time.Time, own int64) {
	s.kept = min(s.kept, own)
	since := now.Sub(s.tidied)
	if since < tidyEvery || own-s.kept < tidyBytes && since < tidySeldom {
		return
	}
	giveBackMemory()
	s.tidied, s.kept = now, ownMemory()
}

// look ends what takes too much.
func (w *warden) look(now time.Time, last *shift) {
	tellGoMemory()
	bound, own := w.bound.Load(), ownMemory()
	if own > bound-bound/8 {
		last.collect(now)
	}
	last.tidy(now, own)
	if own <= bound && beyondBound() == 0 {
		return
	}
	giveBackMemory()
	if own = max(ownMemory(), beyondBound()); own > bound && now.Sub(last.struck) >= strikeEvery && w.strike(own, bound) {
		last.struck = now
	}
}

// strike interrupts a statement that was not interrupted yet: the one whose plan has taken most, if that is a good part
// of the bound, or else the one that has been running for longest.
func (w *warden) strike(own, bound int64) bool {
	if !w.mu.TryLock() { // a database is being opened or closed, maybe to wait for this goroutine
		return false
	}
	defer w.mu.Unlock()
	var oldest, planner *Connection
	var since int64
	most, now, ending := bound/planShare, time.Now().UnixNano(), false
	for db := range w.accounts {
		db.connections.Range(func(_, value any) bool {
			c := value.(*Connection)
			c.exhaustAgain()
			at, planned, exhausted := c.running()
			if exhausted > 0 && planned > bound/planShare && now-exhausted < int64(endsWithin) {
				ending = true
			}
			if exhausted > 0 {
				return true
			}
			if at > 0 && (oldest == nil || at < since) {
				oldest, since = c, at
			}
			if planned > most {
				planner, most = c, planned
			}
			return true
		})
	}
	if ending {
		return false
	}
	if planner != nil {
		oldest = planner
	}
	return oldest != nil && oldest.exhaust(&Error{
		Message: fmt.Sprintf("out of memory: the process has %d MiB of its own and may have %d MiB", own>>20, bound>>20), State: "53200", HintText: memoryHint, Byte: -1,
	})
}

// memoryHint replaces what DuckDB advises: its settings are locked.
const memoryHint = "Ask for less at once, or start the node with more --memory (MemoryBytes), or with fewer threads."

// work is what the warden knows of a connection. A statement may run others inside of it: the outermost counts.
type work struct {
	mu          sync.Mutex // guards the following; held during an interrupt, so that it hits no later statement
	depth       int
	since       int64 // when the outermost began, in nanoseconds
	exhausted   *Error
	exhaustedAt int64 // when exhausted was set, likewise
}

func (c *Connection) begin() {
	c.work.mu.Lock()
	if c.work.depth++; c.work.depth == 1 {
		c.work.since, c.work.exhausted = time.Now().UnixNano(), nil
	}
	c.work.mu.Unlock()
	processWarden.begin()
}

func (c *Connection) end() {
	processWarden.end()
	c.work.mu.Lock()
	c.work.depth--
	c.work.mu.Unlock()
}

// running returns since when something runs, what its plan has taken, and when it was interrupted; 0: nothing does, or
// it was not.
func (c *Connection) running() (since, planned, exhausted int64) {
	c.work.mu.Lock()
	defer c.work.mu.Unlock()
	if c.work.depth == 0 {
		return 0, 0, 0
	}
	if c.work.exhausted != nil {
		exhausted = c.work.exhaustedAt
	}
	return c.work.since, plannedBytes(c.session), exhausted
}

// exhaust interrupts what runs; it fails with reason.
func (c *Connection) exhaust(reason *Error) bool {
	c.work.mu.Lock()
	defer c.work.mu.Unlock()
	if c.work.depth == 0 {
		return false
	}
	c.work.exhausted, c.work.exhaustedAt = reason, time.Now().UnixNano()
	c.Interrupt()
	return true
}

// exhaustAgain interrupts once more what was interrupted and still runs: it may have missed that (interruptEvery).
func (c *Connection) exhaustAgain() {
	c.work.mu.Lock()
	defer c.work.mu.Unlock()
	if c.work.depth > 0 && c.work.exhausted != nil {
		c.Interrupt()
	}
}

// orExhausted prefers the warden's reason over DuckDB's "Interrupted!", and over a block that was refused for it.
func (c *Connection) orExhausted(err error) error {
	c.db.note(err)
	if e, ok := err.(*Error); !IsCanceled(err) && (!ok || e.State != "53200") {
		return err
	}
	c.work.mu.Lock()
	defer c.work.mu.Unlock()
	if c.work.exhausted == nil {
		return err
	}
	return c.work.exhausted
}
