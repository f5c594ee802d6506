package arraytest

import "github.com/csmsql/csmsql/memregion"

// Bump is an allocator that gives LineSize-aligned pieces of Data and never takes one back. Data starts on a line.
type Bump struct {
	Data []byte
	top  int
}

// Allocate implements memory.Allocator.
func (b *Bump) Allocate(size int) []byte {
	from := b.top
	b.top += (size + memregion.LineSize - 1) / memregion.LineSize * memregion.LineSize
	return b.Data[from : from+size : from+size]
}

// Reallocate implements memory.Allocator.
func (b *Bump) Reallocate(size int, old []byte) []byte {
	fresh := b.Allocate(size)
	copy(fresh, old)
	return fresh
}

// Free implements memory.Allocator.
func (b *Bump) Free([]byte) {}
