package custody

import (
	"github.com/csmsql/csmsql/catalog"
)

// Disclaimer finds the extents that a lender has on record of this process and that have no holder here. It is for one
// lender's region and one goroutine; the zero value is ready.
type Disclaimer struct {
	missed map[catalog.ExtentID]uint64 // by the number of the last call that had begun when it was first missed
}

// Answer takes what the lender has on record, and gives what is to be disclaimed. The answer has come: all that it
// names was granted by calls that began before. An extent that was missed before, and every call of that time has
// ended, is unowned (H2).
func (d *Disclaimer) Answer(book *Book, onRecord []catalog.ExtentID) (disclaim []catalog.ExtentID) {
	book.mu.Lock()
	defer book.mu.Unlock()
	missed := map[catalog.ExtentID]uint64{}
	for _, id := range onRecord {
		if _, ok := book.of[id]; ok {
			continue
		}
		since, before := d.missed[id]
		last, open := book.calling(since)
		switch {
		case !before:
			missed[id] = last
		case open:
			missed[id] = since
		default:
			disclaim = append(disclaim, id) // if the lender does not receive this, it is missed again
		}
	}
	d.missed = missed
	return disclaim
}
