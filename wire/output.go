package wire

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// output collects messages for the client. Nothing is sent before flush, or until rows have filled the buffer (W5). The
// first write error is kept and ends the connection: who only appends need not look.
type output struct {
	network io.Writer
	buffer  []byte
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
}

// full tells that it is time to flush.
func (o *output) full() bool { return len(o.buffer) >= OutputBufferBytes }

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
	return o.failure
}

func (o *output) fail(err error) {
	if o.failure == nil {
		o.failure = errors.Join(ErrConnectionLost, err)
	}
}
