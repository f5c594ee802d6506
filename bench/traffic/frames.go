package traffic

import "encoding/binary"

const (
	// preface begins what a client sends; frames follow.
	preface = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	// A frame begins with the length of the rest (3 bytes), its type, flags (1), and its stream (4).
	frameHeader = 9
	frameData   = 0
)

// frames counts the messages in one direction of a connection.
type frames struct {
	skip   int // bytes that are no header
	header []byte
}

// pass takes the next bytes.
func (f *frames) pass(p []byte) (c Count) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		n := min(frameHeader-len(f.header), len(p))
		f.header, p = append(f.header, p[:n]...), p[n:]
		if len(f.header) < frameHeader {
			return c
		}
		length := int(binary.BigEndian.Uint32(f.header) >> 8)
		if f.header[3] == frameData && length > 0 {
			c.Messages++
			c.Bytes += int64(length)
		}
		f.skip, f.header = length, f.header[:0]
	}
	return c
}
