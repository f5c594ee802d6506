package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/wire/pgcopy"
)

// copyOut streams a result as CopyData, one message per row, as clients expect it.
func (c *connection) copyOut(p *portal, statement CopyOutStatement) error {
	options := statement.CopyOut()
	encoder, err := pgcopy.NewEncoder(statement.Fields(), options, c.zone)
	if err != nil {
		return err
	}
	response := &pgproto3.CopyOutResponse{ColumnFormatCodes: make([]uint16, len(p.prepared.types))}
	if options.Format == pgcopy.Binary {
		response.OverallFormat = 1
		for i := range response.ColumnFormatCodes {
			response.ColumnFormatCodes[i] = 1
		}
	}
	c.out.send(response)
	// A line of column names is a message of its own; the binary header is the beginning of the first row's, or of the
	// trailer's. PostgreSQL cuts there, and psycopg relies on it.
	head := encoder.AppendHeader(nil)
	if options.Format != pgcopy.Binary {
		c.appendCopyData(func(dst []byte) []byte { return append(dst, head...) })
		head = nil
	}
	rows := 0
	for {
		batch, err := p.result.Next(p.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := encoder.Bind(batch); err != nil {
			return err
		}
		for row := range int(batch.NumRows()) {
			if err := c.copyRow(p, encoder, row, head); err != nil {
				return err
			}
			head = nil
		}
		rows += int(batch.NumRows())
	}
	c.appendCopyData(func(dst []byte) []byte { return encoder.AppendTrailer(append(dst, head...)) })
	c.out.send(&pgproto3.CopyDone{})
	c.complete(completeTag(p.result.CommandTag(), rows))
	return nil
}

// appendCopyData appends what write appends as one CopyData message, or nothing.
func (c *connection) appendCopyData(write func(dst []byte) []byte) {
	start := len(c.out.buffer)
	c.out.buffer = write(append(c.out.buffer, 'd', 0, 0, 0, 0))
	if len(c.out.buffer) == start+5 {
		c.out.buffer = c.out.buffer[:start]
		return
	}
	binary.BigEndian.PutUint32(c.out.buffer[start+1:], uint32(len(c.out.buffer)-start-1))
}

// copyRow appends a row as a message, behind head.
func (c *connection) copyRow(p *portal, encoder *pgcopy.Encoder, row int, head []byte) error {
	start := len(c.out.buffer)
	buffer, err := encoder.AppendRow(append(append(c.out.buffer, 'd', 0, 0, 0, 0), head...), row)
	if err != nil {
		return err // out.buffer still ends with the row before
	}
	binary.BigEndian.PutUint32(buffer[start+1:], uint32(len(buffer)-start-1))
	c.out.buffer = buffer
	if !c.out.full() {
		return nil
	}
	if err := c.out.flushRows(start); err != nil {
		return err
	}
	return p.ctx.Err()
}

// copyIn asks the client for its stream and hands it to the statement.
func (c *connection) copyIn(p *portal, statement CopyInStatement) error {
	isBinary, columns := statement.CopyInFormat()
	response := &pgproto3.CopyInResponse{ColumnFormatCodes: make([]uint16, columns)}
	if isBinary {
		response.OverallFormat = 1
		for i := range response.ColumnFormatCodes {
			response.ColumnFormatCodes[i] = 1
		}
	}
	c.sendNotices()
	c.out.send(response)
	if err := c.out.flush(); err != nil {
		return err
	}
	stream := &copyStream{connection: c}
	stream.ctx, stream.interrupt = context.WithCancelCause(p.ctx)
	defer stream.interrupt(nil)
	tag, err := stream.feed(p.ctx, statement)
	if stream.fatal != nil {
		return &fatalError{stream.fatal}
	}
	if err != nil {
		return err
	}
	c.complete(tag)
	return nil
}

// feed lets the statement read, and reads what it leaves. Nothing of it goes on reading or interrupting afterwards.
func (s *copyStream) feed(ctx context.Context, statement CopyInStatement) (tag string, err error) {
	woken := make(chan struct{})
	unwatch := context.AfterFunc(s.ctx, func() {
		defer close(woken)
		s.connection.network.SetReadDeadline(time.Unix(1, 0)) // wakes a Read that waits for the client
	})
	defer func() {
		ended := !unwatch()
		if ended {
			<-woken
		}
		s.mu.Lock() // a Read of an overdue statement may be about to begin: the deadline ends it
		s.closed = true
		s.mu.Unlock()
		if ended {
			s.connection.network.SetReadDeadline(time.Time{})
		}
	}()
	if tag, err = statement.CopyIn(ctx, s); err == nil && s.end == nil { // it ended before the client was done
		_, err = io.Copy(io.Discard, s)
	}
	return tag, err
}

// copyStream is the client's CopyData messages as one io.Reader. It is read by one goroutine at a time, which need not
// be the connection's own. Reads after close fail; a reader that is overdue may still try.
type copyStream struct {
	connection *connection
	ctx        context.Context // ends reading, and nothing else
	interrupt  context.CancelCauseFunc

	mu     sync.Mutex
	rest   []byte // guarded by mu; of the current message, valid until the next Receive
	end    error  // guarded by mu; io.EOF after CopyDone, or why there is no more
	closed bool   // guarded by mu
	fatal  error  // guarded by mu; the connection cannot go on: no statement's error
}

var errCopyStreamClosed = errors.New("read from a COPY stream after CopyIn returned")

// Interrupt implements CopyInStream.
func (s *copyStream) Interrupt() { s.interrupt(errCopyStreamClosed) }

// Read implements io.Reader.
func (s *copyStream) Read(into []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errCopyStreamClosed
	}
	for len(s.rest) == 0 && s.end == nil {
		s.receive()
	}
	if len(s.rest) == 0 {
		return 0, s.end
	}
	n := copy(into, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// receive takes one message. Preconditions: mu is held.
func (s *copyStream) receive() {
	if err := s.ctx.Err(); err != nil {
		s.end = context.Cause(s.ctx)
		return
	}
	message, err := s.connection.in.next()
	var refused *refusedMessage
	if errors.As(err, &refused) {
		s.end = refused.err
		return
	}
	if err != nil {
		s.end = context.Cause(s.ctx)
		if !isTimeout(err) || s.end == nil {
			s.fatal = s.connection.receiveError(err)
			s.end = s.fatal
		}
		return
	}
	switch message := message.(type) {
	case *pgproto3.CopyData:
		s.rest = message.Data
	case *pgproto3.CopyDone:
		s.end = io.EOF
	case *pgproto3.CopyFail:
		s.end = &Error{State: "57014", Message: "COPY from stdin failed: " + message.Message}
	case *pgproto3.Flush, *pgproto3.Sync: // sent ahead by clients that did not know a COPY would come
	case *pgproto3.Terminate:
		s.end, s.fatal = ErrConnectionLost, errTerminated
	default:
		s.end = protocolViolation("unexpected message of type %s during COPY from stdin", messageName(message))
	}
}
