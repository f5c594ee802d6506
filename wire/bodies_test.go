package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// Every length of a body has a buffer that is long enough, and by no more than an eighth too long; what was given back
// is taken for every length that it is long enough for.
func TestBodiesHaveBuffers(t *testing.T) {
	var p bodyPool
	before := 0
	for size := 1; size <= 1<<27; size += 1 + size/57 {
		place, length := p.class(size)
		require.GreaterOrEqual(t, length, size)
		require.LessOrEqual(t, length, size+size/8+1)
		require.Equal(t, size > 1<<bodyPooledLeast && size <= 1<<bodyPooledMost, place >= 0, size)
		if place < 0 {
			continue
		}
		require.GreaterOrEqual(t, place, before)
		require.Less(t, place, len(p.classes))
		again, same := p.class(length)
		require.Equal(t, []int{place, length}, []int{again, same})
		before = place
	}
	require.Equal(t, len(p.classes)-1, before)
}

// Long messages of many connections are read into buffers that are there already: what is allocated for them is less
// than they have bytes, though the race detector's build forgets a quarter. It was two and a half times as much.
func TestBuffersOfBodiesAreUsedAgain(t *testing.T) {
	const length, times = 3_000_000, 200
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would empty the pool
	message := binary.BigEndian.AppendUint32([]byte{'d'}, length+4)
	message = append(message, bytes.Repeat([]byte{'x'}, length)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range times {
		sent := message
		whole := i%2 == 0
		if !whole {
			sent = message[:length/2+i]
		}
		in := newInput(bytes.NewReader(sent), MaxMessageBytesDefault)
		read, err := in.next()
		if whole {
			require.NoError(t, err)
			require.Equal(t, message[5:], read.(*pgproto3.CopyData).Data)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
		in.end()
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(length*times*3/4))
}

// counted is an account that refuses nothing.
type counted struct{ bytes int64 }

func (c *counted) Take(_ string, bytes int64) error { c.bytes += bytes; return nil }
func (c *counted) Give(_ string, bytes int64)       { c.bytes -= bytes }

// While a statement runs its text is kept once: its message's buffer is back in the pool, and charged to no account.
func TestTextsAreKeptOnce(t *testing.T) {
	text := "SELECT '" + string(bytes.Repeat([]byte{'x'}, 1_000_000)) + "'"
	message, err := (&pgproto3.Query{String: text}).Encode(nil)
	require.NoError(t, err)
	message, err = (&pgproto3.Parse{Query: text}).Encode(message)
	require.NoError(t, err)
	message, err = (&pgproto3.CopyData{Data: []byte(text)}).Encode(message)
	require.NoError(t, err)
	var account counted
	in := newInput(bytes.NewReader(message), MaxMessageBytesDefault)
	in.charge.account = &account

	query, err := in.next()
	require.NoError(t, err)
	require.EqualValues(t, in.length, account.bytes)
	require.Nil(t, in.body)
	require.Equal(t, text, query.(*pgproto3.Query).String)
	parse, err := in.next()
	require.NoError(t, err)
	require.EqualValues(t, in.length, account.bytes)
	require.Nil(t, in.body)
	require.Equal(t, text, parse.(*pgproto3.Parse).Query)
	data, err := in.next()
	require.NoError(t, err)
	require.EqualValues(t, cap(in.body), account.bytes)
	require.Equal(t, text, string(data.(*pgproto3.CopyData).Data))
	in.release()
	require.Zero(t, account.bytes)
}
