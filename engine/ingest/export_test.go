package ingest

// SetRowsPerChunk makes chunks small, all of n rows.
func (w *Writer) SetRowsPerChunk(n int64) { w.limits.morsel, w.limits.rows, w.limits.rowsMax = n, n, n }

// SetGrowth makes morsels, chunks and the bytes up to which they grow small.
func (w *Writer) SetGrowth(morsel, rows, rowsMax, bytes int64) {
	w.limits = limits{morsel, rows, rowsMax, bytes, BytesPerChunk}
}

// BatchBytes is what the writer thinks that a batch takes.
var BatchBytes = batchBytes
