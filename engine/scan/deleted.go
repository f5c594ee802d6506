package scan

// skipDeleted has DuckDB leave out the rows that the version has no longer: the one that the scan reads by then.
func (t *Scan) skipDeleted() { t.Duck.Deleted = t.deleted }

// deleted is called as Open is.
func (t *Scan) deleted(chunk int) ([]uint64, error) {
	if t.keep != nil {
		chunk = t.keep[chunk]
	}
	gone, err := t.Facts.Version.Deleted(t.ctx, chunk)
	return gone.Words(), t.ended(err)
}
