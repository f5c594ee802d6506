package wire

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// connection is one client. Its goroutine alone reads, writes and uses the session; others reach it only through
// running, reports, life and statements, which have locks of their own.
type connection struct {
	server  *Server
	network net.Conn
	log     *slog.Logger
	in      *input
	out     output

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc

	processID  uint32  // immutable after start
	secretKey  [4]byte // immutable after start
	hasSlot    bool
	inLobby    bool          // guarded by the lobby's lock
	place      *list.Element // in the lobby, while it has said nothing; guarded by the lobby's lock
	registered bool

	account             Accounted // the session's, if it counts
	session             Session
	implicitTransaction ImplicitTransaction // the session, if it has them
	implicitOpen        bool                // BeginImplicit was called and EndImplicit was not
	idle                bool                // ReadyForQuery was sent, and the client has sent nothing since
	between             bool                // likewise, and there is no transaction
	hearing             Hearing             // the session, if it is one
	hearAt              time.Time           // when to see whether the client reads again; zero: it does
	parameters          map[string]string
	zone                *time.Location
	statements          statements
	portals             map[string]*portal
	pipeline            pipelineState
	since               time.Time // when what runs now began, as Timed counts; zero: nothing runs

	reports reports
	running running
	life    life
}

// life coordinates the end of a connection with the server's shutdown.
type life struct {
	mu       sync.Mutex
	waiting  bool          // guarded by mu; blocked in reading the next message
	patient  bool          // guarded by mu; until a deadline
	hears    bool          // guarded by mu; notifications may be sent while waiting
	heard    bool          // guarded by mu; there may be notifications to send
	stopping bool          // guarded by mu; the server shuts down
	finished chan struct{} // closed when the connection's goroutine is done
	joined   chan struct{} // closed when shutdown, if it ran, is done
}

// farewellTimeout bounds how long a client that does not read can delay its own end.
const farewellTimeout = time.Second

func newConnection(server *Server, network net.Conn) *connection {
	c := &connection{
		server:  server,
		network: network,
		log:     server.options.Logger.With("remote", network.RemoteAddr().String()),
		in:      newInput(newEager(network, &server.calm), server.options.MaxMessageBytes),
		out:     output{network: network, charge: charge{unaccounted{}, kindAnswer, 0}},
		account: unaccounted{},
		zone:    time.UTC,
		portals: make(map[string]*portal),
	}
	c.statements.init()
	c.life.finished, c.life.joined = make(chan struct{}), make(chan struct{})
	return c
}

// serveConnection is the life of one connection, from the lobby to the last release.
func (s *Server) serveConnection(ctx context.Context, c *connection) {
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, c.shutdown)
	defer func() {
		close(c.life.finished)
		if !unwatch() {
			<-c.life.joined // W3: nothing of a connection outlives it
		}
	}()
	defer c.release()
	if err := c.guard(c.converse); err != nil {
		c.farewell(err)
	}
}

// guard turns a panic into an error: a bug met by one client ends that client's connection and nothing else (W6).
func (c *connection) guard(action func() error) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			c.log.Error("recovered from a panic", "panic", problem, "stack", string(debug.Stack()))
			err = &Error{State: "XX000", Message: fmt.Sprintf("internal error: %v", problem), Help: "This is a bug in the server; its log has the details."}
		}
	}()
	return action()
}

// converse is the conversation. The error is the reason for which it ended.
func (c *connection) converse() error {
	if err := c.start(); err != nil {
		return err
	}
	for {
		message, err := c.receive()
		var refused *refusedMessage
		switch {
		case errors.As(err, &refused):
			err = c.refuse(refused)
		case err == nil:
			c.running.handle()
			err = c.dispatch(message)
			c.in.release()
		}
		c.running.handled(c.pipeline == pipelineOpen && c.in.network.Buffered() > 0)
		if err != nil {
			return err
		}
	}
}

// receive reads one message. A shutdown of the server interrupts it, and so does a notification of the session.
func (c *connection) receive() (pgproto3.FrontendMessage, error) {
	until, impatient := c.patience()
	for {
		if !c.life.wait(c.network, sooner(until, c.hearAt), c.between) {
			return nil, ErrShutdown
		}
		message, err := c.in.next()
		stopping := c.life.resume(c.network)
		switch {
		case err == nil:
			c.between, c.hearAt = false, time.Time{}
			return message, nil
		case isTimeout(err) && stopping:
			return nil, ErrShutdown
		case isTimeout(err) && !until.IsZero() && !time.Now().Before(until):
			return nil, impatient
		case !isTimeout(err):
			return nil, c.receiveError(err)
		}
		if err := c.hear(); err != nil {
			return nil, err
		}
	}
}

// patience is until when the client may be silent now, and the error that ends the connection then; zero: for ever.
func (c *connection) patience() (until time.Time, impatient error) {
	patient, ok := c.session.(Patient)
	if !ok || !c.idle {
		return until, nil
	}
	c.idle = false
	patience, impatient := patient.Patience()
	if patience > 0 {
		until = time.Now().Add(patience)
	}
	return until, impatient
}

// sooner is the sooner of two times of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// receiveError explains why nothing more can be read.
func (c *connection) receiveError(err error) error {
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	var refused *refusedMessage
	switch {
	case errors.As(err, &refused):
		return err
	case errors.As(err, &tooLong):
		return &Error{"54000", fmt.Sprintf("message of %d bytes exceeds the limit of %d", tooLong.ActualBodyLen, tooLong.MaxExpectedBodyLen),
			"Send large data with COPY, in smaller messages, or raise the server's message limit."}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isClosed(err), isTimeout(err):
		return errTerminated
	}
	return protocolViolation("invalid message: %v", err)
}

// wait notes that the connection is about to block in reading: until a time, if that is not zero, and until there are
// notifications, if the client may get them now (hears). False: it should end instead.
func (l *life) wait(network net.Conn, until time.Time, hears bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting, l.hears = !l.stopping, hears
	if hears && l.heard {
		until = time.Unix(1, 0)
	}
	l.patient = !until.IsZero()
	if l.waiting && l.patient {
		network.SetReadDeadline(until)
	}
	return l.waiting
}

func (l *life) resume(network net.Conn) (stopping bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.patient && !l.stopping {
		network.SetReadDeadline(time.Time{})
	}
	l.waiting = false
	return l.stopping
}

// shutdown runs in a goroutine of its own once the server's context has ended. It interrupts an idle connection at once
// and a busy one when the grace is over.
func (c *connection) shutdown() {
	defer close(c.life.joined)
	c.life.mu.Lock()
	c.life.stopping = true
	if c.life.waiting {
		c.network.SetReadDeadline(time.Unix(1, 0))
	}
	c.life.mu.Unlock()

	grace := time.NewTimer(c.server.options.ShutdownGrace)
	defer grace.Stop()
	select {
	case <-c.life.finished:
		return
	case <-grace.C:
	}
	c.cancel(ErrShutdown)
	c.running.interrupt(ErrShutdown)
	c.network.SetReadDeadline(time.Unix(1, 0))
	c.network.SetWriteDeadline(time.Now().Add(farewellTimeout)) // a client that does not read must not hold the server
}

// farewell sends the client the reason why the connection ends, if the client is still there.
func (c *connection) farewell(err error) {
	if errors.Is(err, errTerminated) || errors.Is(err, errNoSession) || errors.Is(err, ErrConnectionLost) || c.out.failure != nil {
		return
	}
	c.log.Debug("connection ends", "reason", err)
	c.network.SetWriteDeadline(time.Now().Add(farewellTimeout))
	c.out.send(explain(err, "FATAL"))
	if c.out.flush() == nil && !errors.Is(err, ErrShutdown) {
		c.linger()
	}
}

// lingerBytesMax bounds what a client may still send after the server has given up on it.
const lingerBytesMax = 16 << 20

// linger reads what the client has under way: closing a TCP socket with unread data resets it, and the reset overtakes
// the error message.
func (c *connection) linger() {
	if network, ok := c.network.(interface{ CloseWrite() error }); !ok || network.CloseWrite() != nil {
		return
	}
	c.network.SetReadDeadline(time.Now().Add(farewellTimeout))
	io.CopyN(io.Discard, c.network, lingerBytesMax)
}

// release gives back everything, in the reverse order of start.
func (c *connection) release() {
	c.cancel(ErrConnectionLost)
	c.network.Close()
	err := c.guard(func() error {
		if c.session == nil {
			return nil
		}
		c.closePortals()
		c.statements.closeAll()
		c.in.end()
		c.out.charge.shrink(0)
		return c.session.Close()
	})
	if err != nil {
		c.log.Warn("closing a session failed", "error", err)
	}
	if c.registered {
		c.server.registry.leave(c)
	}
	if c.hasSlot {
		<-c.server.slots
	}
	c.server.lobby.leave(c)
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// isClosed reports whether err says that one end of a socket is closed.
func isClosed(err error) bool {
	var operation *net.OpError
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.As(err, &operation)
}
