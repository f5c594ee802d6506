package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
)

// A table that is made of a query has the types of its result, or there is no table: an ENUM that became text would order in another way and
// take every word.

// refuseUnlike is the error of a query with columns of types that would be stored as others.
func (st *Statement) refuseUnlike(ctx context.Context, head *statement.CreateTableAs, in dialect.Source,
	v *snapshot.View) error {
	names, err := st.plan.Duck.Unlike()
	if err != nil || names == nil {
		return err
	}
	// Scans show columns of text as ENUMs, too: DuckDB is asked again without.
	s := st.session
	s.asDeclared = true
	q, err := s.planQuery(ctx, in, v)
	s.asDeclared = false
	if err != nil {
		return err
	}
	defer q.close()
	if names, err = q.Duck.Unlike(); err != nil {
		return err
	}
	return columntype.RefuseUnlike(names, q.schema, head.Columns)
}

// refuseInherited is the error of a query whose text says nothing of a collation and that has a column with one all the same, of a temporary
// table or of a view. DuckDB tells of no type what its collation is; it is asked by comparing what only one of them makes equal, or orders.
func (s *Session) refuseInherited(ctx context.Context, query string, result *arrow.Schema, args []any, v *snapshot.View) error {
	if !s.temporary && !v.Collates() {
		return nil
	}
	return definition.RefuseInherited(query, result, func(text string) ([]string, error) { return s.asked(ctx, v, text, args) })
}
