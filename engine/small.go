package engine

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/dialect"
)

func isEnd(err error) bool { return errors.Is(err, io.EOF) }

// once gives one batch.
func once(batch arrow.RecordBatch) func(context.Context) (arrow.RecordBatch, error) {
	return func(context.Context) (arrow.RecordBatch, error) {
		if batch == nil {
			return nil, io.EOF
		}
		b := batch
		batch = nil
		return b, nil
	}
}

// treeOf is PostgreSQL's tree of a text, nil if only DuckDB understands it.
func (st *Statement) treeOf(text string) *pg.ParseResult {
	if text == st.parsed.Text && st.parsed.Tree != nil {
		return st.parsed.Tree
	}
	return dialect.TreeOf(text)
}

// computeParameters: the compute backend takes parameters of any type that fits.
func computeParameters(q *plan.Query) []duckdb.ParameterType {
	return make([]duckdb.ParameterType, q.Parameters)
}

// sameTypes compares columns by type; names are taken over.
func sameTypes(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool { return arrow.TypeEqual(x.Type, y.Type) })
}
