package statement

// Like is LIKE in a CREATE TABLE: the columns of another relation, and what else of it INCLUDING says. How the rows of
// a relation are stored, and statistics that CREATE STATISTICS asks for, are nothing that a relation has here: there is
// none to copy, or to leave out.
type Like struct {
	Of Name
	// Before is how many columns of the CREATE TABLE stand before it.
	Before int

	Comments, Constraints, Defaults, Generated, Identity, Indexes bool
	// Start and End are where it stands, in bytes of the text.
	Start, End int
}

// like reads LIKE name and its options.
func (c *cursor) like(t *CreateTable) (err error) {
	l := Like{Before: len(t.Columns), Start: c.next().Start}
	if l.Of, err = c.name(); err != nil {
		return err
	}
	parts := map[string]*bool{
		"comments": &l.Comments, "constraints": &l.Constraints, "defaults": &l.Defaults, "generated": &l.Generated,
		"identity": &l.Identity, "indexes": &l.Indexes, "compression": nil, "statistics": nil, "storage": nil,
	}
	for c.peek(0).IsAny("including", "excluding") {
		including := c.next().Is("including")
		found := false
		for word, part := range parts {
			if !c.peek(0).IsAny("all", word) {
				continue
			}
			if found = true; part != nil {
				*part = including
			}
		}
		if !found {
			return c.unexpected()
		}
		c.next()
	}
	l.End = c.last
	t.Likes = append(t.Likes, l)
	return nil
}
