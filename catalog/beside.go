package catalog

import (
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/internal/persistent"
)

// noteBytes is an entry of the maps in which a transaction notes what it has changed.
const noteBytes = 64

// SavepointBytes estimates what a savepoint takes in memory beside what the transaction is now.
func (t *Transaction) SavepointBytes() int64 { return noteBytes * int64(len(t.relation)+len(t.schema)) }

// KeptBeside estimates what the transaction keeps in memory as it was at one savepoint, and not at an earlier one; nil
// is now, or before its first change. It looks at what has changed between them.
func (t *Transaction) KeptBeside(at, earlier *Savepoint) int64 {
	is, was := t.own, t.base
	if at != nil {
		is = at.own
	}
	if earlier != nil {
		was = earlier.own
	}
	return is.keptBeside(was)
}

// keptBeside estimates what contents keep that others do not, of which they were made.
func (c *Contents) keptBeside(other *Contents) (bytes int64) {
	if c == other {
		return 0
	}
	for was, is := range c.TablesSince(other) {
		bytes += noteBytes + hugetable.PathBytes(c.tables.Len())
		if was == nil || is == nil {
			bytes += 2 * hugetable.PathBytes(c.names.Len())
		}
		if is != nil {
			bytes += is.KeptBeside(was)
		}
	}
	for was, is := range c.ViewsSince(other) {
		bytes += noteBytes + 3*hugetable.PathBytes(c.names.Len())
		if is != nil {
			bytes += viewBeside(is, was)
		}
	}
	bytes += c.keptBesideTypes(other)
	for d := range persistent.Difference(other.schemas, c.schemas) {
		bytes += noteBytes + hugetable.PathBytes(c.schemas.Len()) + int64(len(d.Key)+len(d.After.comment))
	}
	return bytes
}

func viewBeside(v, other *View) int64 {
	bytes := int64(noteBytes)
	if other == nil {
		other = &View{}
	}
	if v.SQL != other.SQL {
		bytes += int64(len(v.SQL))
	}
	return bytes + hugetable.SchemaBytesBeside(v.Columns, other.Columns)
}
