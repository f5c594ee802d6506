package engine

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/systemtable"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// resolver resolves names for exec/plan: tables of the snapshot that nothing temporary hides.
func (s *Session) resolver(v *snapshot.View) plan.Resolver {
	return plan.ResolverFunc(func(database, schema, table string) *plan.Relation {
		if n := v.Numbered.Find(database, schema, table); n != nil {
			return s.engine.facts.Of(n.Version).Numbered(n.Column)
		}
		version := v.Lookup(database, schema, table)
		if version == nil {
			return nil
		}
		return s.engine.facts.Of(version).Relation
	})
}

// withViews writes the queries of views in the places of their names where they mean the same; made is nil: nowhere.
func (s *Session) withViews(from dialect.Source, v *snapshot.View) (_ dialect.Source, made edit.List) {
	if from.Tree == nil || s.without().Has(optimization.Views) || len(v.Contents.Views()) == 0 {
		return from, nil
	}
	in := bind.Inliner{Catalog: plan.Catalog(s.resolver(v)), Reproducible: distribute.Reproducible}
	in.View = func(database, schema, name string) *bind.View {
		return s.engine.mirror.View(v.LookupView(database, schema, name))
	}
	text, inlined, made := in.Inline(from.Text(), from.Tree)
	if made == nil || len(text) > dialect.TreeMax {
		return from, nil
	}
	return dialect.Source{Read: lex.Client.Text(text), Tree: inlined}, made
}

// resolveTable answers csm_table, which the mirrored views call while a statement is planned.
func (s *Session) resolveTable(schema, name string) (*duckdb.Scan, error) {
	if s.visible == nil {
		return nil, sqlerror.New("XX000", "table %s.%s is asked for outside of a statement", schema, name)
	}
	s.looked = true
	if schema == names.SystemSchema {
		if scan, ok := systemtable.Scan(s.askedSystem(), name); ok {
			return scan, nil
		}
	}
	version := s.visible.Find(schema, name)
	if version == nil {
		return nil, fmt.Errorf("42P01: relation %q does not exist", name) // DuckDB's binder carries the text alone
	}
	return s.newScan(context.Background(), s.visible, version, nil).Duck, nil
}

// askedSystem is the session as the tables of the schema csm see it.
func (s *Session) askedSystem() *systemtable.Asked {
	return &systemtable.Asked{
		Node: s.engine.systemNode(), User: s.options.User, Guest: s.options.Guest,
		Revision: func() catalog.Revision { return s.visible.Contents.Revision() },
		Tables:   func() []*catalog.TableVersion { return s.visible.EveryTable() },
		Versions: func(t *catalog.TableVersion) []catalog.Kept { return s.visible.Contents.Versions(t) },
	}
}

// newScan makes the scan of one occurrence of a table.
func (s *Session) newScan(ctx context.Context, v *snapshot.View, version *catalog.TableVersion, hint *plan.Scan) *scan.Scan {
	t := scan.New(ctx, &s.engine.scans, version, hint, v.Read, v.Results[version])
	t.Skipped = v.Numbered.Skipped(t.Numbered)
	return t
}

// show has DuckDB look for names where the statement does that v is for, before a text is planned. The names follow
// when a text is planned that DuckDB looks them up for (followNames), but a block's with what it sees.
func (s *Session) show(v *snapshot.View) error {
	if s.block != nil && (!s.block.implicit || s.block.duck) {
		if err := s.showShared(v); err != nil {
			return err
		}
	}
	return s.followSearchPath(v.Contents)
}

// showShared has DuckDB's names follow what v shows of what all sessions see.
func (s *Session) showShared(v *snapshot.View) error {
	return s.engine.mirror.Follow(v.Lease.Snapshot.Contents)
}

// followSearchPath makes DuckDB look for bare names where the session does for a statement that sees contents.
func (s *Session) followSearchPath(contents *catalog.Contents) error {
	want := names.Sought{Path: s.settings.SearchPath, Contents: contents}
	if s.block != nil {
		want.Own = s.block.names
	}
	return s.looksIn.Follow(want, &s.engine.mirror, func(text string) error {
		s.yield()
		return s.conn.LookIn(text)
	})
}

// lookInShared makes DuckDB look for names in the database that all sessions share, until a statement says which schemas
// it sees there.
func (s *Session) lookInShared() error {
	shared := func(schema string) (string, bool) { return schema, s.engine.mirror.Has(schema) }
	return s.looksIn.Tell(names.Path(duckdb.CatalogName, s.settings.SearchPath, shared), s.conn.LookIn)
}
