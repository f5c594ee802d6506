package worker

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// readAheadBytes is what the node holds of a result that its reader has not asked for, and then one batch more.
const readAheadBytes = 1 << 20

// Lot is where results are accounted for that are read ahead because they stand in the way of others. Safe for
// concurrent use.
type Lot interface {
	Take(bytes int64) bool
	Give(bytes int64)
}

// Result is a statement that runs, or has run, in a worker.
type Result struct {
	process *process
	number  uint64
	grace   time.Duration
	ended   func(*Result) // called once, when the worker has ended it or is dead
	unwatch func() bool
	begun   chan struct{} // closed when description is there, or the end
	severed chan struct{} // closed when the rest is not wanted
	wake    chan struct{} // there may be news for Next

	mu          sync.Mutex // guards the rest
	description *Description
	queue       []queued
	bytes       int64     // of the queue
	owed        []int     // slots that the worker does not have back
	stalled     time.Time // since when the worker waits; zero: it does not
	lot         Lot       // what is read ahead is charged to; nil: readAheadBytes bound it
	cut         error     // why the rest is not wanted
	failure     error
	last        *report // how it ended; nil: it crashed, or has not
	isOver      bool
	killer      *time.Timer
}

type queued struct {
	batch   arrow.RecordBatch
	bytes   int64
	charged Lot
}

func (q *queued) discharge() {
	if q.charged != nil {
		q.charged.Give(q.bytes)
	}
}

// await returns when it is known what the result looks like, or that there is none.
func (r *Result) await() error {
	select {
	case <-r.begun:
	case <-r.severed:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut != nil {
		return r.cut
	}
	return r.failure
}

// Description is what the rows look like.
func (r *Result) Description() *Description {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.description
}

// Notices are the statement's remarks, and Read the bytes of chunks that it has read; they are there at its end.
func (r *Result) Notices() []Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return nil
	}
	return r.last.Notices
}

// Read is as Notices.
func (r *Result) Read() (local, remote int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return 0, 0
	}
	return r.last.Local, r.last.Remote
}

// Process is the number of its worker's process.
func (r *Result) Process() int { return r.process.command.Process.Pid }

// Next gives the next batch, which the caller releases, or io.EOF.
func (r *Result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if batch, err, ok := r.take(); ok {
			return batch, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, canceled(ctx)
		}
	}
}

func (r *Result) take() (arrow.RecordBatch, error, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.cut != nil:
		return nil, r.cut, true
	case len(r.queue) > 0:
		q := r.queue[0]
		r.queue = r.queue[1:]
		r.bytes -= q.bytes
		q.discharge()
		r.settle()
		return q.batch, nil, true
	case r.isOver && r.failure != nil:
		return nil, r.failure, true
	case r.isOver:
		return nil, io.EOF, true
	}
	return nil, nil, false
}

// settle gives slots back, if there is room for what comes. Requires mu.
func (r *Result) settle() {
	if r.bytes > readAheadBytes && r.lot == nil && r.cut == nil {
		if len(r.owed) == slots && r.stalled.IsZero() {
			r.stalled = time.Now()
		}
		return
	}
	r.stalled = time.Time{}
	for _, slot := range r.owed {
		_ = r.process.send(&order{Kind: orderTaken, Number: r.number, Slot: slot}, false) // a worker that is gone is heard of elsewhere
	}
	r.owed = r.owed[:0]
}

// begin receives what the rows look like.
func (r *Result) begin(d *Description) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.description != nil || d == nil {
		return io.ErrUnexpectedEOF
	}
	r.description = d
	close(r.begun)
	return nil
}

// add receives a batch that lay in a slot.
func (r *Result) add(batch arrow.RecordBatch, bytes int64, slot int) {
	r.mu.Lock()
	r.owed = append(r.owed, slot)
	stands := false
	switch {
	case r.cut != nil:
		batch.Release()
	case r.lot != nil && !r.lot.Take(bytes):
		batch.Release()
		stands = true
	default:
		r.queue = append(r.queue, queued{batch, bytes, r.lot})
		r.bytes += bytes
	}
	r.settle()
	r.mu.Unlock()
	r.news()
	if stands {
		r.cancel(ErrStands)
	}
}

func (r *Result) news() {
	select {
	case r.wake <- struct{}{}:
	default: // there are some already
	}
}

// park reads the result ahead, at the expense of lot, if it has been stalled since (WK6).
func (r *Result) park(lot Lot, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled.IsZero() || r.stalled.After(since) || r.isOver {
		return
	}
	r.lot = lot
	r.settle()
}

// cancel fails the statement and has the worker end it; one that does not is killed (WK2).
func (r *Result) cancel(why error) {
	r.mu.Lock()
	if r.isOver || r.cut != nil {
		r.mu.Unlock()
		return
	}
	r.cut = why
	close(r.severed)
	r.killer = time.AfterFunc(r.grace, r.kill)
	r.drop()
	r.settle()
	r.mu.Unlock()
	_ = r.process.send(&order{Kind: orderCancel, Number: r.number}, false) // it is killed if it does not receive it
	r.news()
}

// kill ends the worker, unless it has ended the statement: then it may run another one by now.
func (r *Result) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isOver {
		r.process.kill(true)
	}
}

// drop forgets what was read ahead. Requires mu.
func (r *Result) drop() {
	for _, q := range r.queue {
		q.discharge()
		q.batch.Release()
	}
	r.queue, r.bytes = nil, 0
}

// finish receives the end: last is what the worker said, nil if it is dead.
func (r *Result) finish(failed error, last *report) {
	r.unwatch()
	r.mu.Lock()
	r.isOver, r.failure, r.last = true, failed, last
	if r.killer != nil {
		r.killer.Stop()
	}
	if last != nil && last.Description != nil && r.description == nil {
		r.description = last.Description
		close(r.begun)
	} else if r.description == nil {
		r.description = &Description{}
		close(r.begun)
	}
	if last != nil {
		r.settleAll()
	}
	r.mu.Unlock()
	r.news()
	r.ended(r)
}

// settleAll gives all slots back: the next statement needs them. Requires mu.
func (r *Result) settleAll() {
	for _, slot := range r.owed {
		_ = r.process.send(&order{Kind: orderTaken, Number: r.number, Slot: slot}, false) // as above
	}
	r.owed = nil
}

// Close ends the statement, finished or not; it does not wait for its worker.
func (r *Result) Close() {
	r.cancel(ErrClosed)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	if r.cut == nil {
		r.cut = ErrClosed
	}
}

// crashed returns the crash that ended the worker under the statement; nil: there was none, or it was ended on purpose.
func (r *Result) crashed() *Crash {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.failure.(*Crash)
	if !ok {
		return nil
	}
	r.process.mu.Lock()
	defer r.process.mu.Unlock()
	if r.process.wanted {
		return nil
	}
	return c
}
