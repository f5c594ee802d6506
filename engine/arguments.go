package engine

import (
	"errors"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// arguments are the values of the statement's parameters as everything behind it sees them.
func (st *Statement) arguments(args []any) ([]any, error) {
	if len(args) != len(st.params) && (len(args) > 0 || st.plan != nil || st.planText != "" || st.unplanned) {
		return nil, sqlerror.New("08P01", "the statement has %s and was given %d", counted.Of(len(st.params), "parameter"), len(args))
	}
	out := slices.Clone(args)
	for i, arg := range args {
		value, err := argument.Normalize(arg, st.params[i])
		var refused *argument.Error
		if errors.As(err, &refused) {
			return nil, sqlerror.New(refused.State, "parameter $%d: %s", i+1, refused.Reason)
		}
		out[i] = value
	}
	if st.elsewhere != nil {
		return out, nil // the worker does it
	}
	return dialect.Arguments(st.params, out)
}

// treeOf is PostgreSQL's tree of a text, nil if only DuckDB understands it.
func (st *Statement) treeOf(text string) *pg.ParseResult {
	if text == st.parsed.Text && (st.parsed.Tree != nil || st.parsed.Syntax != nil) {
		return st.parsed.Tree
	}
	return dialect.TreeOf(text)
}

// source is a text with what is known of it, if it is the statement's.
func (st *Statement) source(text string) dialect.Source {
	if text == st.parsed.Text && (st.parsed.Tree != nil || st.parsed.Syntax != nil) {
		return dialect.Source{Read: st.parsed.Read(), Tree: st.parsed.Tree}
	}
	return dialect.SourceOf(text)
}
