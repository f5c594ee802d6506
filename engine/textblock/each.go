package textblock

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Source is where blocks come from.
type Source struct {
	Columns int // of each row
	// Next gives the next block, of most bytes if it can be, and io.EOF at the end. One goroutine calls it at a time.
	Next func(most int) (Block, error)
	// Stop makes a Next that waits return. It may be called from another goroutine.
	Stop func()
}

// Memory is what blocks may take.
type Memory struct {
	Take      func(bytes int64) error // of the goroutine that calls Each: more may be given up for it
	TakeAside func(bytes int64) error // of any other
	Give      func(bytes int64)
	Most      int64
}

const (
	// blockBytes is how large blocks are: enough rows that what each one costs is little beside them, and so few that
	// they stay in a processor's cache.
	blockBytes = 256 << 10
	// blockLeast is how large they are where memory is short.
	blockLeast = 16 << 10
	// orderMost is how many blocks are on their way at most. While a chunk is sealed none is handed over, and the
	// workers go on as far as the window lets them.
	orderMost = 64
	// valueBytes is what a value takes beside its own bytes.
	valueBytes = 8
)

// Each hands what becomes of the blocks of a source over to take, in the order of the stream (TB1), which owns the
// batch's rows only while it runs. As many goroutines as that work on blocks.
func (columns Columns) Each(ctx context.Context, source Source, memory Memory, threads int,
	take func(*Batch) error) error {
	p := &pipeline{columns: columns, source: source, window: newWindow(memory), take: take}
	p.size = int(min(blockBytes, max(blockLeast, memory.Most/int64(4*(threads+1)))))
	for first := true; first || threads < 2; first = false {
		err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return p.run(ctx, threads)
}

// pipeline is one Each.
type pipeline struct {
	columns Columns
	source  Source
	window  *window
	size    int // of blocks
	take    func(*Batch) error
}

// chargeOf is what a block takes, as bytes and as values.
func chargeOf(block Block) int64 { return 2 * (int64(block.Size()) + valueBytes*int64(block.Values())) }

// next serves one block alone.
func (p *pipeline) next() error {
	block, err := p.source.Next(p.size)
	if err != nil {
		return err
	}
	return p.serve(block, chargeOf(block))
}

// serve does what is to be done for a block, while no other one takes any memory.
func (p *pipeline) serve(block Block, charge int64) error {
	if err := p.window.enter(charge, p.window.memory.Take); err != nil {
		return err
	}
	defer p.window.leave(charge)
	return p.hand(p.columns.make(block))
}

// hand hands a batch over, and its error behind it.
func (p *pipeline) hand(b *Batch) error {
	defer b.Rows.Release()
	if b.Rows.NumRows() > 0 {
		if err := p.take(b); err != nil {
			return err
		}
	}
	return b.Failed
}

// job is a block on its way.
type job struct {
	block  Block
	charge int64       // the worker's between queue and done
	failed error       // why there is no block, or no memory for it
	done   chan result // of capacity 1: who puts the one thing into it never waits
}

type result struct {
	batch    *Batch
	panicked any
}

// run has goroutines work on blocks; the caller's hands over.
func (p *pipeline) run(ctx context.Context, threads int) error {
	queue := make(chan *job, threads) // for the workers
	order := make(chan *job, orderMost)
	var all sync.WaitGroup
	all.Go(func() { p.feed(queue, order) })
	for range threads {
		all.Go(func() {
			for j := range queue {
				p.work(j)
			}
		})
	}
	ended := false
	defer all.Wait() // TB3
	defer func() {
		if !ended {
			p.source.Stop()
		}
		p.window.close()
		for j := range order {
			if j.failed == nil {
				r := <-j.done
				p.drop(j, r)
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case j := <-order:
			if err := p.finish(j); errors.Is(err, io.EOF) {
				ended = true
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// finish hands a job's batch over when it is there.
func (p *pipeline) finish(j *job) error {
	if j.failed != nil && j.block != nil {
		if err := p.serve(j.block, j.charge); err != nil {
			return err
		}
		j.done <- result{} // the cutter goes on
		return nil
	}
	if j.failed != nil {
		return j.failed
	}
	r := <-j.done
	defer p.window.leave(j.charge)
	if r.panicked != nil {
		panic(r.panicked) // where the session's own panics are caught
	}
	return p.hand(r.batch)
}

// feed cuts blocks until there is no more, or an error, or the window is closed. A block for which there is no memory
// may get some from the goroutine that hands over.
func (p *pipeline) feed(queue, order chan<- *job) {
	defer close(order)
	defer close(queue)
	for {
		j := &job{done: make(chan result, 1)}
		if j.block, j.failed = p.source.Next(p.size); j.failed != nil {
			j.block = nil
			order <- j
			return
		}
		j.charge = chargeOf(j.block)
		if j.failed = p.window.enter(j.charge, p.window.memory.TakeAside); j.failed == nil {
			order <- j
			queue <- j
			continue
		}
		order <- j
		select {
		case <-j.done:
		case <-p.window.shut:
			return
		}
	}
}

// work makes the batch, and charges for it in the place of the block. What panics is for the caller of Each.
func (p *pipeline) work(j *job) {
	var r result
	defer func() {
		r.panicked = recover()
		j.done <- r
	}()
	r.batch = p.columns.make(j.block)
	if made := r.batch.size(); made < j.charge {
		p.window.leave(j.charge - made)
		j.charge = made
	}
}

// drop gives back what is not handed over.
func (p *pipeline) drop(j *job, r result) {
	p.window.leave(j.charge)
	if r.batch != nil {
		r.batch.Rows.Release()
	}
}

// window bounds the memory of blocks (TB4). Safe for concurrent use.
type window struct {
	memory Memory
	shut   chan struct{} // closed by close

	mu     sync.Mutex
	fewer  *sync.Cond // used has become less, or the window closed
	used   int64      // guarded by mu
	closed bool       // guarded by mu
}

func newWindow(m Memory) *window {
	w := &window{memory: m, shut: make(chan struct{})}
	w.fewer = sync.NewCond(&w.mu)
	return w
}

var errClosed = errors.New("no more blocks are wanted")

// enter waits until there is room, and takes it. Memory that is short is waited for as long as there are blocks that
// give some back.
func (w *window) enter(bytes int64, take func(bytes int64) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed {
		if w.used == 0 || w.used+bytes <= 2*w.memory.Most {
			err := take(bytes)
			if err == nil {
				w.used += bytes
				return nil
			}
			if w.used == 0 {
				return err
			}
		}
		w.fewer.Wait()
	}
	return errClosed
}

func (w *window) leave(bytes int64) {
	w.memory.Give(bytes)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used -= bytes
	w.fewer.Broadcast()
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	close(w.shut)
	w.fewer.Broadcast()
}
