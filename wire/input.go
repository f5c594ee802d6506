package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// input takes the client's messages out of the stream. A message has as much memory as has arrived of it, and what it
// has is charged: a
// client that announces much and sends little holds little. A read that fails for a deadline goes on where it was.
//
//	header ─ length? ─► body ─ enough ─► decoded, valid until the next one
//	                      │ Take refused
//	                      └► the rest is read and dropped ─► refusedMessage: the client hears why, and goes on
type input struct {
	network *bufio.Reader
	most    int // bytes of a body
	charge  charge

	begun   bool
	kind    byte
	length  int    // of the body
	body    []byte // what has arrived of it; its buffer is used again, a long one by other connections
	refused error  // the account's; the body is dropped
	dropped int    // bytes of it that were

	messages messages
}

const (
	inputBufferBytes = 8 << 10
	// bodyKeptBytes is what a body's buffer may have while the client says nothing.
	bodyKeptBytes = 16 << 10
	startupMax    = 10_000 // as PostgreSQL has it
)

// messages are decoded into, one at a time.
type messages struct {
	bind         pgproto3.Bind
	closing      pgproto3.Close
	describe     pgproto3.Describe
	execute      pgproto3.Execute
	functionCall pgproto3.FunctionCall
	copyFail     pgproto3.CopyFail
	copyData     pgproto3.CopyData
	copyDone     pgproto3.CopyDone
	flush        pgproto3.Flush
	parse        pgproto3.Parse
	password     pgproto3.PasswordMessage
	query        pgproto3.Query
	sync         pgproto3.Sync
	terminate    pgproto3.Terminate
}

func newInput(network io.Reader, most int) *input {
	return &input{network: bufio.NewReaderSize(network, inputBufferBytes), most: most, charge: charge{unaccounted{}, kindMessage, 0}}
}

// refusedMessage is a message that there was no memory for. It was read to its end.
type refusedMessage struct {
	kind byte
	err  error
}

func (e *refusedMessage) Error() string { return e.err.Error() }
func (e *refusedMessage) Unwrap() error { return e.err }

// knownMinor makes a start-up message of another minor version of protocol 3 one of 3.2, which is negotiated down:
// a server answers all of them with the newest that it speaks, so that later clients can talk to it (PostgreSQL's
// documentation, 55.2.1), and pgproto3 reads 3.0 and 3.2 alone.
func knownMinor(startup []byte) {
	code := startup[4:8]
	if version := binary.BigEndian.Uint32(code); version>>16 == 3 && version != pgproto3.ProtocolVersion30 {
		binary.BigEndian.PutUint32(code, pgproto3.ProtocolVersion32)
	}
}

// startup reads a message as clients send them before there is a session: without a type.
func (in *input) startup() (pgproto3.FrontendMessage, error) {
	header, err := in.network.Peek(4)
	if err != nil {
		return nil, err
	}
	length := int(int32(binary.BigEndian.Uint32(header)))
	if length < 8 || length-4 > startupMax {
		return nil, fmt.Errorf("invalid length of startup packet: %d", length-4)
	}
	whole := make([]byte, length)
	if _, err := io.ReadFull(in.network, whole); err != nil {
		return nil, err
	}
	knownMinor(whole)
	return pgproto3.NewBackend(bytes.NewReader(whole), io.Discard).ReceiveStartupMessage()
}

// next reads one message, valid until the next call. Errors: *refusedMessage, after which more can be read; those
// of the network, after which more can be read if they are for a deadline; *pgproto3.ExceededMaxBodyLenErr.
func (in *input) next() (pgproto3.FrontendMessage, error) {
	if !in.begun {
		in.release()
		if err := in.header(); err != nil {
			return nil, err
		}
	}
	message := in.messages.of(in.kind)
	if message == nil {
		return nil, fmt.Errorf("unknown message type: %c", in.kind)
	}
	if err := in.rest(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	in.begun = false
	if err := in.refused; err != nil {
		in.refused = nil
		return nil, &refusedMessage{in.kind, err}
	}
	err := message.Decode(in.body)
	if in.copied() && cap(in.body) > bodyKeptBytes { // while the statement runs, its text is enough
		in.rid()
		in.charge.shrink(int64(in.length))
	}
	return message, err
}

// copied reports whether the decoded message has nothing of its body, but a copy.
func (in *input) copied() bool { return in.kind == 'Q' || in.kind == 'P' }

// rid returns the body's buffer to the pool.
func (in *input) rid() {
	bodies.give(in.body)
	in.body = nil
}

// ends reports whether the next message has come, and is Sync.
func (in *input) ends() bool {
	if in.begun || in.network.Buffered() == 0 {
		return false
	}
	kind, err := in.network.Peek(1)
	return err == nil && kind[0] == 'S'
}

func (in *input) header() error {
	header, err := in.network.Peek(5)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	length := int(int32(binary.BigEndian.Uint32(header[1:])))
	if length < 4 {
		return fmt.Errorf("invalid message length: %d", length)
	}
	if length-4 > in.most {
		return &pgproto3.ExceededMaxBodyLenErr{MaxExpectedBodyLen: in.most, ActualBodyLen: length - 4}
	}
	in.kind, in.length, in.begun, in.dropped = header[0], length-4, true, 0
	in.network.Discard(5)
	return nil
}

// rest reads what is missing of the body.
func (in *input) rest() error {
	for len(in.body) < in.length && in.refused == nil {
		if len(in.body) == cap(in.body) {
			in.grow()
			continue
		}
		room := in.body[len(in.body):min(cap(in.body), in.length)]
		n, err := in.network.Read(room)
		in.body = in.body[:len(in.body)+n]
		if err != nil {
			return err
		}
	}
	for in.refused != nil && in.dropped < in.length {
		n, err := in.network.Discard(in.length - in.dropped)
		in.dropped += n
		if err != nil {
			return err
		}
	}
	return nil
}

// grow makes room for more of the body, if the account has it: twice for statements, whose text is a copy when it is
// decoded.
func (in *input) grow() {
	size := bodies.room(min(max(2*cap(in.body), bodyKeptBytes), max(in.length, bodyKeptBytes)))
	if size > bodyKeptBytes {
		copies := int64(1)
		if in.copied() {
			copies = 2
		}
		if err := in.charge.grow(copies * int64(size)); err != nil {
			in.refuse(err, copies*int64(in.length))
			return
		}
	}
	grown := bodies.take(size)[:len(in.body)]
	copy(grown, in.body)
	bodies.give(in.body)
	in.body = grown
}

// refuse drops the message. When even the whole of it would be more than the session may ever have, that is the better
// reason.
func (in *input) refuse(why error, whole int64) {
	in.refused, in.dropped = why, len(in.body)
	in.rid()
	in.charge.shrink(0)
	if err := in.charge.grow(whole); err != nil {
		in.refused = err
	}
	in.charge.shrink(0)
}

// release is for a message that is no longer looked at. Of one that is being read it keeps everything.
func (in *input) release() {
	if in.begun {
		return
	}
	if in.length > bodyKeptBytes {
		in.messages = messages{} // they point into it, or are as long
	}
	if cap(in.body) > bodyKeptBytes {
		in.rid()
	}
	in.body = in.body[:0]
	in.charge.shrink(0)
}

// end drops the last message, complete or not, which is no longer used.
func (in *input) end() {
	in.begun, in.length = false, 0
	in.release()
}

// of is the message of a type; nil: there is none.
func (m *messages) of(kind byte) pgproto3.FrontendMessage {
	switch kind {
	case 'B':
		return &m.bind
	case 'C':
		return &m.closing
	case 'D':
		return &m.describe
	case 'E':
		return &m.execute
	case 'F':
		return &m.functionCall
	case 'f':
		return &m.copyFail
	case 'd':
		return &m.copyData
	case 'c':
		return &m.copyDone
	case 'H':
		return &m.flush
	case 'P':
		return &m.parse
	case 'p':
		return &m.password
	case 'Q':
		return &m.query
	case 'S':
		return &m.sync
	case 'X':
		return &m.terminate
	}
	return nil
}
