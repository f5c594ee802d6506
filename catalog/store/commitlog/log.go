package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

const (
	// HalfBytes is what one half holds, and so how much there is to settle at most before a commit has to wait.
	HalfBytes = 4 << 20
	// stepBytes is how much of a half is made ready at a time: most directories never need more.
	stepBytes = 256 << 10

	headBytes = 40
	alignment = 8
	magic     = 0xC53A10C5
)

var (
	// ErrUnknown: it is not known whether the record is on the disk, nor will the log take another one.
	ErrUnknown = errors.New("it is not known whether the commit log has the transaction; restart the server")
	// ErrDamaged: a record is missing that was on the disk.
	ErrDamaged = errors.New("the commit log is damaged")
)

// File is what a log lies in.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync returns when all that was written is on the disk.
	Sync() error
	// Size is its length.
	Size() (int64, error)
}

// Record is what one Append wrote.
type Record struct {
	Number  uint64
	Payload []byte
	synced  uint64
}

// Log is a log that is written. It is for one goroutine at a time.
type Log struct {
	file   File
	life   uint64
	half   int64 // that is written: 0 or 1
	next   int64 // in the half
	ready  int64 // length of the file: all before it can be written over
	number uint64
	synced uint64
	failed error
	buffer []byte
}

// New returns the log of a life that begins: nothing of before is needed, and the first record has the number behind
// this one.
func New(file File, life, number uint64) (*Log, error) {
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	return &Log{file: file, life: life, number: number, synced: number, ready: size}, nil
}

// Needs is how much of a half a payload takes.
func Needs(payload int) int64 {
	return (headBytes + int64(payload) + alignment - 1) &^ (alignment - 1)
}

// Fits reports whether a payload has room in the half that is written.
func (l *Log) Fits(payload int) bool { return l.next+Needs(payload) <= HalfBytes }

// Append writes the record of the next number. Requires: it Fits. It survives the process when Append has returned, and
// the machine when Sync has.
func (l *Log) Append(payload []byte) error {
	if l.failed != nil {
		return l.failed
	}
	need := Needs(len(payload))
	at := l.half*HalfBytes + l.next
	if err := l.prepare(at + need); err != nil {
		return err
	}
	l.encode(payload, need)
	if _, err := l.file.WriteAt(l.buffer, at); err != nil {
		return l.takeBack(at, err)
	}
	l.next += need
	l.number++
	return nil
}

// prepare fills the file with zeroes up to an end, and some further, so that no record makes it longer.
func (l *Log) prepare(end int64) error {
	if end <= l.ready {
		return nil
	}
	to := min((end+stepBytes-1)/stepBytes*stepBytes, (l.half+1)*HalfBytes)
	if _, err := l.file.WriteAt(make([]byte, to-l.ready), l.ready); err != nil {
		return fmt.Errorf("make the commit log longer: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(err) // records before this may not be on the disk either, whatever a later sync says
	}
	l.ready, l.synced = to, l.number
	return nil
}

func (l *Log) encode(payload []byte, need int64) {
	b := l.buffer[:0]
	b = binary.BigEndian.AppendUint32(b, magic)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint64(b, l.life)
	b = binary.BigEndian.AppendUint64(b, l.number+1)
	b = binary.BigEndian.AppendUint64(b, l.synced)
	b = binary.BigEndian.AppendUint64(b, checksum(b, payload))
	b = append(b, payload...)
	for int64(len(b)) < need {
		b = append(b, 0)
	}
	l.buffer = b
}

func checksum(head, payload []byte) uint64 {
	return xxh3.HashSeed(payload, xxh3.Hash(head[:headBytes-8]))
}

// takeBack erases a record that may be there in part, or whole (CM3).
func (l *Log) takeBack(at int64, cause error) error {
	if _, err := l.file.WriteAt(make([]byte, headBytes), at); err != nil {
		return l.fail(errors.Join(cause, err))
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(errors.Join(cause, err))
	}
	l.synced = l.number
	return fmt.Errorf("write the commit log: %w", cause)
}

// Fail makes the log refuse all later records.
func (l *Log) Fail(cause error) { _ = l.fail(cause) }

func (l *Log) fail(cause error) error {
	l.failed = fmt.Errorf("%w: %w", ErrUnknown, cause)
	return l.failed
}

// Sync returns when all that was appended is on the disk.
func (l *Log) Sync() error {
	if l.failed != nil || l.synced == l.number {
		return l.failed
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(err)
	}
	l.synced = l.number
	return nil
}

// Failed is why nothing can be appended any more, nil if it can.
func (l *Log) Failed() error { return l.failed }

// Unsynced reports whether a Sync has something to do.
func (l *Log) Unsynced() bool { return l.synced != l.number }

// Turn goes on in the other half. Requires: what is there is settled.
func (l *Log) Turn() { l.half, l.next = 1-l.half, 0 }

// Restart goes on where the file begins, behind a number that is not in it. Requires: all up to it is settled.
func (l *Log) Restart(number uint64) {
	l.half, l.next, l.number, l.synced = 0, 0, number, number
}
