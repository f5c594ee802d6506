package ipcframe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// TooLargeError says that a message is for more memory than the limit.
type TooLargeError struct{ Bytes, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a batch of %d bytes is larger than the %d that there are for one", e.Bytes, e.Limit)
}

var magic = []byte("ARROW1")

// block is where a frame stands.
type block struct{ offset, metadata, body int64 }

type checker struct {
	file   io.ReaderAt
	size   int64
	limit  int64
	blocks map[block]bool
}

// Check looks at all frames of a file of size bytes (I1, I2). limit bounds what arrow-go allocates for one message.
func Check(file io.ReaderAt, size, limit int64) error {
	c := &checker{file: file, size: size, limit: limit, blocks: map[block]bool{}}
	if size < 8 {
		return errors.New("it is too short")
	}
	if stream, err := IsStream(file); err != nil {
		return err
	} else if stream {
		_, err := c.frames(0, size)
		return err
	}
	footer, end, err := c.footer()
	if err != nil {
		return err
	}
	if _, err := c.frames(8, end); err != nil {
		return err
	}
	return c.checkFooter(footer)
}

// IsStream reports whether a file is a stream. A file must not be read as a stream: its first bytes would be a length.
func IsStream(file io.ReaderAt) (bool, error) {
	start := make([]byte, len(magic))
	_, err := file.ReadAt(start, 0)
	return !bytes.Equal(start, magic), err
}

// footer reads a file's last message, and returns where it begins.
func (c *checker) footer() (*message, int64, error) {
	tail := make([]byte, 4+len(magic))
	at := c.size - int64(len(tail))
	if at < 8 {
		return nil, 0, errors.New("it is too short")
	}
	if _, err := c.file.ReadAt(tail, at); err != nil {
		return nil, 0, err
	}
	length := int64(int32(binary.LittleEndian.Uint32(tail)))
	if !bytes.Equal(tail[4:], magic) || length <= 0 || length > at-8 {
		return nil, 0, errors.New("its end is damaged or missing")
	}
	m := &message{data: make([]byte, length)}
	if _, err := c.file.ReadAt(m.data, at-length); err != nil {
		return nil, 0, err
	}
	return m, at - length, nil
}

func (c *checker) checkFooter(m *message) error {
	t, err := m.root()
	if err != nil {
		return err
	}
	schema, ok, err := t.table(1)
	if err != nil || !ok {
		return errors.Join(errMessage, err)
	}
	if err := checkSchema(schema); err != nil {
		return err
	}
	if err := keyValues(t, 4); err != nil {
		return err
	}
	for _, slot := range []int{2, 3} {
		first, n, err := t.vector(slot, 24)
		if err != nil {
			return err
		}
		for i := range n {
			x := m.data[first+24*i:]
			b := block{int64(binary.LittleEndian.Uint64(x)), int64(int32(binary.LittleEndian.Uint32(x[8:]))), int64(binary.LittleEndian.Uint64(x[16:]))}
			if !c.blocks[b] {
				return fmt.Errorf("%w: its footer names a batch at %d that is not there", errMessage, b.offset)
			}
		}
	}
	return nil
}

// frames goes over the messages from at on; it stops at the mark of the end, or at end.
func (c *checker) frames(at, end int64) (int64, error) {
	for at+4 <= end {
		head := make([]byte, min(8, end-at))
		if _, err := c.file.ReadAt(head, at); err != nil {
			return at, err
		}
		prefix := int64(4)
		length := int64(int32(binary.LittleEndian.Uint32(head)))
		if length == -1 { // the marker that formats since 0.15 have
			if len(head) < 8 {
				return at, errMessage
			}
			prefix, length = 8, int64(int32(binary.LittleEndian.Uint32(head[4:])))
		}
		if length == 0 {
			return at + prefix, nil
		}
		if length < 0 || at+prefix+length > end {
			return at, fmt.Errorf("%w at byte %d", errMessage, at)
		}
		m := &message{data: make([]byte, length)}
		if _, err := c.file.ReadAt(m.data, at+prefix); err != nil {
			return at, err
		}
		body := at + prefix + length
		bytes, err := c.checkMessage(m, body, end)
		if err != nil {
			return at, err
		}
		c.blocks[block{at, prefix + length, bytes}] = true
		at = body + bytes
	}
	return at, nil
}

// The kinds of messages.
const (
	kindSchema     = 1
	kindDictionary = 2
	kindBatch      = 3
)

// checkMessage returns the length of the message's body, which begins at body.
func (c *checker) checkMessage(m *message, body, end int64) (int64, error) {
	t, err := m.root()
	if err != nil {
		return 0, err
	}
	kind, err := t.byte(1)
	if err != nil {
		return 0, err
	}
	length, err := t.int64(3)
	if err != nil {
		return 0, err
	}
	if length < 0 || length > end-body {
		return 0, fmt.Errorf("it ends in the middle of a batch, or %w", errMessage)
	}
	if length > c.limit {
		return 0, &TooLargeError{length, c.limit}
	}
	header, ok, err := t.table(2)
	if err == nil && !ok {
		err = errMessage
	}
	if err == nil {
		err = keyValues(t, 4)
	}
	if err != nil {
		return 0, err
	}
	switch kind {
	case kindSchema:
		err = checkSchema(header)
	case kindDictionary:
		batch, ok, failed := header.table(1)
		if err = failed; err == nil && ok {
			err = c.checkBatch(batch, body, length)
		}
	case kindBatch:
		err = c.checkBatch(header, body, length)
	default:
		err = fmt.Errorf("it has messages of kind %d, which are none of a table", kind)
	}
	return length, err
}

func (c *checker) checkBatch(t table, body, length int64) error {
	if _, _, err := t.vector(1, 16); err != nil {
		return err
	}
	buffers, n, err := t.vector(2, 16)
	if err != nil {
		return err
	}
	counts, views, err := t.vector(4, 8)
	if err != nil {
		return err
	}
	for i := range views {
		if k := int64(binary.LittleEndian.Uint64(t.m.data[counts+8*i:])); k < 0 || k > int64(n) {
			return errMessage
		}
	}
	_, packed, err := t.table(3)
	if err != nil {
		return err
	}
	var sum int64
	for i := range n {
		x := t.m.data[buffers+16*i:]
		at, size := int64(binary.LittleEndian.Uint64(x)), int64(binary.LittleEndian.Uint64(x[8:]))
		if at < 0 || size < 0 || size > length-at {
			return fmt.Errorf("a buffer lies outside of its batch: %w", errMessage)
		}
		if packed && size >= 8 {
			var plain [8]byte
			if _, err := c.file.ReadAt(plain[:], body+at); err != nil {
				return err
			}
			if size = int64(binary.LittleEndian.Uint64(plain[:])); size < -1 {
				return errMessage
			}
			size = max(size, 0)
		}
		if sum += size; sum < 0 || sum > c.limit {
			return &TooLargeError{max(sum, c.limit), c.limit}
		}
	}
	return nil
}

// checkSchema walks what arrow-go walks.
func checkSchema(t table) error {
	if err := keyValues(t, 2); err != nil {
		return err
	}
	if _, _, err := t.vector(3, 8); err != nil {
		return err
	}
	return t.each(1, func(f table) error { return checkField(f, 0) })
}

func checkField(t table, depth int) error {
	if depth > depthMax {
		return fmt.Errorf("%w: its columns are nested more than %d deep", errMessage, depthMax)
	}
	if err := t.texts(0); err != nil {
		return err
	}
	const timestamp, union = 10, 14
	kind, err := t.byte(2)
	if err != nil {
		return err
	}
	of, ok, err := t.table(3)
	switch {
	case ok && kind == union:
		_, _, err = of.vector(1, 4)
	case ok && kind == timestamp:
		err = of.texts(1)
	}
	if err != nil {
		return err
	}
	if dictionary, ok, err := t.table(4); err != nil {
		return err
	} else if ok {
		if _, _, err := dictionary.table(1); err != nil {
			return err
		}
	}
	if err := keyValues(t, 6); err != nil {
		return err
	}
	return t.each(5, func(child table) error { return checkField(child, depth+1) })
}

func keyValues(t table, slot int) error {
	return t.each(slot, func(pair table) error { return pair.texts(0, 1) })
}
