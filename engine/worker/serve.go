package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"
)

// Handler runs statements in the worker, one at a time.
type Handler interface {
	// Start prepares it, with what Options.Start gave to the pool.
	Start(ctx context.Context, payload []byte) error
	// Describe plans a statement without running it.
	Describe(ctx context.Context, s *Statement, notice func(Notice)) (*Description, error)
	// Execute begins to run one.
	Execute(ctx context.Context, s *Statement, notice func(Notice)) (Rows, error)
	// Failed reports, after a statement, whether it can run no more: then the worker ends, and the node starts another
	// one.
	Failed() bool
}

// Rows are those of a statement that runs.
type Rows interface {
	Description() (*Description, error)
	// Next gives the next batch, which the caller releases, or io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Read are the bytes of chunks that were read so far.
	Read() (local, remote int64)
	Close()
}

// The descriptors that a worker is started with.
const (
	socketDescriptor = 3
	windowDescriptor = 4
)

// killFirst is how much more readily the system, when it has no memory left, takes a worker than its node.
const killFirst = "500"

// Serve is a worker: it runs what its node asks for, and ends with the process when the node is gone (WK4).
func Serve(handler Handler) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(killFirst), 0) // without it the system chooses by size
	conn, err := inherited(socketDescriptor)
	if err != nil {
		return err
	}
	w, err := mapWindow(os.NewFile(windowDescriptor, "window"), unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return err
	}
	s := &server{link: newLink(conn), window: w, handler: handler, orders: make(chan *order), free: make(chan int, slots)}
	for i := range slots {
		s.free <- i
	}
	go s.receive()
	for o := range s.orders {
		if err := s.obey(o); err != nil {
			return err
		}
	}
	return nil
}

func inherited(descriptor uintptr) (*net.UnixConn, error) {
	unix.CloseOnExec(int(descriptor))
	file := os.NewFile(descriptor, "socket")
	if file == nil {
		return nil, fmt.Errorf("descriptor %d is not open: a node starts this command, not you", descriptor)
	}
	defer file.Close() // FileConn has its own
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is no socket: a node starts this command, not you: %w", descriptor, err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("descriptor %d is a %T: a node starts this command, not you", descriptor, conn)
	}
	return socket, nil
}

type server struct {
	*link
	window  *window
	handler Handler
	orders  chan *order
	free    chan int     // slots; as many as there are fit in
	used    [slots]int64 // bytes of the batch that lies there; the serving goroutine's
	layout  *arrow.Schema

	mu      sync.Mutex // guards the rest
	ahead   uint64     // the last order that was cancelled
	running *order     // what is being obeyed, or is next; nil: nothing
}

// receive takes orders in. Without a node there is nothing left to do, whatever DuckDB is in the middle of.
func (s *server) receive() {
	for {
		o := &order{}
		if err := s.in.Decode(o); err != nil {
			os.Exit(0)
		}
		switch o.Kind {
		case orderCancel:
			s.mu.Lock()
			s.ahead = max(s.ahead, o.Number) // it may overtake what it is about
			if s.running != nil && s.running.Number == o.Number {
				s.running.cancel()
			}
			s.mu.Unlock()
		case orderTaken:
			s.free <- o.Slot
		default:
			o.ctx, o.cancel = context.WithCancel(context.Background())
			s.mu.Lock()
			s.running = o // now: the node may cancel it before it is looked at
			if o.Number <= s.ahead {
				o.cancel()
			}
			s.mu.Unlock()
			s.orders <- o
		}
	}
}

// obey runs one order to its end. An error is one of talking to the node.
func (s *server) obey(o *order) error {
	defer o.cancel()
	end := report{Kind: reportEnd, Number: o.Number}
	var err error
	switch o.Kind {
	case orderStart:
		if err = s.handler.Start(o.ctx, o.Payload); err == nil {
			end.Kind = reportReady
		}
	case orderDescribe:
		end.Description, err = s.handler.Describe(o.ctx, o.Statement, end.notice)
	case orderExecute:
		err = s.execute(o, &end)
	default:
		err = fmt.Errorf("a worker knows no order of kind %d", o.Kind)
	}
	if lost := (*linkError)(nil); errors.As(err, &lost) {
		return err
	}
	if err != nil {
		end.Failure = FailureOf(err)
	}
	end.Leaves = o.Kind != orderStart && s.handler.Failed()
	if err := s.send(&end, false); err != nil || !end.Leaves {
		return err
	}
	return errors.New("the worker cannot run statements any more")
}

func (r *report) notice(n Notice) { r.Notices = append(r.Notices, n) }

// linkError is one of the socket, which is no statement's.
type linkError struct{ error }

func (s *server) execute(o *order, end *report) error {
	rows, err := s.handler.Execute(o.ctx, o.Statement, end.notice)
	if err != nil {
		return err
	}
	defer rows.Close()
	begun := report{Kind: reportBegun, Number: o.Number}
	if begun.Description, err = rows.Description(); err != nil {
		return err
	}
	if err := s.send(&begun, true); err != nil {
		return &linkError{err}
	}
	s.layout = nil
	for {
		batch, err := rows.Next(o.ctx)
		if errors.Is(err, io.EOF) {
			end.Local, end.Remote = rows.Read()
			return nil
		}
		if err != nil {
			return err
		}
		err = s.batch(o, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// batch puts one into a free slot of the window, when there is one.
func (s *server) batch(o *order, batch arrow.RecordBatch) error {
	if batch.NumRows() == 0 {
		return nil
	}
	r := report{Kind: reportBatch, Number: o.Number, Rows: batch.NumRows()}
	var buffers [][]byte
	r.Shape, buffers, r.Size = shapeOf(batch)
	if r.Size > slotBytes {
		return &Failure{State: "54000", Message: fmt.Sprintf("%d rows of %d bytes are too large for a worker", r.Rows, r.Size),
			Hint: "Ask for fewer or smaller values at once, or run the statement in a transaction block, where no worker runs it."}
	}
	if s.layout == nil || !s.layout.Equal(batch.Schema()) {
		var err error
		if r.Layout, err = EncodeSchema(batch.Schema()); err != nil {
			return err
		}
		s.layout = batch.Schema()
	}
	select {
	case r.Slot = <-s.free:
	case <-o.ctx.Done():
		return &Failure{State: "57014", Message: "canceling statement due to user request"}
	}
	if err := s.window.trim(r.Slot, s.used[r.Slot]); err != nil {
		return fmt.Errorf("give memory of a worker's window back: %w", err)
	}
	s.used[r.Slot] = r.Size
	at, slot := int64(0), s.window.slot(r.Slot)
	for _, b := range buffers {
		copy(slot[at:], b)
		at += aligned(int64(len(b)))
	}
	if err := s.send(&r, false); err != nil {
		return &linkError{err}
	}
	return nil
}
