package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// createView keeps a view in the catalog, or with the session when it is temporary or reads something that is.
func (st *Statement) createView(ctx context.Context, head *statement.CreateView) (*Rows, error) {
	if head.Temporary {
		return st.runPrivate(ctx, nil)
	}
	switch reads, err := st.readsTemporary(ctx, head); {
	case err != nil:
		return nil, err
	case reads:
		return st.createTemporaryView(ctx, head)
	}
	s := st.session
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		name, err := s.qualify(v, head.Name)
		if err != nil {
			return err
		}
		schema, err := st.viewSchema(ctx, head, v)
		if err != nil {
			return err
		}
		bound, err := s.bindNames(ctx, v, head.Query)
		if err != nil {
			return err
		}
		if v.hasView(name.Schema, name.Name) {
			switch {
			case head.IfNotExists:
				return nil
			case head.OrReplace:
				if err := tx.DropView(name); err != nil {
					return err
				}
			}
		}
		tx.Reads(bound.reads...)
		_, err = tx.CreateView(ctx, name, bound.text, schema)
		return err
	})
	return done("CREATE VIEW", 0), err
}

// viewSchema plans the view's query and gives its columns.
func (st *Statement) viewSchema(ctx context.Context, head *statement.CreateView, v *visible) (*arrow.Schema, error) {
	if err := dialect.RefusePivot(head.Query); err != nil {
		return nil, err
	}
	src := cast.Verbatim(head.Query)
	plan, err := st.session.planQuery(ctx, head.Query, st.treeOf(head.Query), v)
	if err != nil {
		return nil, src.Relocate(err, st.parsed.Text)
	}
	defer plan.close()
	if plan.duck != nil && len(plan.params) > 0 {
		return nil, sqlerror.New("42P02", "a view cannot have parameters")
	}
	return viewColumns(plan.schema, head.Columns)
}

func viewColumns(schema *arrow.Schema, names []string) (*arrow.Schema, error) {
	fields := schema.Fields()
	if len(names) > len(fields) {
		return nil, sqlerror.New("42601", "CREATE VIEW specifies more column names than columns")
	}
	for i, n := range names {
		fields[i].Name = n
	}
	return arrow.NewSchema(fields, nil), nil
}

// readsTemporary tells whether the view's query names a temporary object. What is wrong with the query otherwise is found later.
func (st *Statement) readsTemporary(ctx context.Context, head *statement.CreateView) (bool, error) {
	v, err := st.session.see(ctx)
	if err != nil {
		return false, err
	}
	defer v.release()
	bound, err := st.session.bindNames(ctx, v, head.Query)
	return err == nil && bound.temporary != "", ctx.Err()
}

// createTemporaryView makes a view temporary because what it reads is, as PostgreSQL does.
func (st *Statement) createTemporaryView(ctx context.Context, head *statement.CreateView) (*Rows, error) {
	if head.Name.Schema != "" {
		return nil, sqlerror.New("42P16", "cannot create temporary relation in non-temporary schema").WithHint("The view reads a temporary object; leave its schema out.")
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

// temporaryView is the statement that makes a temporary view for DuckDB, whose names are bound, and what became of the user's text.
func (st *Statement) temporaryView(ctx context.Context, head *statement.CreateView, v *visible) (string, edit.List, error) {
	bound, err := st.session.bindNames(ctx, v, head.Query)
	if err != nil {
		return "", nil, err
	}
	words := "CREATE "
	if head.OrReplace {
		words += "OR REPLACE "
	}
	words += "TEMP VIEW "
	if head.IfNotExists {
		words += "IF NOT EXISTS "
	}
	words += duckdb.QuoteIdentifier(head.Name.Name)
	if len(head.Columns) > 0 {
		names := make([]string, len(head.Columns))
		for i, c := range head.Columns {
			names[i] = duckdb.QuoteIdentifier(c)
		}
		words += "(" + strings.Join(names, ", ") + ")"
	}
	words += " AS "
	at := strings.LastIndex(st.parsed.Text, head.Query) // it comes last
	return words + bound.text, append(edit.List{{Start: 0, End: at, Length: len(words)}}, bound.edits.Shift(at)...), nil
}
