package ipcframe

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errMessage = errors.New("its metadata is damaged")

const (
	// nodesMax bounds the tables of one message that are walked: shared ones count as often as they are met, as
	// arrow-go does.
	nodesMax = 1 << 18
	depthMax = 128
)

// message is a flatbuffer of which nothing is trusted.
type message struct {
	data  []byte
	nodes int
}

// table is a table of a message whose own bytes lie in it.
type table struct {
	m      *message
	at     int
	fields []byte // of its vtable: two bytes for each field
	size   int
}

func (m *message) root() (table, error) { return m.tableAt(0) }

// target follows the offset that stands at a place. It never points backward, so there are no circles.
func (m *message) target(at int) (int, error) {
	if at+4 > len(m.data) {
		return 0, errMessage
	}
	to := int64(at) + int64(binary.LittleEndian.Uint32(m.data[at:]))
	if to+4 > int64(len(m.data)) || to == int64(at) {
		return 0, errMessage
	}
	return int(to), nil
}

func (m *message) tableAt(reference int) (table, error) {
	at, err := m.target(reference)
	if err != nil {
		return table{}, err
	}
	if m.nodes++; m.nodes > nodesMax {
		return table{}, fmt.Errorf("%w: it has more than %d parts", errMessage, nodesMax)
	}
	v := int64(at) - int64(int32(binary.LittleEndian.Uint32(m.data[at:])))
	if v < 0 || v+4 > int64(len(m.data)) {
		return table{}, errMessage
	}
	length, size := int64(binary.LittleEndian.Uint16(m.data[v:])), int(binary.LittleEndian.Uint16(m.data[v+2:]))
	if length < 4 || length%2 != 0 || v+length > int64(len(m.data)) || at+size > len(m.data) {
		return table{}, errMessage
	}
	return table{m, at, m.data[v+4 : v+length], size}, nil
}

// field gives where a field stands, 0 if it is absent.
func (t table) field(slot, width int) (int, error) {
	if 2*slot+2 > len(t.fields) {
		return 0, nil
	}
	offset := int(binary.LittleEndian.Uint16(t.fields[2*slot:]))
	if offset == 0 {
		return 0, nil
	}
	if offset+width > t.size {
		return 0, errMessage
	}
	return t.at + offset, nil
}

func (t table) byte(slot int) (byte, error) {
	at, err := t.field(slot, 1)
	if err != nil || at == 0 {
		return 0, err
	}
	return t.m.data[at], nil
}

func (t table) int64(slot int) (int64, error) {
	at, err := t.field(slot, 8)
	if err != nil || at == 0 {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(t.m.data[at:])), nil
}

// table is the table in a field; ok is false if there is none.
func (t table) table(slot int) (inner table, ok bool, err error) {
	at, err := t.field(slot, 4)
	if err != nil || at == 0 {
		return table{}, false, err
	}
	inner, err = t.m.tableAt(at)
	return inner, err == nil, err
}

// vector returns the position of the first of a vector's n elements of the width; they all lie in the message.
func (t table) vector(slot, width int) (first, n int, err error) {
	at, err := t.field(slot, 4)
	if err != nil || at == 0 {
		return 0, 0, err
	}
	if at, err = t.m.target(at); err != nil {
		return 0, 0, err
	}
	count := int64(binary.LittleEndian.Uint32(t.m.data[at:]))
	if int64(at)+4+count*int64(width) > int64(len(t.m.data)) {
		return 0, 0, errMessage
	}
	return at + 4, int(count), nil
}

// each visits the tables of a vector.
func (t table) each(slot int, visit func(table) error) error {
	first, n, err := t.vector(slot, 4)
	if err != nil {
		return err
	}
	for i := range n {
		inner, err := t.m.tableAt(first + 4*i)
		if err == nil {
			err = visit(inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// texts checks fields that are strings.
func (t table) texts(slots ...int) error {
	for _, slot := range slots {
		if _, _, err := t.vector(slot, 1); err != nil {
			return err
		}
	}
	return nil
}
