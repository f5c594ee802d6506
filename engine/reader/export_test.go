package reader

import "github.com/csmsql/csmsql/catalog/descriptor"

// FindDamaged has the reader find that a chunk's only replica is not what was sealed.
func (r *Reader) FindDamaged(table string, d *descriptor.Descriptor, cause error) *DamagedError {
	return r.unread(&DamagedError{Table: table, Cause: cause}, d, d, nil)
}
