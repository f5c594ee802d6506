package reader

import (
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
)

// Volume is what one execution of a statement, or of a part of one, has read: the columns that were opened, in
// whole chunks, as they lie in memory. Safe for concurrent use.
type Volume struct {
	Local, Remote atomic.Int64 // bytes of tables, on this node and on others
	// The same of what parts of the statement gave to others.
	ResultsLocal, ResultsRemote atomic.Int64
}

// Count adds columns of a chunk; result: it was made by a part of the statement.
func (v *Volume) Count(own bool, c *catalog.Chunk, columns []int, result bool) {
	if v == nil {
		return
	}
	to := &v.Remote
	switch {
	case result && own:
		to = &v.ResultsLocal
	case result:
		to = &v.ResultsRemote
	case own:
		to = &v.Local
	}
	to.Add(c.Descriptor().ColumnBytes(columns))
}
