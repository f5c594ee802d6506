package ipcframe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ipcframe"
)

// broken counts its reads, of which one fails.
type broken struct {
	io.ReaderAt
	reads, fails int
}

var errBroken = errors.New("the disk is broken")

func (b *broken) ReadAt(p []byte, at int64) (int, error) {
	if b.reads++; b.reads == b.fails {
		return 0, errBroken
	}
	return b.ReaderAt.ReadAt(p, at)
}

// A file that cannot be read is not taken for a good one, wherever that begins.
func TestReadsThatFail(t *testing.T) {
	for _, data := range [][]byte{written(t, true, ipc.WithZstd()), written(t, false)} {
		all := &broken{ReaderAt: bytes.NewReader(data)}
		require.NoError(t, ipcframe.Check(all, int64(len(data)), limit))
		for k := range all.reads {
			require.ErrorIs(t, ipcframe.Check(&broken{bytes.NewReader(data), 0, k + 1}, int64(len(data)), limit), errBroken, "read %d", k)
		}
	}
}

func number(data []byte) int { return int(int32(binary.LittleEndian.Uint32(data))) }

// fieldAt is where a field of a flatbuffer stands: steps are fields of tables, and elements of vectors as -1, -2 and so on. A last step of 100 is
// where the vector's length stands.
func fieldAt(t *testing.T, m []byte, steps ...int) int {
	table := number(m)
	for i := 0; ; i++ {
		vtable := table - number(m[table:])
		require.Less(t, 4+2*steps[i], int(binary.LittleEndian.Uint16(m[vtable:])), "no such field: %v", steps)
		offset := int(binary.LittleEndian.Uint16(m[vtable+4+2*steps[i]:]))
		require.NotZero(t, offset, "no such field: %v", steps)
		at := table + offset
		if i+1 < len(steps) && steps[i+1] == 100 {
			return at + number(m[at:])
		}
		if i+1 < len(steps) && steps[i+1] < 0 {
			i++
			at += number(m[at:]) + 4 + 4*(-steps[i]-1)
		}
		if i+1 == len(steps) {
			return at
		}
		table = at + number(m[at:])
	}
}

// messages are those of a stream.
func messages(data []byte) (list [][]byte) {
	for at := 0; ; {
		length := number(data[at+4:])
		if length == 0 {
			return list
		}
		m := data[at+8 : at+8+length]
		list = append(list, m)
		at += 8 + length
		table := number(m)
		vtable := table - number(m[table:])
		if 4+2*3 < int(binary.LittleEndian.Uint16(m[vtable:])) {
			if offset := int(binary.LittleEndian.Uint16(m[vtable+4+2*3:])); offset != 0 {
				at += int(binary.LittleEndian.Uint64(m[table+offset:]))
			}
		}
	}
}

// The messages of what written writes, and the tables in them.
const (
	ofSchema, ofDictionary, ofBatch, ofFooter = 0, 1, 2, 3

	header, body      = 2, 3    // of a message
	fields, metadata  = 1, 2    // of a schema
	name, kind, typed = 0, 2, 3 // of a field
	nodes, buffers    = 1, 2    // of a batch
	packing, variadic = 3, 4    // of a batch
	length            = 100     // of a vector
)

// I1: every reference that arrow-go follows is followed before, wherever it stands.
func TestReferencesThatAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		message int
		steps   []int
	}{
		"a message's header":          {ofSchema, []int{header}},
		"a schema's fields":           {ofSchema, []int{header, fields}},
		"their number":                {ofSchema, []int{header, fields, length}},
		"a field":                     {ofSchema, []int{header, fields, -2}},
		"a field's name":              {ofSchema, []int{header, fields, -1, name}},
		"its length":                  {ofSchema, []int{header, fields, -1, name, length}},
		"a field's type":              {ofSchema, []int{header, fields, -1, typed}},
		"a time zone":                 {ofSchema, []int{header, fields, -4, typed, 1}},
		"a union's codes":             {ofSchema, []int{header, fields, -6, typed, 1}},
		"their length":                {ofSchema, []int{header, fields, -6, typed, 1, length}},
		"a dictionary":                {ofSchema, []int{header, fields, -2, 4}},
		"its index":                   {ofSchema, []int{header, fields, -2, 4, 1}},
		"a field's metadata":          {ofSchema, []int{header, fields, -1, 6}},
		"a key of them":               {ofSchema, []int{header, fields, -1, 6, -1, 0}},
		"a value of them":             {ofSchema, []int{header, fields, -1, 6, -1, 1}},
		"a list's field":              {ofSchema, []int{header, fields, -5, 5, -1}},
		"its field":                   {ofSchema, []int{header, fields, -5, 5, -1, 5}},
		"its name":                    {ofSchema, []int{header, fields, -5, 5, -1, 5, -1, name}},
		"a schema's metadata":         {ofSchema, []int{header, metadata}},
		"a key of the schema's":       {ofSchema, []int{header, metadata, -1, 0}},
		"a dictionary's batch":        {ofDictionary, []int{header, 1}},
		"a dictionary's buffers":      {ofDictionary, []int{header, 1, buffers}},
		"a dictionary's nodes":        {ofDictionary, []int{header, 1, nodes}},
		"a batch's nodes":             {ofBatch, []int{header, nodes}},
		"the number of its nodes":     {ofBatch, []int{header, nodes, length}},
		"a batch's buffers":           {ofBatch, []int{header, buffers}},
		"the number of its buffers":   {ofBatch, []int{header, buffers, length}},
		"a batch's packing":           {ofBatch, []int{header, packing}},
		"a batch's counts":            {ofBatch, []int{header, variadic}},
		"a footer's schema":           {ofFooter, []int{1}},
		"a name in a footer's schema": {ofFooter, []int{1, fields, -1, name}},
		"a footer's dictionaries":     {ofFooter, []int{2}},
		"a footer's batches":          {ofFooter, []int{3}},
		"the number of them":          {ofFooter, []int{3, length}},
	} {
		data, m := message(t, c.message)
		binary.LittleEndian.PutUint32(m[fieldAt(t, m, c.steps...):], 0x7ffffff0)
		require.ErrorContains(t, check(data), "its metadata is damaged", what)
	}
}

// message is a file that is good, and one of its messages, which is a part of it.
func message(t *testing.T, which int) (data, m []byte) {
	if which < ofFooter {
		data = written(t, true, ipc.WithZstd())
		return data, messages(data)[which]
	}
	data = written(t, false)
	end := len(data) - 10
	return data, data[end-number(data[end:]) : end]
}

// I1, I2: numbers that cannot be.
func TestNumbersThatAreRefused(t *testing.T) {
	put := func(m []byte, at int, v int64) { binary.LittleEndian.PutUint64(m[at:], uint64(v)) }
	for what, c := range map[string]struct {
		message int
		alter   func(m []byte)
		says    string
	}{
		"a body of less than nothing":   {ofBatch, func(m []byte) { put(m, fieldAt(t, m, body), -8) }, "in the middle of a batch"},
		"a body behind the end":         {ofBatch, func(m []byte) { put(m, fieldAt(t, m, body), 1<<19) }, "in the middle of a batch"},
		"a kind that no table has":      {ofBatch, func(m []byte) { m[fieldAt(t, m, 1)] = 4 }, "messages of kind 4"},
		"no header":                     {ofBatch, func(m []byte) { binary.LittleEndian.PutUint16(slot(m, header), 0) }, "metadata is damaged"},
		"a buffer before its batch":     {ofBatch, func(m []byte) { put(m, fieldAt(t, m, header, buffers, length)+4, -8) }, "outside of its batch"},
		"a buffer behind its batch":     {ofBatch, func(m []byte) { put(m, fieldAt(t, m, header, buffers, length)+4, 1<<40) }, "outside of its batch"},
		"a buffer of less than nothing": {ofBatch, func(m []byte) { put(m, fieldAt(t, m, header, buffers, length)+12, -8) }, "outside of its batch"},
		"a buffer that is too long":     {ofBatch, func(m []byte) { put(m, fieldAt(t, m, header, buffers, length)+12, 1<<40) }, "outside of its batch"},
		"a dictionary's buffer":         {ofDictionary, func(m []byte) { put(m, fieldAt(t, m, header, 1, buffers, length)+4, -8) }, "outside of its batch"},
		"fewer views than none":         {ofBatch, func(m []byte) { put(m, fieldAt(t, m, header, variadic, length)+4, -1) }, "metadata is damaged"},
		"more views than buffers":       {ofBatch, func(m []byte) { put(m, fieldAt(t, m, header, variadic, length)+4, 1<<40) }, "metadata is damaged"},
		"a footer without schema":       {ofFooter, func(m []byte) { binary.LittleEndian.PutUint16(slot(m, 1), 0) }, "metadata is damaged"},
		"a batch that is not there":     {ofFooter, func(m []byte) { put(m, fieldAt(t, m, 3, length)+4, 8) }, "names a batch at 8"},
		"a body beyond its table":       {ofSchema, func(m []byte) { binary.LittleEndian.PutUint16(slot(m, body), 0x7ff0) }, "metadata is damaged"},
		"a kind beyond its table":       {ofSchema, func(m []byte) { binary.LittleEndian.PutUint16(slot(m, 1), 0x7ff0) }, "metadata is damaged"},
		"no kind":                       {ofSchema, func(m []byte) { binary.LittleEndian.PutUint16(slot(m, 1), 0) }, "messages of kind 0"},
		"a message that begins nowhere": {ofBatch, func(m []byte) { m[3] = 0x7f }, "metadata is damaged"},
		"a footer that begins nowhere":  {ofFooter, func(m []byte) { m[3] = 0x7f }, "metadata is damaged"},
		"a table of odd fields":         {ofBatch, func(m []byte) { m[number(m)-number(m[number(m):])]++ }, "metadata is damaged"},
		"a table beyond its message":    {ofBatch, func(m []byte) { v := number(m) - number(m[number(m):]); m[v+2], m[v+3] = 0xff, 0x7f }, "metadata is damaged"},
	} {
		data, m := message(t, c.message)
		c.alter(m)
		require.ErrorContains(t, check(data), c.says, what)
	}
	data := written(t, true)
	m := messages(data)[ofBatch]
	var large *ipcframe.TooLargeError
	require.ErrorAs(t, ipcframe.Check(bytes.NewReader(data), int64(len(data)), int64(binary.LittleEndian.Uint64(m[fieldAt(t, m, body):]))-1), &large)

	data = written(t, true, ipc.WithZstd())
	m = messages(data)[ofBatch]
	at := 0
	for b := fieldAt(t, m, header, buffers, length) + 4; b+16 <= fieldAt(t, m, header, buffers, length)+4+16*number(m[fieldAt(t, m, header, buffers, length):]); b += 16 {
		if binary.LittleEndian.Uint64(m[b+8:]) >= 8 {
			at = len(data) - len(data[bodyOf(data, ofBatch)+number(m[b:]):])
		}
	}
	put(data, at, -2)
	require.ErrorContains(t, check(data), "metadata is damaged")
	put(data, at, math.MaxInt64) // which with those before it is less than nothing
	require.ErrorAs(t, check(data), &large)
	put(data, at, limit+1)
	require.ErrorAs(t, check(data), &large)
}

// bodyOf is where the body of a stream's message begins.
func bodyOf(data []byte, n int) int {
	m := messages(data)[n]
	return cap(data) - cap(m) + len(m)
}

// slot is where the table of a message says where its field stands.
func slot(m []byte, field int) []byte {
	return m[number(m)-number(m[number(m):])+4+2*field:]
}

// What is neither a file nor a stream.
func TestEndsThatAreRefused(t *testing.T) {
	good := written(t, false)
	end := len(good) - 10
	for what, c := range map[string]struct {
		data []byte
		says string
	}{
		"half a message":     {[]byte{0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0}, "metadata is damaged"},
		"seven zeros":        {make([]byte, 7), "too short"},
		"a file's two ends":  {[]byte("ARROW1\x00\x00ARROW1"), "too short"},
		"another end":        {append(bytes.Clone(good[:len(good)-1]), '2'), "its end is damaged"},
		"a footer too long":  {append(binary.LittleEndian.AppendUint32(bytes.Clone(good[:end]), uint32(end-7)), "ARROW1"...), "its end is damaged"},
		"a footer too short": {append(binary.LittleEndian.AppendUint32(bytes.Clone(good[:end]), 0), "ARROW1"...), "its end is damaged"},
	} {
		require.ErrorContains(t, check(c.data), c.says, what)
	}
}
