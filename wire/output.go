package wire

import (
	"errors"
	"io"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
)

// output collects messages for the client. Nothing is sent before flush, or until the buffer is full (W5): a client
// that does not read holds up only itself. The first write error is kept and ends the connection, so code that only
// appends need not check.
type output struct {
	network io.Writer
	buffer  []byte
	charge  charge
	failure error
}

// send appends a message.
func (o *output) send(message pgproto3.BackendMessage) {
	extended, err := message.Encode(o.buffer)
	if err != nil {
		o.fail(err)
		return
	}
	o.buffer = extended
	if o.full() {
		o.flush()
	}
}

// full reports whether it is time to flush.
func (o *output) full() bool { return len(o.buffer) >= OutputBufferBytes }

// buffers are those that connections fill with rows. One that waits for its client's next message has none.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, OutputBufferBytes+outputSpare)
	return &b
}}

const (
	// outputSpare is room for the row that fills a buffer.
	outputSpare = 16 << 10
	// outputKeptBytes is what a buffer may have while the client says nothing.
	outputKeptBytes = 16 << 10
)

// makeRoom is for many rows: what a buffer would grow to is there at once.
func (o *output) makeRoom() {
	if cap(o.buffer) < OutputBufferBytes {
		roomy := *buffers.Get().(*[]byte)
		o.buffer = append(roomy[:0], o.buffer...)
	}
}

// rest is for a connection that waits for its client: its buffer, which is empty, returns to the pool.
func (o *output) rest() {
	if size := cap(o.buffer); size > outputKeptBytes {
		if roomy := o.buffer[:0]; size >= OutputBufferBytes && size <= 2*OutputBufferBytes {
			buffers.Put(&roomy)
		}
		o.buffer = nil
	}
	o.charge.shrink(0)
}

// flushRows is flush of a buffer that rows have filled, which waits for as long as the client likes: what it has is
// charged. A refusal ends the statement; the row that was too much is not sent.
func (o *output) flushRows(complete int) error {
	if size := int64(cap(o.buffer)); size > outputKeptBytes {
		if err := o.charge.grow(size); err != nil {
			o.buffer = append([]byte(nil), o.buffer[:complete]...)
			return err
		}
	}
	return o.flush()
}

// flush sends everything.
func (o *output) flush() error {
	if o.failure == nil && len(o.buffer) > 0 {
		if _, err := o.network.Write(o.buffer); err != nil {
			o.fail(err)
		}
	}
	o.buffer = o.buffer[:0]
	if cap(o.buffer) > 4*OutputBufferBytes { // one giant row must not stay for the life of the connection
		o.buffer = nil
	}
	if o.charge.bytes > int64(cap(o.buffer)) {
		o.charge.shrink(int64(cap(o.buffer)))
	}
	return o.failure
}

func (o *output) fail(err error) {
	if o.failure == nil {
		o.failure = errors.Join(ErrConnectionLost, err)
	}
}
