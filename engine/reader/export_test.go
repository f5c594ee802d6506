package reader

import "github.com/csmsql/csmsql/catalog/descriptor"

// FindDamaged has the reader find that a chunk's only replica is not what was sealed.
func (r *Reader) FindDamaged(table string, d *descriptor.Descriptor, cause error, leasedElsewhere bool) *DamagedError {
	return r.unread(&DamagedError{Table: table, Cause: cause}, leasedElsewhere, d, d, nil)
}

// PassOver notes a replica that is damaged where another one can be read.
func (r *Reader) PassOver(table string, d *descriptor.Descriptor, cause error) {
	r.damage.note(d, &DamagedError{Table: table, Cause: cause}, true)
}

// DamageMax is damageMax.
const DamageMax = damageMax
