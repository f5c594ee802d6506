package catalog

import (
	"slices"

	"github.com/csmsql/csmsql/internal/persistent"
)

// chain is states in the order in which they were current, of which every version is kept. A version that is gone does
// not come back: each commit makes new ones. So the states of a chain that have it follow each other, and adding or
// removing a state only affects the versions that it does not share with its neighbours.
//
//	states   7 ────────── 9 ────────── 12      those in between are neither current nor leased
//	last     a1, b4       a2, a3               has: a1 a2 a3 …, in one of them at least
type chain struct {
	states []*state
	last   map[*state][]*TableVersion // those that the next one does not have any more
	looked int                        // how many versions came, went or were handed on; for tests
}

// add puts a state behind the others, and returns the versions that none of them had.
func (c *chain) add(s *state) (came []*TableVersion) {
	var before *state
	if n := len(c.states); n > 0 {
		before = c.states[n-1]
	}
	came, went := between(before, s)
	if len(went) > 0 {
		if c.last == nil {
			c.last = map[*state][]*TableVersion{}
		}
		c.last[before] = went
	}
	c.states = append(c.states, s)
	c.looked += len(came) + len(went)
	return came
}

// remove takes a state out, and returns the versions that none of the others has.
func (c *chain) remove(s *state) (gone []*TableVersion) {
	i := slices.Index(c.states, s)
	if i < 0 {
		return nil
	}
	var before *state
	if i > 0 {
		before = c.states[i-1]
	}
	if i == len(c.states)-1 {
		gone, _ = between(before, s)
		delete(c.last, before)
	} else {
		c.looked += len(c.last[s])
		for _, v := range c.last[s] {
			if before != nil && before.has(v) {
				c.last[before] = append(c.last[before], v)
			} else {
				gone = append(gone, v)
			}
		}
	}
	delete(c.last, s)
	c.states = slices.Delete(c.states, i, i+1)
	c.looked += len(gone)
	return gone
}

func (s *state) has(v *TableVersion) bool { return s.contents.has(v) }

// has reports whether a version is a table's, or is kept.
func (c *Contents) has(v *TableVersion) bool {
	return c.tables.Of(v.Table().Name).version == v || c.kept.Len() > 0 && c.keeps(v)
}

// keeps reports whether a version is kept.
func (c *Contents) keeps(v *TableVersion) bool {
	return c.kept.Of(keptKey{Table: v.Table().ID, Number: v.Version()}).version == v
}

// between lists the versions that a state has and one before it had not, and the other way around. Before may be nil.
func between(before, s *state) (came, went []*TableVersion) {
	var old *Contents
	if before != nil {
		old = before.contents
	}
	return s.contents.versionsSince(old)
}

// versionsSince lists the versions, of tables and kept ones, that contents have and others had not, and the other way
// around.
func (c *Contents) versionsSince(old *Contents) (came, went []*TableVersion) {
	if old == nil {
		old = newContents()
	}
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
