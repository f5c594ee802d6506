package delta

import "github.com/csmsql/csmsql/catalog"

// reserved is memory that was granted before the rows that it is for were acknowledged (DL1).
type reserved struct {
	grant catalog.Grant // nil: it was used, or there is none
}

func reserve(space catalog.Space, owner string) (*reserved, error) {
	g, err := space.Grant(owner, reservedBytes)
	if err != nil {
		return nil, err
	}
	return &reserved{g}, nil
}

// in is a space that grants what is reserved first.
func (r *reserved) in(space catalog.Space) catalog.Space { return spaceOf{space, r} }

// giveBack gives back what was not used.
func (r *reserved) giveBack() {
	if r.grant != nil {
		_ = r.grant.Abort() // what lives all the same has no holder then, and is found (package custody)
		r.grant = nil
	}
}

type spaceOf struct {
	catalog.Space
	reserved *reserved
}

// Grant implements catalog.Space.
func (s spaceOf) Grant(owner string, size int64) (catalog.Grant, error) {
	if g := s.reserved.grant; g != nil && int64(len(g.Bytes())) >= size {
		s.reserved.grant = nil
		return g, nil
	}
	return s.Space.Grant(owner, size)
}
