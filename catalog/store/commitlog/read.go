package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Read returns the records of a life behind a number, in order. torn: something of the next one is there, which did not
// come to the disk whole.
func Read(file File, life, after uint64) (records []Record, torn bool, err error) {
	size, err := file.Size()
	if err != nil {
		return nil, false, err
	}
	image := make([]byte, min(size, 2*HalfBytes))
	if n, err := file.ReadAt(image, 0); err != nil && (!errors.Is(err, io.EOF) || n < len(image)) {
		return nil, false, fmt.Errorf("read the commit log: %w", err)
	}
	found := scan{life: life, whole: map[uint64]Record{}, broken: map[uint64]bool{}}
	for half := 0; half*HalfBytes < len(image); half++ {
		found.scan(image[half*HalfBytes : min(len(image), (half+1)*HalfBytes)])
	}
	next := after + 1
	for r, ok := found.whole[next]; ok; r, ok = found.whole[next] {
		records = append(records, r)
		next++
	}
	if next <= found.synced {
		return nil, false, fmt.Errorf("%w: record %d is not whole, and was on the disk before later ones were written", ErrDamaged, next)
	}
	return records, found.broken[next], nil
}

// scan finds the records of a life wherever they are. Behind one that is damaged the next is found by its magic.
type scan struct {
	life   uint64
	synced uint64 // the newest of what they say
	whole  map[uint64]Record
	broken map[uint64]bool
}

func (s *scan) scan(half []byte) {
	mark := binary.BigEndian.AppendUint32(nil, magic)
	for at := 0; at < len(half); {
		i := bytes.Index(half[at:], mark)
		if i < 0 {
			return
		}
		if at += i; at%alignment != 0 || len(half)-at < headBytes {
			at += len(mark)
			continue
		}
		at += s.record(half[at:])
	}
}

// record decodes what may be a record, and returns how far it reaches.
func (s *scan) record(b []byte) int {
	length := uint64(binary.BigEndian.Uint32(b[4:]))
	if binary.BigEndian.Uint64(b[8:]) != s.life {
		return alignment
	}
	number := binary.BigEndian.Uint64(b[16:])
	if headBytes+length > uint64(len(b)) {
		s.broken[number] = true
		return alignment
	}
	payload := b[headBytes : headBytes+length]
	if binary.BigEndian.Uint64(b[32:]) != checksum(b, payload) {
		s.broken[number] = true
		return alignment
	}
	r := Record{Number: number, Payload: payload, synced: binary.BigEndian.Uint64(b[24:])}
	s.whole[number] = r
	s.synced = max(s.synced, r.synced)
	return int(Needs(len(payload)))
}
