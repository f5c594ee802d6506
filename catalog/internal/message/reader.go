package message

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is wrapped by every fault a Reader finds.
var ErrMalformed = errors.New("malformed protobuf message")

// Reader walks the fields of one message. It is a value: nested messages get their own with Sub. It counts on in
// the same slice: cutting data shorter for every field would be a write of a pointer each time, which the collector
// wants to know about.
type Reader struct {
	data  []byte
	at    int // the next byte, at most len(data) (W1); len(data) after a fault
	fault error
	tag   uint32 // of the current field: its number and, in the last three bits, its kind
}

// NewReader reads data, which it borrows.
func NewReader(data []byte) Reader { return Reader{data: data} }

// Next moves to the next field; false at the end or after a fault.
func (r *Reader) Next() bool {
	if r.at < len(r.data) && r.data[r.at]-1<<3 < 0x80-1<<3 { // nearly all tags of ours are one byte
		r.tag = uint32(r.data[r.at])
		r.at++
		return true
	}
	return r.nextLong()
}

// nextLong is Next at the end, and for tags that are long or wrong.
func (r *Reader) nextLong() bool {
	if r.at >= len(r.data) { // also after a fault
		return false
	}
	tag := r.rawVarint()
	if r.fault != nil {
		return false
	}
	if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		r.fail("field number %d is not valid", tag>>3)
		return false
	}
	r.tag = uint32(tag)
	return true
}

// Field is the number of the current field.
func (r *Reader) Field() int { return int(r.tag >> 3) }

func (r *Reader) kind() protowire.Type { return protowire.Type(r.tag & 7) }

// Err is the first fault, or nil.
func (r *Reader) Err() error { return r.fault }

// Fail records a fault of the caller's making; the first one wins.
func (r *Reader) Fail(err error) {
	if r.fault == nil && err != nil {
		r.fault = err
		r.at = len(r.data)
	}
}

func (r *Reader) fail(format string, args ...any) {
	r.Fail(fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...))
}

// Uint reads a varint field.
func (r *Reader) Uint() uint64 {
	if r.kind() == protowire.VarintType && r.at < len(r.data) && r.data[r.at] < 0x80 { // and so are nearly all values
		v := uint64(r.data[r.at])
		r.at++
		return v
	}
	if !r.expect(protowire.VarintType) {
		return 0
	}
	return r.rawVarint()
}

// Int reads an int64 field (two's complement varint).
func (r *Reader) Int() int64 { return int64(r.Uint()) }

// Sint reads a sint64 field (zigzag).
func (r *Reader) Sint() int64 { return protowire.DecodeZigZag(r.Uint()) }

// Bool reads a bool field.
func (r *Reader) Bool() bool { return r.Uint() != 0 }

// Fixed reads a fixed64 field.
func (r *Reader) Fixed() uint64 {
	if !r.expect(protowire.Fixed64Type) {
		return 0
	}
	if len(r.data)-r.at < 8 {
		r.fail("field %d: 8 bytes wanted, %d left", r.Field(), len(r.data)-r.at)
		return 0
	}
	v := binary.LittleEndian.Uint64(r.data[r.at:])
	r.at += 8
	return v
}

// Bytes reads a length-delimited field; the result aliases the message.
func (r *Reader) Bytes() []byte {
	if r.kind() == protowire.BytesType && r.at < len(r.data) && r.data[r.at] < 0x80 { // nearly all are short
		begin, end := r.at+1, r.at+1+int(r.data[r.at])
		if end <= len(r.data) {
			r.at = end
			return r.data[begin:end:end]
		}
	}
	if !r.expect(protowire.BytesType) {
		return nil
	}
	n := r.rawVarint()
	if r.fault != nil {
		return nil
	}
	if n > uint64(len(r.data)-r.at) {
		r.fail("field %d: length %d, but %d bytes left", r.Field(), n, len(r.data)-r.at)
		return nil
	}
	end := r.at + int(n)
	v := r.data[r.at:end:end]
	r.at = end
	return v
}

// String reads a length-delimited field into a fresh string.
func (r *Reader) String() string { return string(r.Bytes()) }

// Sub opens a nested message.
func (r *Reader) Sub() Reader { return Reader{data: r.Bytes()} }

// Skip passes over the current field, whatever its type (W2).
func (r *Reader) Skip() {
	if r.kind() == protowire.BytesType {
		r.Bytes()
		return
	}
	n := protowire.ConsumeFieldValue(protowire.Number(r.Field()), r.kind(), r.data[r.at:])
	if n < 0 {
		r.fail("field %d: %v", r.Field(), protowire.ParseError(n))
		return
	}
	r.at += n
}

// Count returns how often a field occurs from here on, so that slices are made once. It does not move the reader and is
// bounded by limit, which keeps hostile messages from asking for much memory.
func (r *Reader) Count(field, limit int) int {
	scan, n := *r, 0
	for n < limit && scan.Next() {
		if scan.Field() == field {
			n++
		}
		scan.Skip()
	}
	return n
}

func (r *Reader) expect(kind protowire.Type) bool {
	if r.fault == nil && r.kind() != kind {
		r.fail("field %d has wire type %d, want %d", r.Field(), r.kind(), kind)
	}
	return r.fault == nil
}

func (r *Reader) rawVarint() uint64 {
	if r.at < len(r.data) && r.data[r.at] < 0x80 {
		v := uint64(r.data[r.at])
		r.at++
		return v
	}
	if r.at+1 < len(r.data) && r.data[r.at+1] < 0x80 {
		v := uint64(r.data[r.at]&0x7f) | uint64(r.data[r.at+1])<<7
		r.at += 2
		return v
	}
	v, n := protowire.ConsumeVarint(r.data[r.at:])
	if n < 0 {
		r.fail("%v", protowire.ParseError(n))
		return 0
	}
	r.at += n
	return v
}
