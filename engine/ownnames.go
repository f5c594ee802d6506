package engine

import (
	"errors"
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// showNames makes DuckDB's names those of v, a block's own if it has any.
// Preconditions: nothing streams from the DuckDB connection.
func (s *Session) showNames(v *snapshot.View) error {
	b := s.block
	if b == nil || b.names == nil && !b.restarted && !b.Renamed && len(b.redefined()) == 0 {
		return s.showShared(v)
	}
	if b.names != nil && b.names.Shows(v.Contents) {
		return nil
	}
	if s.engine.mirror.ReadCatalogs(v.Contents) {
		if err := s.engine.mirror.MakeCatalogs(); err != nil {
			return err
		}
	}
	before := s.visible
	s.visible = v
	defer func() { s.visible = before }()
	if b.names == nil {
		if err := s.openOwnNames(b); err != nil {
			return err
		}
	}
	if err := b.names.Follow(v.Contents); err != nil {
		return fmt.Errorf("show a block's names: %w", err)
	}
	return s.followSearchPath(v.Contents)
}

// followNames shows DuckDB the names that it looks up for a query, the block's own if the block has them already, or
// redefined some that matter. scans are those of its relations that are spliced in: all of them, or not.
func (q *query) followNames(tree *pg.ParseResult, scans []plan.Scan, all bool, v *snapshot.View) error {
	s := q.session
	if s.block == nil || s.block.names == nil && !s.namesMatter(tree, scans, v) {
		if all {
			return nil
		}
		return s.showShared(v)
	}
	s.yield()
	return s.showNames(v)
}

func (s *Session) openOwnNames(b *block) error {
	if err := s.beginDuck(b); err != nil {
		return err
	}
	name := fmt.Sprintf("csm_block_%d", s.engine.blocks.Add(1))
	if err := s.conn.Exec("ATTACH ':memory:' AS " + name); err != nil {
		return fmt.Errorf("show a block's names: %w", err)
	}
	var err error
	b.names, err = names.NewOwn(name, s.conn.Exec, &s.engine.mirror)
	return err
}

// withOwnDatabase puts the block's database where a text that only DuckDB reads names the shared one.
func (s *Session) withOwnDatabase(text string) (string, edit.List) {
	if s.block == nil || s.block.names == nil {
		return text, nil
	}
	return s.block.names.InText(text)
}

// closeOwnNames forgets the names of a block whose DuckDB transaction is over; a rolled back one took its database with it.
func (s *Session) closeOwnNames(b *block) {
	name := b.names.Database()
	b.names = nil
	err := errors.Join(s.lookInShared(), pgcatalog.ShowNames(s.conn.Exec, ""))
	if err == nil {
		err = s.conn.Exec("DETACH DATABASE IF EXISTS " + name)
	}
	if err != nil {
		s.engine.config.Log.Warn("a transaction's names stay behind in DuckDB", "database", name, "error", err)
	}
}

// namesMatter reports whether DuckDB resolves names of a statement for which it could make a difference that the block
// redefined some: scans are those that are spliced in already.
func (s *Session) namesMatter(tree *pg.ParseResult, scans []plan.Scan, v *snapshot.View) bool {
	b := s.block
	redefined := b.redefined()
	if len(redefined) == 0 && !b.restarted && !b.Renamed {
		return false
	}
	if tree == nil {
		return true
	}
	spliced := make(map[int]bool, len(scans))
	for _, scan := range scans {
		spliced[scan.Start] = true
	}
	if b.restarted || b.Renamed { // the shared names are those of a later time
		redefined = nil
	}
	return names.Matter(tree, spliced, redefined, v.Contents.Views())
}

// redefined are the names that the block made, dropped or replaced.
func (b *block) redefined() []catalog.TableName {
	if b.Changes == nil {
		return nil
	}
	return b.Changes.Redefined()
}
