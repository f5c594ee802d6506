package compute

// CutMorsels makes morsels of so many rows.
func CutMorsels(rows int64) (restore func()) {
	old := morselRows
	morselRows = rows
	return func() { morselRows = old }
}
