package message

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Writer appends fields to a buffer that it owns until the caller takes it.
type Writer struct{ Buf []byte }

func (w *Writer) tag(field int, kind protowire.Type) {
	w.varint(uint64(field)<<3 | uint64(kind))
}

func (w *Writer) varint(v uint64) {
	if v < 0x80 {
		w.Buf = append(w.Buf, byte(v))
		return
	}
	w.Buf = protowire.AppendVarint(w.Buf, v)
}

// Uint writes a varint field, also when it is zero; callers leave out defaults themselves where that saves bytes.
func (w *Writer) Uint(field int, v uint64) {
	w.tag(field, protowire.VarintType)
	w.varint(v)
}

// OptionalUint writes a varint field unless it is zero.
func (w *Writer) OptionalUint(field int, v uint64) {
	if v != 0 {
		w.Uint(field, v)
	}
}

// Int writes an int64 field unless it is zero.
func (w *Writer) Int(field int, v int64) { w.OptionalUint(field, uint64(v)) }

// Sint writes a sint64 field, also when it is zero.
func (w *Writer) Sint(field int, v int64) { w.Uint(field, protowire.EncodeZigZag(v)) }

// Bool writes a true bool field.
func (w *Writer) Bool(field int, v bool) {
	if v {
		w.Uint(field, 1)
	}
}

// Fixed writes a fixed64 field.
func (w *Writer) Fixed(field int, v uint64) {
	w.tag(field, protowire.Fixed64Type)
	w.Buf = binary.LittleEndian.AppendUint64(w.Buf, v)
}

// Bytes writes a length-delimited field, also when it is empty.
func (w *Writer) Bytes(field int, v []byte) {
	w.tag(field, protowire.BytesType)
	w.varint(uint64(len(v)))
	w.Buf = append(w.Buf, v...)
}

// String writes a string field, also when it is empty.
func (w *Writer) String(field int, v string) {
	w.tag(field, protowire.BytesType)
	w.varint(uint64(len(v)))
	w.Buf = append(w.Buf, v...)
}

// OptionalString writes a string field unless it is empty.
func (w *Writer) OptionalString(field int, v string) {
	if v != "" {
		w.String(field, v)
	}
}

// Begin opens a nested message and returns what End needs. One byte is set aside for the length, which suffices for
// nearly every message of ours; End moves the bytes in the rare other case. Writing twice to learn sizes first was
// slower.
func (w *Writer) Begin(field int) int {
	w.tag(field, protowire.BytesType)
	w.Buf = append(w.Buf, 0)
	return len(w.Buf)
}

// End closes the nested message that Begin opened.
func (w *Writer) End(start int) {
	length := len(w.Buf) - start
	if length < 0x80 {
		w.Buf[start-1] = byte(length)
		return
	}
	extra := protowire.SizeVarint(uint64(length)) - 1
	w.Buf = append(w.Buf, make([]byte, extra)...)
	copy(w.Buf[start+extra:], w.Buf[start:start+length])
	protowire.AppendVarint(w.Buf[:start-1], uint64(length))
}
