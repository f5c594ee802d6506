package borrowing

import "github.com/csmsql/csmsql/memregion"

// ViewOf is the region that a space writes into.
func ViewOf(s *Space) *memregion.View { return s.view }
