package engine

import (
	"context"
	"fmt"
	"slices"

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

// resolver tells exec/plan what names mean: tables of the snapshot that nothing temporary hides.
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
	t := s.newScan(context.Background(), s.visible, version, nil)
	return t.Duck, nil
}

// askedSystem is the session as the tables of the schema csm see it.
func (s *Session) askedSystem() *systemtable.Asked {
	return &systemtable.Asked{
		Node: s.engine.systemNode(), User: s.options.User, Guest: s.options.Guest,
		Revision: func() catalog.Revision { return s.visible.Contents.Revision() },
		Tables:   func() []*catalog.TableVersion { return s.visible.EveryTable() },
	}
}

// newScan makes the scan of one occurrence of a table.
func (s *Session) newScan(ctx context.Context, v *snapshot.View, version *catalog.TableVersion, hint *plan.Scan) *scan.Scan {
	t := scan.New(ctx, &s.engine.scans, version, hint, v.Read, v.Results[version])
	t.Skipped = v.Numbered.Skipped(t.Numbered)
	return t
}

// duckPath is where a session's DuckDB connection looks for bare names, and what that followed from. DuckDB, unlike PostgreSQL, takes no
// schema into its path that is not there. So the connection's path is a function of search_path and of the schemas that the statement
// sees, and is brought up to date before a statement is planned, when one of the two has changed (followSearchPath).
type duckPath struct {
	text     string // as DuckDB was told
	path     []string
	contents *catalog.Contents
	names    *names.Own
	shown    *catalog.Contents // by names
}

// followSearchPath makes DuckDB look for bare names where the session does for a statement that sees contents: in the schemas of search_path
// that are there, then among PostgreSQL's session functions. It costs some comparisons when nothing has changed.
// Preconditions: DuckDB's names follow contents, or something newer.
func (s *Session) followSearchPath(contents *catalog.Contents) error {
	want := duckPath{path: s.settings.SearchPath, contents: contents}
	if s.block != nil && s.block.names != nil {
		want.names, want.shown = s.block.names, s.block.names.Seen
	}
	is := &s.looksIn
	if is.contents == want.contents && is.names == want.names && is.shown == want.shown && slices.Equal(is.path, want.path) {
		return nil
	}
	database, shown := duckdb.CatalogName, s.engine.mirror.Has
	if want.names != nil {
		database, shown = want.names.Database(), want.names.Has
	}
	want.text = names.Path(database, want.path, func(schema string) (string, bool) {
		found, ok := names.SchemaNamed(contents, schema)
		return found, ok && shown(found)
	})
	if want.text != is.text {
		s.yield()
		if err := s.lookIn(want.text); err != nil {
			return err
		}
	}
	*is = want
	return nil
}

// lookInShared makes DuckDB look for names in the database that all sessions share, until a statement says which schemas it sees there.
func (s *Session) lookInShared() error {
	return s.lookIn(names.Path(duckdb.CatalogName, s.settings.SearchPath, func(schema string) (string, bool) { return schema, s.engine.mirror.Has(schema) }))
}

func (s *Session) lookIn(text string) error {
	s.looksIn = duckPath{}
	if err := s.conn.Exec("SET search_path = " + duckdb.QuoteLiteral(text)); err != nil {
		return err
	}
	s.looksIn.text = text
	return nil
}
