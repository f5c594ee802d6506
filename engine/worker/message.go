package worker

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"net"
	"sync"
)

// Statement is what a worker is to run.
type Statement struct {
	// Number distinguishes statements of a session that are prepared once and run often: a worker may keep a plan under
	// it.
	Number uint64
	Text   string
	// User and Settings are those of its session, as far as they matter to an answer.
	User     string
	Settings map[string]string
	// Arguments are the values of its parameters, in a form that the Handler and its peer agree on.
	Arguments [][]byte
	// Revision is the snapshot's. Record is the snapshot itself; empty: the worker has it from the statement before.
	Revision int64
	Record   []byte
}

// Description is what a statement's rows look like, and what it wants to know.
type Description struct {
	Columns    []byte // EncodeSchema's; nil: it returns no rows
	Parameters []int
	AsText     bool // parameters are taken for text because nothing says what one of them is
}

// Failure is the error of a statement, as SQL clients see it.
type Failure struct {
	State, Message, Detail, Hint, Where, Routine string
	Position                                     int
	Schema, Table, Column, Constraint            string
}

func (f *Failure) Error() string { return f.Message }

// SQLState is the five-character code of PostgreSQL's appendix A.
func (f *Failure) SQLState() string { return f.State }

// FailureOf is what err says by its methods.
func FailureOf(err error) *Failure {
	var known *Failure
	if errors.As(err, &known) {
		return known
	}
	f := &Failure{State: "XX000", Message: err.Error()}
	read(err, func(e interface{ SQLState() string }) { f.State = e.SQLState() })
	read(err, func(e interface{ Detail() string }) { f.Detail = e.Detail() })
	read(err, func(e interface{ Hint() string }) { f.Hint = e.Hint() })
	read(err, func(e interface{ Context() string }) { f.Where = e.Context() })
	read(err, func(e interface{ Routine() string }) { f.Routine = e.Routine() })
	read(err, func(e interface{ Position() int }) { f.Position = e.Position() })
	read(err, func(e interface {
		Objects() (schema, table, column, constraint string)
	}) {
		f.Schema, f.Table, f.Column, f.Constraint = e.Objects()
	})
	return f
}

func read[T any](err error, into func(T)) {
	var e T
	if errors.As(err, &e) {
		into(e)
	}
}

// Notice is a remark of a statement.
type Notice struct{ Severity, State, Message, Detail, Hint string }

type orderKind uint8

const (
	orderStart    orderKind = iota + 1 // Payload; answered by reportReady or reportEnd
	orderDescribe                      // Statement; answered by reportEnd with its Description
	orderExecute                       // Statement; answered by reportBegun, reportBatch…, reportEnd
	orderCancel                        // the statement of this number
	orderTaken                         // Slot is free again
)

// order is a message of the node to a worker.
type order struct {
	Kind      orderKind
	Number    uint64 // of the order that is meant, or that this is
	Payload   []byte
	Statement *Statement
	Slot      int

	// At the worker: ctx ends when the order is cancelled, or obeyed.
	ctx    context.Context
	cancel context.CancelFunc
}

type reportKind uint8

const (
	reportReady reportKind = iota + 1
	reportBegun
	reportBatch
	reportEnd
)

// report is a message of a worker to the node.
type report struct {
	Kind        reportKind
	Number      uint64 // of the order
	Description *Description
	Layout      []byte // the schema of the batch; nil: as before
	Shape       []int64
	Rows        int64
	Slot        int
	Size        int64
	Notices     []Notice
	Failure     *Failure
	Leaves      bool // the worker ends now
	// Local and Remote are the bytes of chunks that were read.
	Local, Remote int64
}

// link is one end of the socket. Sending is safe for concurrent use; one goroutine receives.
type link struct {
	conn *net.UnixConn
	in   *gob.Decoder

	sending sync.Mutex // guards out and buffer; a leaf
	buffer  *bufio.Writer
	out     *gob.Encoder
}

func newLink(conn *net.UnixConn) *link {
	l := &link{conn: conn, in: gob.NewDecoder(bufio.NewReaderSize(conn, 16<<10)), buffer: bufio.NewWriterSize(conn, 16<<10)}
	l.out = gob.NewEncoder(l.buffer)
	return l
}

// send writes one message; soon: another one follows at once, and it may wait for that.
func (l *link) send(message any, soon bool) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	if err := l.out.Encode(message); err != nil || soon {
		return err
	}
	return l.buffer.Flush()
}
