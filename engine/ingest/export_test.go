package ingest

// SetRowsPerChunk makes chunks small.
func (w *Writer) SetRowsPerChunk(n int64) { w.rowsMax = n }

// BatchBytes is what the writer thinks that a batch takes.
var BatchBytes = batchBytes
