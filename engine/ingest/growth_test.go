package ingest_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/engine/ingest"
)

// wideTable is a writer for columns of BIGINT, and a maker of batches for it.
func wideTable(columns int) (*space, *ingest.Writer, func(rows int) arrow.RecordBatch) {
	fields := make([]arrow.Field, columns)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	}
	schema, s := arrow.NewSchema(fields, nil), newSpace(1<<40)
	w := ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: schema})
	return s, w, func(rows int) arrow.RecordBatch {
		same := make([]arrow.Array, columns)
		for i := range same {
			same[i] = numbers(rows)
		}
		return array.NewRecordBatch(schema, same, int64(rows))
	}
}

// TestChunksOfNarrowRowsGrow attacks G6: chunks have as many morsels as the rows' width says, however the rows arrive.
func TestChunksOfNarrowRowsGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const morsel, rows, rowsMax = 40, 80, 320
		columns := rapid.IntRange(1, 12).Draw(t, "columns")
		// Sizes that are multiples of eight have no rounded bits.
		bytesOfMorsel := int64(columns) * (morsel/8 + 8*morsel)
		growth := rapid.Int64Range(1, 4000).Draw(t, "growth")
		want := int64(rows)
		for want < rowsMax && (want/morsel+1)*bytesOfMorsel < growth {
			want += morsel
		}
		_, w, batch := wideTable(columns)
		w.SetGrowth(morsel, rows, rowsMax, growth)
		for range rapid.IntRange(0, 10).Draw(t, "batches") {
			require.NoError(t, w.Add(t.Context(), batch(8*rapid.IntRange(0, 50).Draw(t, "rows"))))
		}
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err)
		left := w.Rows()
		for _, c := range chunks {
			require.Equal(t, min(want, left), c.Rows())
			left -= c.Rows()
		}
		require.Zero(t, left)
	})
}

// Rows that turn wide in the middle of a chunk end it (G6).
func TestGrowthEndsWhenRowsTurnWide(t *testing.T) {
	s, w, schema := writerOf(arrow.BinaryTypes.StringView)
	w.SetGrowth(40, 80, 320, 8000)
	texts := func(n int, text string) arrow.RecordBatch {
		b := array.NewStringViewBuilder(memory.DefaultAllocator)
		defer b.Release()
		for range n {
			b.Append(text)
		}
		return one(schema, b.NewArray())
	}
	require.NoError(t, w.Add(t.Context(), texts(90, "narrow")))
	for range 4 {
		require.NoError(t, w.Add(t.Context(), texts(5, string(make([]byte, 1000)))))
	}
	chunks, err := w.Finish(t.Context())
	require.NoError(t, err)
	require.Len(t, chunks, 2)
	require.EqualValues(t, 100, chunks[0].Rows()) // 10 rows of 1000 bytes are too many
	require.EqualValues(t, 10, chunks[1].Rows())
	require.NoError(t, s.discard(chunks))
}

// The sizes that a load really makes: eight morsels of narrow rows, two of rows as wide as lineitem's.
func TestChunkSizes(t *testing.T) {
	for columns, want := range map[int]int64{1: 8, 4: 8, 5: 6, 10: 3, 16: 2} {
		s, w, batch := wideTable(columns)
		b := batch(2048)
		for w.Rows() < (want+1)*ingest.MorselRows {
			require.NoError(t, w.Add(t.Context(), b))
		}
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err)
		require.Len(t, chunks, 2)
		require.Equal(t, want*ingest.MorselRows, chunks[0].Rows(), "%d columns", columns)
		require.LessOrEqual(t, chunks[0].Bytes(), int64(ingest.GrowthBytes))
		require.NoError(t, s.discard(chunks))
	}
}
