package abusetest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// client speaks the protocol by hand, and not as it should.
type client struct {
	net.Conn
	out *bufio.Writer
	in  *pgproto3.Frontend

	refusals int // errors that it was answered
}

// target is the node that is attacked.
type target struct{ address string }

// dial opens a socket to the node, whose own buffers are small: what the client does not read stays with the node.
func (n *target) dial(ctx context.Context) (net.Conn, error) {
	network, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", n.address)
	if err != nil {
		return nil, err
	}
	return network, network.(*net.TCPConn).SetReadBuffer(64 << 10)
}

// session opens a connection and begins a session. What it is refused for is counted, and errTurnedAway.
func (n *target) session(ctx context.Context, user string, t *tally) (*client, error) {
	network, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: network, out: bufio.NewWriterSize(network, 64<<10), in: pgproto3.NewFrontend(network, network)}
	context.AfterFunc(ctx, func() { network.Close() }) // which ends what waits for it
	if err := c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": user}}); err != nil {
		return nil, err
	}
	return c, c.begun(t)
}

// begun reads the answer to a start-up message.
func (c *client) begun(t *tally) error {
	err := c.ready(t)
	var refused *fatal
	if errors.As(err, &refused) && (refused.Code == "53300" || refused.Code == "53200") {
		t.add(refused.ErrorResponse)
		return errTurnedAway
	}
	return err
}

// put encodes messages into the buffer; send sends them, too.
func (c *client) put(messages ...pgproto3.FrontendMessage) error {
	for _, m := range messages {
		encoded, err := m.Encode(nil)
		if err != nil {
			return err
		}
		if _, err := c.out.Write(encoded); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) send(messages ...pgproto3.FrontendMessage) error {
	return errors.Join(c.put(messages...), c.out.Flush())
}

// begin sends what announces length bytes of a message, without them.
func (c *client) begin(kind byte, length int) error {
	_, err := c.out.Write(binary.BigEndian.AppendUint32([]byte{kind}, uint32(length+4)))
	return err
}

// errTurnedAway is of a client that comes before those of the attack before are gone (53300), or when there is no memory for it (53200).
var errTurnedAway = errors.New("there is no room for another client")

// fatal is an error after which the connection ends.
type fatal struct{ *pgproto3.ErrorResponse }

func (e *fatal) Error() string { return e.Code + ": " + e.Message }

// ready reads to ReadyForQuery and counts what went wrong.
func (c *client) ready(t *tally) error {
	for {
		m, err := c.in.Receive()
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			if m.Severity == "FATAL" {
				return &fatal{m}
			}
			c.refusals++
			t.add(m)
		case *pgproto3.ReadyForQuery:
			return nil
		}
	}
}

// refused is for a client that cannot write any more: when the node has said that a message is too long (54000) and hung up, that is a refusal.
func (c *client) refused(t *tally, err error) error {
	for {
		m, lost := c.in.Receive()
		if lost != nil {
			return errors.Join(err, lost)
		}
		if e, is := m.(*pgproto3.ErrorResponse); is && e.Severity == "FATAL" && e.Code == "54000" {
			t.add(e)
			return nil
		}
	}
}

// ask is a simple query.
func (c *client) ask(t *tally, sql string) error {
	if err := c.send(&pgproto3.Query{String: sql}); err != nil {
		return err
	}
	return c.ready(t)
}

// wasRefused is ask, and reports whether anything was refused: then what sql was to make is not there.
func (c *client) wasRefused(t *tally, sql string) (bool, error) {
	before := c.refusals
	err := c.ask(t, sql)
	return c.refusals > before, err
}

// tally is what an attack was answered.
type tally struct {
	mu     sync.Mutex
	states map[string]int    // guarded by mu
	texts  map[string]string // guarded by mu
}

func newTally() *tally { return &tally{states: map[string]int{}, texts: map[string]string{}} }

func (t *tally) add(m *pgproto3.ErrorResponse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states[m.Code]++
	t.texts[m.Code] = m.Message
}

// refusals are the SQLSTATEs by which a node may say that this is too much, or that something has ended because of it.
var refusals = map[string]bool{
	"53200": true, // out of memory
	"53300": true, // too many clients
	"53400": true, // too many of something
	"54000": true, // more than there ever is
	"54001": true, // too complex
	"57014": true, // cancelled
	"25P02": true, // after one of the above in a transaction
	"34000": true, // the portal was refused
	"26000": true, // the statement was refused
	"53100": true, // the region is full
	"40001": true, // another transaction was first
}

// wrong is what should not have been answered.
func (t *tally) wrong() (list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, state := range slices.Sorted(maps.Keys(t.states)) {
		if !refusals[state] {
			list = append(list, state+": "+t.texts[state])
		}
	}
	return list
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.states) == 0 {
		return "nothing was refused"
	}
	return fmt.Sprint(t.states)
}

// spaces is a body of so many spaces that is never all in memory.
func spaces(n int64) io.Reader { return io.LimitReader(blank{}, n) }

type blank struct{}

func (blank) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}
