package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/prepared"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// planCatalog plans a query over PostgreSQL's system catalogs, if it is one: over what exists in v, translated.
func (q *query) planCatalog(ctx context.Context, tree *pg.ParseResult, v *snapshot.View) (bool, error) {
	if !pgcatalog.IsCatalogQuery(tree) {
		return false, nil
	}
	s := q.session
	s.yield()
	if err := s.describeTables(v); err != nil {
		return true, err
	}
	if strings.Contains(strings.ToLower(q.text), "pg_prepared_statements") {
		if err := pgcatalog.SetPrepared(s.conn.Exec, prepared.Shown(s.options.Statements, s.named)); err != nil {
			return true, err
		}
	}
	text, err := pgcatalog.Rewrite(q.text, tree)
	if err != nil {
		return true, err
	}
	q.catalog = true
	if err := q.followNames(tree, nil, false, v); err != nil {
		return true, err
	}
	return true, q.prepare(text, nil, v)
}

// describeTables tells the session's copy of the catalogs what exists, unless it knows.
func (s *Session) describeTables(v *snapshot.View) error {
	v.Reads.Everything()
	if s.described == v.Contents {
		return nil
	}
	if err := s.engine.mirror.MakeCatalogs(); err != nil {
		return err
	}
	schemas, relations, types := relation.All(v.Contents, v.Path)
	if err := pgcatalog.Refresh(s.conn.Exec, relations, types, schemas, "csmsql"); err != nil {
		return err
	}
	s.described = v.Contents
	return nil
}

// describeForViews tells the session's copy of the catalogs what exists if there are views that read it, and the statement may name one:
// scans are those of its relations that are spliced in.
func (s *Session) describeForViews(tree *pg.ParseResult, scans []plan.Scan, v *snapshot.View) error {
	if !s.catalogViews && !s.engine.mirror.ReadCatalogs(v.Contents) || tree != nil && !names.HasOthers(tree, func(at int) bool {
		return slices.ContainsFunc(scans, func(scan plan.Scan) bool { return scan.Start == at })
	}) {
		return nil
	}
	s.yield()
	return s.describeTables(v)
}

// relations finds what names in a query mean that sees v.
func (s *Session) relations(v *snapshot.View) pgcatalog.Find {
	return relation.Finder(v.Lookup, v.LookupView)
}

// origins tells which columns of tables those of a text's result are; nil: it is not known of all.
func (s *Session) origins(text string, tree *pg.ParseResult, v *snapshot.View,
	schema *arrow.Schema) []pgcatalog.Origin {
	if list := pgcatalog.Origins(text, tree, s.relations(v)); len(list) == schema.NumFields() {
		return list
	}
	return nil
}

// identify tells DuckDB's session functions whose session it is and how it is set.
func (s *Session) identify() error {
	return pgcatalog.SetSession(s.conn.Exec, pgcatalog.Session{
		User: s.options.User, ProcessID: s.options.ProcessID, SearchPath: s.settings.SearchPath, Settings: s.settings.List(),
	})
}
