package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// createView keeps a view in the catalog, or with the session when it is temporary or reads something that is.
func (st *Statement) createView(ctx context.Context, head *statement.CreateView) (*Rows, error) {
	if head.Temporary {
		return st.runPrivate(ctx, nil)
	}
	switch reads, err := st.readsTemporary(ctx, head); {
	case err != nil:
		return nil, err
	case reads && st.grounds.Functions == nil:
		return st.createTemporaryView(ctx, head)
	}
	s := st.session
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		name, err := v.Qualify(head.Name)
		if err != nil {
			return err
		}
		schema, err := st.viewSchema(ctx, head, v)
		if err == nil {
			schema, err = st.grounds.Functions.Keep(ctx, tx, s.viewTexts(v), schema)
		}
		if err != nil {
			return err
		}
		bound, err := s.viewTexts(v).Bind(ctx, head.Query)
		if err != nil {
			return err
		}
		replaced := v.FindView(name.Schema, name.Name)
		switch {
		case replaced != nil && head.IfNotExists:
			return nil
		case replaced != nil && head.OrReplace:
			if err := tx.DropView(name); err != nil {
				return err
			}
		}
		tx.Reads(append(bound.Reads, namedtype.UsedIn(tx.Contents(), bound.Text)...)...)
		if _, err = tx.CreateView(ctx, name, bound.Text, schema); err != nil || replaced == nil {
			return err
		}
		return s.viewTexts(v).Keep(ctx, tx, replaced, s.viewsAsked(ctx, tx, v))
	})
	return done("CREATE VIEW", 0), err
}

// viewSchema plans the view's query and gives its columns.
func (st *Statement) viewSchema(ctx context.Context, head *statement.CreateView, v *snapshot.View) (*arrow.Schema, error) {
	if err := dialect.RefusePivot(head.Query); err != nil {
		return nil, err
	}
	src := cast.Verbatim(head.Query)
	plan, err := st.session.planQuery(ctx, st.source(head.Query), v)
	if err != nil {
		return nil, src.Relocate(err, st.parsed.Text)
	}
	defer plan.close()
	if len(plan.Params) > 0 {
		return nil, sqlerror.New("42P02", "a view cannot have parameters")
	}
	return viewtext.Columns(plan.schema, head.Columns)
}

// readsTemporary reports whether the view's query names a temporary object. What is wrong with the query otherwise is
// found later.
func (st *Statement) readsTemporary(ctx context.Context, head *statement.CreateView) (bool, error) {
	v, err := st.session.see(ctx)
	if err != nil {
		return false, err
	}
	defer v.Release()
	bound, err := st.session.viewTexts(v).Bind(ctx, head.Query)
	return err == nil && bound.Temporary != "", ctx.Err()
}

// createTemporaryView makes a view temporary because what it reads is, as PostgreSQL does.
func (st *Statement) createTemporaryView(ctx context.Context, head *statement.CreateView) (*Rows, error) {
	if head.Name.Schema != "" {
		return nil, sqlerror.New("42P16", "cannot create temporary relation in non-temporary schema").
			WithHint("The view reads a temporary object; leave its schema out.")
	}
	temporary, parsed, as := *head, *st.parsed, *st
	temporary.Temporary = true
	parsed.Head, as.parsed = &temporary, &parsed
	rows, err := as.runPrivate(ctx, nil)
	if err == nil {
		st.session.notice(Notice{Severity: "NOTICE", State: "00000", Message: fmt.Sprintf("view %q will be a temporary view", head.Name.Name)})
	}
	return rows, err
}

// followName writes a table's new name into the views that read it. tx has renamed it; before is what was visible then.
func (s *Session) followName(ctx context.Context, tx *catalog.Transaction, before *snapshot.View,
	from, to catalog.TableName) error {
	asked := s.viewsAsked(ctx, tx, before)
	return s.viewTexts(before).Follow(ctx, tx, viewtext.Renaming{From: from, To: to, Asked: asked})
}

// viewsAsked plans the queries of views in what was visible before, and with what tx has done.
func (s *Session) viewsAsked(ctx context.Context, tx *catalog.Transaction, before *snapshot.View) viewtext.Asked {
	return viewtext.Asked{
		Before: func(text string) (*arrow.Schema, error) { return s.putsOut(ctx, before, text) },
		After: func(text string) (*arrow.Schema, error) {
			after := s.seeing(tx.Contents(), before.Lease.Hold(), before.Own)
			defer after.Release()
			return s.putsOut(ctx, after, text)
		},
	}
}

// putsOut plans a query of a view in v, and gives its columns.
func (s *Session) putsOut(ctx context.Context, v *snapshot.View, text string) (*arrow.Schema, error) {
	plan, err := s.planQuery(ctx, dialect.SourceOf(text), v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	return plan.schema, nil
}

// viewTexts reads and writes the queries of views for a statement that sees v.
func (s *Session) viewTexts(v *snapshot.View) *viewtext.Writer {
	s.yield()
	return &viewtext.Writer{Conn: s.conn, View: v, Temporary: s.temporary}
}

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
		if err := pgcatalog.SetPrepared(s.conn.Exec, s.named.Shown()); err != nil {
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

// describeTables fills the session's copy of the catalogs with what exists, unless it is current.
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

// describeForViews fills the session's copy of the catalogs if there are views that read it and the statement may name
// one: scans are those of its relations that are spliced in.
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
func (s *Session) relations(v *snapshot.View) *relation.Names {
	return &relation.Names{Own: v.Own, Table: v.Lookup, View: v.LookupView, Describe: s.describeBeside(v)}
}

// origins returns which columns of tables those of a text's result are; nil: it is not known of all.
func (s *Session) origins(text string, tree *pg.ParseResult, v *snapshot.View, schema *arrow.Schema) []typing.Origin {
	if list := typing.Origins(text, tree, s.relations(v).Find); len(list) == schema.NumFields() {
		return list
	}
	return nil
}

// identify gives DuckDB's session functions the session's user and settings.
func (s *Session) identify() error {
	return s.variables.SetSession(s.conn.Exec, pgcatalog.Session{
		User: s.options.User, ProcessID: s.options.ProcessID, SearchPath: s.settings.SearchPath, Settings: s.settings.List(),
	})
}
