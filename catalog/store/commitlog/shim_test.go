package commitlog_test

import (
	"errors"
	"io"
	"math/rand/v2"
)

// sectorBytes is what a disk writes wholly or not at all.
const sectorBytes = 512

var errDisk = errors.New("the disk says no")

// shim is a file whose writes reach a disk when it is synced, and perhaps before.
type shim struct {
	seen  []byte // by readers of the file now
	disk  []byte // what surely is on the disk
	dirty map[int64]bool
	syncs int
	// writes and fails say how many more of them work; below 0: all.
	writes, works int
}

func newShim() *shim { return &shim{dirty: map[int64]bool{}, writes: -1, works: -1} }

func (s *shim) Size() (int64, error) { return int64(len(s.seen)), nil }

func (s *shim) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(s.seen)) {
		return 0, io.EOF
	}
	n := copy(p, s.seen[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes a half when it fails.
func (s *shim) WriteAt(p []byte, at int64) (int, error) {
	if s.writes == 0 {
		s.store(p[:len(p)/2], at)
		return len(p) / 2, errDisk
	}
	s.writes = max(-1, s.writes-1)
	s.store(p, at)
	return len(p), nil
}

func (s *shim) store(p []byte, at int64) {
	if end := at + int64(len(p)); end > int64(len(s.seen)) {
		s.seen = append(s.seen, make([]byte, end-int64(len(s.seen)))...)
	}
	copy(s.seen[at:], p)
	for sector := at / sectorBytes; sector*sectorBytes < at+int64(len(p)); sector++ {
		s.dirty[sector] = true
	}
}

func (s *shim) Sync() error {
	if s.works == 0 {
		return errDisk
	}
	s.works = max(-1, s.works-1)
	s.syncs++
	s.keep(func() bool { return true })
	return nil
}

// keep has some of what was written reach the disk.
func (s *shim) keep(which func() bool) {
	for sector := range s.dirty {
		if from := sector * sectorBytes; which() {
			to := min(from+sectorBytes, int64(len(s.seen)))
			if to > int64(len(s.disk)) {
				s.disk = append(s.disk, make([]byte, to-int64(len(s.disk)))...)
			}
			copy(s.disk[from:to], s.seen[from:to])
			delete(s.dirty, sector)
		}
	}
}

// cut is the file after the power went: any of what was not synced is there, sector by sector.
func (s *shim) cut(r *rand.Rand) *shim {
	s.keep(func() bool { return r.IntN(2) == 0 })
	after := newShim()
	after.seen, after.disk = append([]byte(nil), s.disk...), append([]byte(nil), s.disk...)
	return after
}
