package dbgen_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/queries/dbgen"
)

// BenchmarkScaleFactor1 makes all tables at scale factor 1 with one worker per
// processor, in ranges of 20,000 units:
//
//	go test ./queries/dbgen -run - -bench ScaleFactor1 -benchtime 3x
func BenchmarkScaleFactor1(b *testing.B) {
	for b.Loop() {
		for _, table := range dbgen.Tables() {
			makeTable(b, table)
		}
	}
}

func BenchmarkTableScaleFactor1(b *testing.B) {
	for _, table := range dbgen.Tables() {
		b.Run(table.String(), func(b *testing.B) {
			var bytes int64
			for b.Loop() {
				bytes = makeTable(b, table)
			}
			b.SetBytes(bytes)
		})
	}
}

// makeTable makes a table with one worker per processor and returns its size.
func makeTable(b *testing.B, table dbgen.Table) int64 {
	const unitsPerBatch = 20000
	g := generator(b, 1)
	mem := memory.NewGoAllocator()
	var next, bytes atomic.Int64
	var joined sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		joined.Go(func() {
			for {
				first := next.Add(unitsPerBatch) - unitsPerBatch
				if first >= g.Units(table) {
					return
				}
				batch, err := g.Batch(context.Background(), mem, table, first, min(unitsPerBatch, g.Units(table)-first))
				if err != nil {
					b.Error(err)
					return
				}
				bytes.Add(bufferSize(batch))
				batch.Release()
			}
		})
	}
	joined.Wait()
	return bytes.Load()
}

func bufferSize(batch arrow.RecordBatch) int64 {
	size := 0
	for _, column := range batch.Columns() {
		for _, buffer := range column.Data().Buffers() {
			if buffer != nil {
				size += buffer.Len()
			}
		}
	}
	return int64(size)
}

func BenchmarkLineItemRows(b *testing.B) {
	for b.Loop() {
		require.Equal(b, int64(6001215), generator(b, 1).Rows(dbgen.LineItem))
	}
}
