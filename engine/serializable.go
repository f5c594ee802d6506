package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
)

// A SERIALIZABLE block notes what its statements read; the catalog lets it commit only if all of that is still so (catalog.Serializable).
//
//	planning: names ─► visible.find, view ─► reads ──┐
//	a plan that was made before ─► what it read then ┴► of the block ─► Commit: 40001 unless it is as it was
//
// Tables are read whole, as far as this goes: two blocks of which each reads what the other writes do not both commit, whatever rows they
// meant. What is not found out is taken for everything: DuckDB's own dialect, system catalogs, changes of temporary tables.

// reads are names whose meaning a statement, or a block, has asked for. Safe for concurrent use.
type reads struct {
	mu    sync.Mutex // guards the rest; leaf lock
	names map[catalog.TableName]bool
	all   bool
}

func (r *reads) note(schema, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[catalog.TableName]bool{}
	}
	r.names[catalog.TableName{Schema: schema, Name: name}] = true
}

func (r *reads) everything() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = true
}

func (r *reads) list() (names []catalog.TableName, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.names)), r.all
}

// add notes what others has, too.
func (r *reads) add(others *reads) {
	if r == nil || others == nil || r == others {
		return
	}
	names, all := others.list()
	for _, name := range names {
		r.note(name.Schema, name.Name)
	}
	if all {
		r.everything()
	}
}

// reads are where a statement of the session notes what it reads.
func (s *Session) reads() *reads {
	if s.block == nil || !s.block.modes.serializable {
		return &reads{}
	}
	if s.block.reads == nil {
		s.block.reads = &reads{}
	}
	return s.block.reads
}

// readsAgain notes what a plan has read that was made before.
func (s *Session) readsAgain(q *query) {
	if s.block != nil && s.block.modes.serializable {
		s.reads().add(q.reads)
	}
}

// validate tells the block's transaction what it depends on.
func (b *block) validate() {
	if !b.modes.serializable || b.reads == nil {
		return
	}
	names, all := b.reads.list()
	b.tx.Serializable(names, all)
}

// everyTable lists the tables for a statement that depends on all of them.
func (v *visible) everyTable() []*catalog.TableVersion {
	v.reads.everything()
	return v.contents.Tables()
}
