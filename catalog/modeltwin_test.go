package catalog_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog"
)

// twin is the naive catalog: names and rows.
type twin struct {
	schemas map[string]int64 // who made it
	tables  map[catalog.TableName]twinTable
	marks   map[string]int64 // last change of each name: for conflicts
}

// twinTable is never changed, only replaced.
type twinTable struct {
	id        int64
	placement string
	replicas  int
	chunks    []twinChunk
	truncated bool      // by a transaction
	epoch     int64     // drawn again whenever rows get other numbers
	numbers   int64     // drawn again whenever chunks get other numbers
	changed   int64     // when rows came or went last
	named     int64     // when it got its name
	folded    *twinFold // by a transaction
}

// twinFold is a run of chunks that became one, or none.
type twinFold struct{ first, n, made int }

// twinChunk is rows and where they lie, in all replicas. What is in dead is deleted, which is never changed, only
// replaced.
type twinChunk struct {
	values []int64
	dead   map[int64]bool
	place  string
	fold   int64 // by which it came last; 0: none
}

func placeOf(c *catalog.Chunk) string { return fmt.Sprint(c.Extents()) }

// without is the chunk without some values more.
func (c twinChunk) without(gone map[int64]bool) twinChunk {
	c.dead = maps.Clone(c.dead)
	if c.dead == nil {
		c.dead = map[int64]bool{}
	}
	maps.Copy(c.dead, gone)
	return c
}

// with is the chunk with as much of what is dead as it has.
func (c twinChunk) with(dead map[int64]bool) twinChunk {
	gone := map[int64]bool{}
	for _, v := range c.values {
		if dead[v] {
			gone[v] = true
		}
	}
	return c.without(gone)
}

func (t twinTable) rows() []int64 {
	rows := []int64{}
	for _, c := range t.chunks {
		for _, v := range c.values {
			if !c.dead[v] {
				rows = append(rows, v)
			}
		}
	}
	return rows
}

// leaves reports whether own, which was made of t and has become is, leaves no row behind, and has no chunk of its own.
func (t twinTable) leaves(own, is twinTable) bool {
	if own.id != t.id || own.truncated || len(own.chunks) != len(t.chunks) {
		return false
	}
	for i, c := range t.chunks {
		if own.chunks[i].place != c.place {
			return false
		}
	}
	return len(is.chunks) > 0 && len(is.rows()) == 0
}

// stored is the number of rows, deleted ones too.
func (t twinTable) stored() (n int) {
	for _, c := range t.chunks {
		n += len(c.values)
	}
	return n
}

// like reports whether two are one table that is declared alike.
func (t twinTable) like(other twinTable) bool {
	return t.id == other.id && t.placement == other.placement && t.replicas == other.replicas
}

// onlyPlaces reports whether nothing but the placement differs from base.
func (t twinTable) onlyPlaces(base twinTable) bool {
	same := t.id == base.id && t.replicas == base.replicas && !t.truncated && t.folded == nil
	return same && slices.EqualFunc(t.chunks, base.chunks, func(a, b twinChunk) bool {
		return a.place == b.place && len(a.dead) == len(b.dead)
	})
}

// rebase is what was done to base to get t, done to now (H5); false if it cannot be.
func (t twinTable) rebase(base, now twinTable) (twinTable, bool) {
	declares := !t.like(base) && !(t.onlyPlaces(base) && now.numbers == base.numbers)
	switch {
	case !now.like(base), (t.truncated || declares) && now.changed != base.changed:
		return t, false
	case t.truncated:
		return t, true
	}
	next := now
	next.placement, next.replicas = t.placement, t.replicas
	next.chunks = slices.Clone(now.chunks)
	if f := t.folded; f != nil {
		at := now.at(base.chunks[f.first].place)
		for i := range f.n {
			if at < 0 || at+i >= len(now.chunks) || now.chunks[at+i].place != base.chunks[f.first+i].place {
				return t, false
			}
		}
		var made twinChunk
		if f.made > 0 {
			made = t.chunks[f.first]
		}
		for _, c := range now.chunks[at : at+f.n] { // what was deleted meanwhile is
			made = made.with(c.dead)
		}
		next.chunks = slices.Replace(next.chunks, at, at+f.n, t.chunks[f.first:f.first+f.made]...)
		if f.made > 0 {
			next.chunks[at] = made
		}
		next.numbers = t.numbers
		return next, true
	}
	for i, c := range base.chunks {
		own := t.chunks[i]
		if at := now.at(c.place); own.place == c.place {
		} else if at >= 0 {
			next.chunks[at].place = own.place
		} else if base.epoch != now.epoch || now.isMoved(c) {
			return t, false
		} // else it was folded, and stays where it is
		for v := range own.dead {
			if c.dead[v] {
				continue
			}
			at := slices.IndexFunc(next.chunks, func(n twinChunk) bool { return slices.Contains(n.values, v) })
			if base.epoch != now.epoch || at < 0 || now.chunks[at].dead[v] {
				return t, false
			}
			next.chunks[at] = next.chunks[at].without(map[int64]bool{v: true})
		}
	}
	next.chunks = append(next.chunks, t.chunks[len(base.chunks):]...)
	return next, true
}

// at is the number of the chunk that lies in a place, or -1.
func (t twinTable) at(place string) int {
	return slices.IndexFunc(t.chunks, func(c twinChunk) bool { return c.place == place })
}

// isMoved reports whether the table has an earlier one's chunk in another place; if not, it was folded.
func (t twinTable) isMoved(c twinChunk) bool {
	return slices.ContainsFunc(t.chunks, func(n twinChunk) bool {
		return slices.Equal(n.values, c.values) && n.fold == c.fold
	})
}

func (t *twin) clone() *twin {
	return &twin{maps.Clone(t.schemas), maps.Clone(t.tables), maps.Clone(t.marks)}
}
