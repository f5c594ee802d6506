package wire

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// pipelineState is where the extended protocol stands between two Syncs. doc.go has the picture.
type pipelineState uint8

const (
	pipelineIdle     pipelineState = iota // the last thing the client heard was ReadyForQuery
	pipelineOpen                          // extended messages came since
	pipelineSkipping                      // one of them failed: everything up to Sync is thrown away (W7)
)

// pipelineEvent is what moves a pipeline.
type pipelineEvent uint8

const (
	eventMessage pipelineEvent = iota // an extended message other than Sync
	eventFailure                      // it failed
	eventSync                         // Sync, or a simple query, which has one built in
)

// next is the whole state machine.
func (s pipelineState) next(event pipelineEvent) pipelineState {
	switch {
	case event == eventSync:
		return pipelineIdle
	case event == eventFailure, s == pipelineSkipping:
		return pipelineSkipping
	}
	return pipelineOpen
}

// dispatch handles one message. An error ends the connection; errors of statements are sent to the client instead.
func (c *connection) dispatch(message pgproto3.FrontendMessage) error {
	switch message := message.(type) {
	case *pgproto3.Terminate:
		return errTerminated
	case *pgproto3.Sync:
		return c.sync()
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return nil // the rest of a COPY that we gave up on: the client had not heard of it yet
	case *pgproto3.Query:
		if c.pipeline == pipelineSkipping {
			return nil
		}
		return c.simpleQuery(message.String)
	case *pgproto3.FunctionCall:
		if c.pipeline == pipelineSkipping {
			return nil
		}
		c.sendError(c.ctx, &Error{"0A000", "function call messages are not supported", "Call the function with SELECT."})
		return c.ready()
	case *pgproto3.Parse, *pgproto3.Bind, *pgproto3.Describe, *pgproto3.Execute, *pgproto3.Close, *pgproto3.Flush:
		return c.extended(message)
	}
	return protocolViolation("unexpected message of type %s", messageName(message))
}

// refuse answers a message for which there was no memory like one that failed.
func (c *connection) refuse(message *refusedMessage) error {
	switch message.kind {
	case 'Q', 'F':
		if c.pipeline == pipelineSkipping {
			return nil
		}
		c.pipeline = c.pipeline.next(eventSync)
		if err := c.endImplicit(true); err != nil {
			c.log.Debug("rolling back failed", "error", err)
		}
		c.sendError(c.ctx, message.err)
		return c.ready()
	case 'P', 'B', 'D', 'E', 'C', 'H':
		if c.pipeline == pipelineSkipping {
			return nil
		}
		c.pipeline = c.pipeline.next(eventFailure)
		c.sendError(c.ctx, message.err)
		return c.out.flush()
	case 'd', 'c', 'f':
		return nil // as in dispatch
	}
	return message
}

// messageName is what the protocol's documentation calls a message.
func messageName(message pgproto3.FrontendMessage) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", message), "*pgproto3.")
}

// extended handles the messages of a pipeline.
func (c *connection) extended(message pgproto3.FrontendMessage) error {
	c.pipeline = c.pipeline.next(eventMessage)
	if c.pipeline == pipelineSkipping {
		return nil
	}
	ctx, err := c.settle()
	if err != nil {
		return c.failed(ctx, err)
	}
	switch message := message.(type) {
	case *pgproto3.Parse:
		ctx, err = c.parse(message)
	case *pgproto3.Bind:
		err = c.bind(message)
	case *pgproto3.Describe:
		err = c.describe(message)
	case *pgproto3.Execute:
		ctx, err = c.execute(message)
	case *pgproto3.Close:
		c.close(message)
	case *pgproto3.Flush:
		return c.out.flush()
	}
	if err == nil {
		return c.out.failure
	}
	return c.failed(ctx, err)
}

// failed ends a pipeline, up to Sync.
func (c *connection) failed(ctx context.Context, err error) error {
	if err = interrupted(ctx, err); endsConnection(err) {
		return err
	}
	c.pipeline = c.pipeline.next(eventFailure)
	c.sendError(ctx, err)
	return c.out.flush() // at once: the client may wait for the answer to another message
}

// sync ends a pipeline: its implicit transaction commits or rolls back, and the client gets ReadyForQuery.
func (c *connection) sync() error {
	failed := c.pipeline == pipelineSkipping
	c.pipeline = c.pipeline.next(eventSync)
	c.since = time.Time{}
	if err := c.endImplicit(failed); err != nil {
		c.sendError(c.ctx, err)
	}
	return c.ready()
}

// ready sends ReadyForQuery, and before it everything that is queued.
func (c *connection) ready() error {
	c.sendReports()
	status := c.session.Status()
	if status == TxIdle {
		c.closePortals() // a portal lives no longer than its transaction
	}
	c.statements.closeForgotten()
	if status == TxIdle {
		c.sendHeard(c.takeHeard(heardMost))
	}
	c.out.send(&pgproto3.ReadyForQuery{TxStatus: byte(status)})
	c.idle, c.between = true, status == TxIdle && c.hearing != nil
	err := c.out.flush()
	c.out.rest()
	return err
}

// sendError reports a failed statement to the client and to the session. The statement ran under ctx.
func (c *connection) sendError(ctx context.Context, err error) {
	c.sendNotices()
	if s, ok := c.session.(Failing); ok {
		s.Fail()
	}
	c.out.send(explain(interrupted(ctx, err), "ERROR"))
}

// beginImplicit opens the implicit transaction of a pipeline or of a string of several statements.
func (c *connection) beginImplicit(ctx context.Context) error {
	if c.implicitTransaction == nil || c.implicitOpen || c.session.Status() != TxIdle {
		return nil
	}
	if err := c.implicitTransaction.BeginImplicit(ctx); err != nil {
		return err
	}
	c.implicitOpen = true
	return nil
}

// endImplicit ends it. Portals that still read in it are closed first.
func (c *connection) endImplicit(failed bool) error {
	if !c.implicitOpen {
		return nil
	}
	c.implicitOpen = false
	if c.session.Status() != TxActive || failed {
		c.closePortals()
	}
	ctx, done := c.interruptible(0)
	defer done()
	return interrupted(ctx, c.implicitTransaction.EndImplicit(ctx, failed))
}

// remaining is how long what begins now may take (Timed); 0: for ever.
func (c *connection) remaining() time.Duration {
	if c.since.IsZero() {
		c.since = time.Now()
	}
	timed, ok := c.session.(Timed)
	if !ok {
		return 0
	}
	timeout := timed.Timeout()
	if timeout <= 0 {
		return 0
	}
	return max(timeout-time.Since(c.since), 1) // it began too long ago: nothing is left
}

// settle waits for what the session is not done with (Settling). The context is given for the error's sake.
func (c *connection) settle() (context.Context, error) {
	s, ok := c.session.(Settling)
	if !ok {
		return c.ctx, nil
	}
	ctx, done := c.interruptible(c.remaining())
	defer done()
	return ctx, s.Settle(ctx)
}

// interruptible makes a context that a cancel request ends, for one call of the session. It ends after so long; 0:
// never.
func (c *connection) interruptible(atMost time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	_ = c.running.begin(cancel, atMost) // the context says it
	return ctx, func() {
		c.running.end()
		cancel(errPortalClosed)
	}
}
