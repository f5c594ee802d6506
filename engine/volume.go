package engine

import (
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
)

// volume is what one execution of a statement, or of a part of one, has read: the columns that were opened, in whole chunks, as they
// lie in memory. Safe for concurrent use.
type volume struct {
	local, remote atomic.Int64 // bytes of tables, on this node and on others
	// The same of what parts of the statement gave to others.
	resultsLocal, resultsRemote atomic.Int64
}

// count adds columns of a chunk; result: it was made by a part of the statement.
func (v *volume) count(own bool, c *catalog.Chunk, columns []int, result bool) {
	if v == nil {
		return
	}
	to := &v.remote
	switch {
	case result && own:
		to = &v.resultsLocal
	case result:
		to = &v.resultsRemote
	case own:
		to = &v.local
	}
	to.Add(c.Descriptor().ColumnBytes(columns))
}

// ours tells whether a chunk is read in this node's own memory, if nothing is wrong with that.
func (e *Engine) ours(c *catalog.Chunk) bool {
	d := c.Descriptor()
	for i := range d.Replicas() {
		if extents := d.ExtentsOf(i); len(extents) == 0 || e.lendsItself(extents[0].Region) {
			return true
		}
	}
	return false
}
