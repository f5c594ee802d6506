package compute

import "github.com/apache/arrow-go/v18/arrow"

// CutMorsels makes morsels of so many rows.
func CutMorsels(rows int64) (restore func()) {
	old := morselRows
	morselRows = rows
	return func() { morselRows = old }
}

// DeletedOf is what Without was called with for a batch.
func DeletedOf(b arrow.RecordBatch) []uint64 {
	if b, ok := b.(*partlyDeleted); ok {
		return b.deleted
	}
	return nil
}
