package refresh

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// Refuse is the error of a query that no materialized view has; nil of other statements.
func Refuse(parsed *statement.Statement, parameters int) error {
	if head, ok := parsed.Head.(*statement.CreateTableAs); !ok || !head.Materialized {
		return nil
	}
	if parameters > 0 {
		return sqlerror.New("42P02", "there is no parameter $1")
	}
	if parsed.Tree == nil {
		return nil
	}
	for m := range tree.All(parsed.Tree.ProtoReflect()) {
		with, ok := m.Interface().(*pg.CommonTableExpr)
		if !ok {
			continue
		}
		if q := with.Ctequery; q.GetInsertStmt() != nil || q.GetUpdateStmt() != nil || q.GetDeleteStmt() != nil {
			return sqlerror.New("0A000", "materialized views must not use data-modifying statements in WITH")
		}
	}
	return nil
}

// Declare are the columns of the table that a statement makes, which say of a materialized view that it is one. w sees
// what was before.
func Declare(ctx context.Context, tx *catalog.Transaction, w *viewtext.Writer, head *statement.CreateTableAs,
	columns *arrow.Schema) (*arrow.Schema, error) {
	if !head.Materialized {
		return columns, nil
	}
	bound, err := w.Bind(ctx, head.Query)
	if err != nil {
		return nil, err
	}
	if bound.Temporary != "" {
		return nil, sqlerror.New("0A000", "materialized views must not use temporary tables or views")
	}
	tx.Reads(append(bound.Reads, namedtype.UsedIn(tx.Contents(), bound.Text)...)...)
	return materialized.Mark(columns, materialized.Definition{Query: bound.Text, Populated: !head.NoData}), nil
}

// Fill runs a query and puts its rows into a table, of which ready makes sure that it can take them, and is empty.
type Fill func(ctx context.Context, query string, into catalog.TableName, ready func(result *arrow.Schema) error) error

// Run is REFRESH MATERIALIZED VIEW in a transaction whose contents v shows.
func Run(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, head *statement.Refresh, fill Fill) error {
	version, err := target(v, head)
	if err != nil {
		return err
	}
	table := version.Table()
	d, _ := materialized.Of(table)
	if head.Concurrently {
		if err := concurrently(table, d, head); err != nil {
			return err
		}
	}
	if head.NoData {
		err = tx.Truncate(table.Name)
	} else {
		err = dialect.WithoutPosition(fill(ctx, d.Query, table.Name, func(result *arrow.Schema) error {
			if err := fits(v, table, result); err != nil {
				return err
			}
			return tx.Truncate(table.Name)
		}))
	}
	if err != nil || d.Populated == !head.NoData {
		return err
	}
	d.Populated = !head.NoData
	return tx.Redeclare(table.Name, materialized.Mark(table.Columns, d))
}

// target is the materialized view that a statement names.
func target(v *snapshot.View, head *statement.Refresh) (*catalog.TableVersion, error) {
	version, err := v.Stored(head.Name)
	switch e, ok := err.(*sqlerror.Error); {
	case err == snapshot.ErrTemporary, err == nil && !materialized.Is(version.Table()):
		return nil, sqlerror.New("0A000", "%q is not a materialized view", head.Name.Name)
	case ok && e.State == "42809":
		return nil, sqlerror.New("42809", "%q is not a table or materialized view", head.Name.Name)
	}
	return version, err
}

// concurrently is the error of CONCURRENTLY where PostgreSQL, which looks for the rows that differ, cannot do it.
func concurrently(table catalog.Table, d materialized.Definition, head *statement.Refresh) error {
	switch list, err := constraint.Of(table.Columns); {
	case err != nil:
		return err
	case !d.Populated:
		return sqlerror.New("0A000", "CONCURRENTLY cannot be used when the materialized view is not populated")
	case head.NoData:
		return sqlerror.New("42601", "CONCURRENTLY and WITH NO DATA options cannot be used together")
	case !slices.ContainsFunc(list, constraint.Constraint.Unique):
		return sqlerror.New("55000", "cannot refresh materialized view %q concurrently", table.Name.String()).
			WithHint("Create a unique index with no WHERE clause on one or more columns of the materialized view.")
	}
	return nil
}

// fits is an error if the query gives other columns than the materialized view has (FM1).
func fits(v *snapshot.View, table catalog.Table, result *arrow.Schema) error {
	is, err := namedtype.Stored(v.Contents, ingest.LogicalSchema(result))
	if err != nil {
		return err
	}
	shown := ingest.LogicalSchema(normal.Schema(table.Columns))
	same := is.NumFields() == shown.NumFields()
	for i := 0; same && i < is.NumFields(); i++ {
		same = arrow.TypeEqual(is.Field(i).Type, shown.Field(i).Type)
	}
	if !same {
		return sqlerror.New("0A000", "the query of materialized view %q gives other columns by now", table.Name.Name).
			WithHint("Drop the materialized view, and recreate it.")
	}
	return nil
}
