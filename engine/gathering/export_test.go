package gathering

import (
	"time"

	"github.com/csmsql/csmsql/catalog"
)

// Waiting is how many wait for a table.
func Waiting(q *Queue, table catalog.TableID) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.tables[table]; l != nil {
		return len(l.waiting)
	}
	return 0
}

// Common is an error that each insertion would have.
func Common(err error) error { return CommonError{err} }

// How long tests wait for what is certain to come, and how often they look.
const (
	Timeout = 30 * time.Second
	Tick    = time.Millisecond
)

// IsCommon reports whether each insertion would have an error of a commit.
func IsCommon(err error) bool { return common(err) }
