package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/zeebo/xxh3"
)

// drain is a client that costs next to nothing and the same for every server: it looks at a message's head, hashes rows
// as they lie in its buffer, and makes no value of them.
type drain struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte // for messages that are larger than the buffer
}

// drained is what came. Hashes of rows are added up, so that their order means nothing: SQL promises none.
type drained struct {
	rows, bytes int64
	hash        uint64
}

// drainBuffer is the client's buffer.
const drainBuffer = 256 << 10

func newDrain(ctx context.Context, conninfo string) (*drain, error) {
	connection, err := pgconn.Connect(ctx, conninfo)
	if err != nil {
		return nil, err
	}
	hijacked, err := connection.Hijack()
	if err != nil {
		return nil, err
	}
	return newDrainOver(hijacked.Conn), nil
}

// newDrainOver takes a connection that is ready for a query.
func newDrainOver(conn net.Conn) *drain {
	return &drain{conn: conn, in: bufio.NewReaderSize(conn, drainBuffer)}
}

func (d *drain) close() {
	message, _ := (&pgproto3.Terminate{}).Encode(nil) // it has no parts that could be wrong
	_, _ = d.conn.Write(message)                      // politeness
	_ = d.conn.Close()
}

// query asks by the simple protocol and reads to the end.
func (d *drain) query(ctx context.Context, sql string) (got drained, err error) {
	stop := context.AfterFunc(ctx, func() { d.conn.Close() })
	defer stop()
	message, err := (&pgproto3.Query{String: sql}).Encode(nil)
	if err != nil {
		return got, err
	}
	if _, err := d.conn.Write(message); err != nil {
		return got, err
	}
	for {
		kind, body, err := d.next()
		if err != nil {
			return got, err
		}
		switch kind {
		case 'D':
			got.rows++
			got.bytes += int64(len(body)) + 5
			got.hash += xxh3.Hash(body)
		case 'E':
			return got, serverError(body)
		case 'Z':
			return got, nil
		}
	}
}

// next gives a message's type and body, which is valid until the next call.
func (d *drain) next() (kind byte, body []byte, err error) {
	head, err := d.in.Peek(5)
	if err != nil {
		return 0, nil, err
	}
	kind = head[0]
	size := int(binary.BigEndian.Uint32(head[1:])) + 1
	if size < 5 || size > 1<<30 {
		return 0, nil, fmt.Errorf("a message of type %q and %d bytes", kind, size)
	}
	if size <= drainBuffer {
		if body, err = d.in.Peek(size); err == nil {
			_, err = d.in.Discard(size)
		}
		if err != nil {
			return 0, nil, err
		}
		return kind, body[5:], nil
	}
	if cap(d.body) < size {
		d.body = make([]byte, size)
	}
	_, err = io.ReadFull(d.in, d.body[:size])
	return kind, d.body[5:size], err
}

func serverError(body []byte) error {
	var e pgproto3.ErrorResponse
	if err := e.Decode(body); err != nil {
		return err
	}
	return pgconn.ErrorResponseToPgError(&e)
}
