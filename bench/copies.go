package bench

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// copyCounter counts the bytes of column data that a side made copies of in its own process, in two ways which have to
// agree that nothing was copied: what it allocated for column data, and which buffers of the finished batches do not
// lie in a lender's mapping. The second one asks where the bytes are and cannot be fooled by code that forgot to count.
type copyCounter struct {
	memory.Allocator
	allocated atomic.Int64
}

func newCopyCounter(base memory.Allocator) *copyCounter { return &copyCounter{Allocator: base} }

// Allocate implements memory.Allocator.
func (c *copyCounter) Allocate(size int) []byte {
	c.allocated.Add(int64(size))
	return c.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator; only growth is new.
func (c *copyCounter) Reallocate(size int, b []byte) []byte {
	c.allocated.Add(int64(max(0, size-len(b))))
	return c.Allocator.Reallocate(size, b)
}

// copied is the larger of both counts.
func (c *copyCounter) copied(batches []arrow.RecordBatch, mapped []span) int64 {
	return max(c.allocated.Load(), bytesOutside(batches, mapped))
}

// bytesOutside adds up the buffers of batches that do not lie in one of the mapped ranges.
func bytesOutside(batches []arrow.RecordBatch, mapped []span) (n int64) {
	for _, batch := range batches {
		for _, column := range batch.Columns() {
			n += outside(column.Data(), mapped)
		}
	}
	return n
}

func outside(data arrow.ArrayData, mapped []span) (n int64) {
	for _, buffer := range data.Buffers() {
		if buffer != nil && buffer.Len() > 0 && !within(buffer.Bytes(), mapped) {
			n += int64(buffer.Len())
		}
	}
	for _, child := range data.Children() {
		n += outside(child, mapped)
	}
	if data.DataType().ID() == arrow.DICTIONARY {
		n += outside(data.Dictionary(), mapped)
	}
	return n
}

// span is a range of this process' addresses.
type span struct{ from, to uintptr }

func within(b []byte, mapped []span) bool {
	from := address(b)
	for _, s := range mapped {
		if from >= s.from && from+uintptr(len(b)) <= s.to {
			return true
		}
	}
	return false
}
