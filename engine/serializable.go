package engine

import "github.com/csmsql/csmsql/engine/lookup"

// A SERIALIZABLE block notes what its statements read; the catalog lets it commit only if all of that is still so (catalog.Serializable).
//
//	planning: names ─► visible.find, view ─► reads ──┐
//	a plan that was made before ─► what it read then ┴► of the block ─► Commit: 40001 unless it is as it was
//
// Tables are read whole, as far as this goes: two blocks of which each reads what the other writes do not both commit, whatever rows they
// meant. What is not found out is taken for everything: DuckDB's own dialect, system catalogs, changes of temporary tables.

// reads are where a statement of the session notes what it reads.
func (s *Session) reads() *lookup.Names {
	if s.block == nil || !s.block.modes.Serializable {
		return &lookup.Names{}
	}
	if s.block.reads == nil {
		s.block.reads = &lookup.Names{}
	}
	return s.block.reads
}

// readsAgain notes what a plan has read that was made before.
func (s *Session) readsAgain(q *query) {
	if s.block != nil && s.block.modes.Serializable {
		s.reads().Add(q.Reads)
	}
}

// validate tells the block's transaction what it depends on.
func (b *block) validate() {
	if !b.modes.Serializable || b.reads == nil {
		return
	}
	names, all := b.reads.List()
	b.tx.Serializable(names, all)
}
