package catalog

import (
	"github.com/csmsql/csmsql/catalog/internal/chain"
	"github.com/csmsql/csmsql/internal/persistent"
)

// states are a chain of them, of which every version is kept.
type states = chain.Chain[*state, *TableVersion]

// Has implements chain.State.
func (s *state) Has(v *TableVersion) bool { return s.contents.has(v) }

// Since implements chain.State.
func (s *state) Since(before *state) (came, went []*TableVersion) {
	var old *Contents
	if before != nil {
		old = before.contents
	}
	return s.contents.versionsSince(old)
}

// has reports whether a version is a table's, or is kept.
func (c *Contents) has(v *TableVersion) bool {
	return c.tables.Of(v.Table().Name).version == v || c.kept.Len() > 0 && c.keeps(v)
}

// keeps reports whether a version is kept.
func (c *Contents) keeps(v *TableVersion) bool {
	return c.kept.Of(keptKey{Table: v.Table().ID, Number: v.Version()}).version == v
}

// versionsSince lists the versions, of tables and kept ones, that contents have and others had not, and the other way
// around.
func (c *Contents) versionsSince(old *Contents) (came, went []*TableVersion) {
	old = old.orNone()
	note := func(was, is *TableVersion) {
		if was != nil && !c.keeps(was) { // one that a table has no more may be kept
			went = append(went, was)
		}
		if is != nil {
			came = append(came, is)
		}
	}
	for was, is := range c.TablesSince(old) {
		note(was, is)
	}
	for d := range persistent.Difference(old.kept, c.kept) {
		if is := d.After.version; d.Before.version != is {
			if is != nil && old.has(is) {
				is = nil
			}
			note(d.Before.version, is)
		}
	}
	return came, went
}
