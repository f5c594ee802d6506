package engine

import (
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
	out, err := argument.NormalizeAll(args, st.params)
	if err != nil || st.elsewhere != nil {
		return out, err // the worker does the rest
	}
	return dialect.Arguments(st.parsed.Text, st.params, out)
}

// source is a text with what is known of it, if it is the statement's.
func (st *Statement) source(text string) dialect.Source {
	if text == st.parsed.Text && (st.parsed.Tree != nil || st.parsed.Syntax != nil) {
		return dialect.Source{Read: st.parsed.Read(), Tree: st.parsed.Tree}
	}
	return dialect.SourceOf(text)
}
