package engine

import (
	"context"
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/engine/systemtable"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// resolver tells exec/plan what names mean: tables of the snapshot that nothing temporary hides.
func (s *Session) resolver(v *visible) plan.Resolver {
	return plan.ResolverFunc(func(database, schema, table string) *plan.Relation {
		version := s.lookup(v, database, schema, table)
		if version == nil {
			return nil
		}
		return s.engine.facts.Of(version).Relation
	})
}

// lookup finds the table that a name in a query means, or nil for whatever is not one of ours.
func (s *Session) lookup(v *visible, database, schema, table string) *catalog.TableVersion {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) {
		return nil
	}
	if schema != "" {
		return v.find(schema, table)
	}
	if v.own.has(table) {
		return nil
	}
	for _, schema := range s.settings.searchPath {
		if version := v.find(schema, table); version != nil {
			return version
		}
		if v.hasView(schema, table) {
			return nil
		}
	}
	return nil
}

// lookupView is lookup for views.
func (s *Session) lookupView(v *visible, database, schema, view string) *catalog.View {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) || schema == "" && v.own.has(view) {
		return nil
	}
	schemas := s.settings.searchPath
	if schema != "" {
		schemas = []string{schema}
	}
	for _, schema := range schemas {
		if v.find(schema, view) != nil {
			return nil
		}
		if found := v.view(schema, view); found != nil {
			return found
		}
	}
	return nil
}

// withViews writes the queries of views in the places of their names where they mean the same; made is nil: nowhere.
func (s *Session) withViews(text string, tree *pg.ParseResult, v *visible) (_ string, made edit.List) {
	if tree == nil || s.without().Has(optimization.Views) || len(v.contents.Views()) == 0 {
		return text, nil
	}
	in := bind.Inliner{Catalog: plan.Catalog(s.resolver(v)), Reproducible: distribute.Reproducible}
	in.View = func(database, schema, name string) *bind.View {
		return s.engine.mirror.View(s.lookupView(v, database, schema, name))
	}
	return in.Inline(text, tree)
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
	version := s.visible.find(schema, name)
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
		Revision: func() catalog.Revision { return s.visible.contents.Revision() },
		Tables:   func() []*catalog.TableVersion { return s.visible.everyTable() },
	}
}

// newScan makes the scan of one occurrence of a table.
func (s *Session) newScan(ctx context.Context, v *visible, version *catalog.TableVersion, hint *plan.Scan) *scan.Scan {
	return scan.New(ctx, &s.engine.scans, version, hint, v.read, v.results[version])
}
