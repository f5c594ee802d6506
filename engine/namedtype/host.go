package namedtype

import (
	"context"

	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Host is the session whose texts are read, for one statement.
type Host struct {
	View *snapshot.View
	Conn *duckdb.Connection
	// Yield has what streams on the connection be read to its end.
	Yield func()
	// Temporary: the session may have temporary objects.
	Temporary bool
	// Relations finds what names in FROM mean.
	Relations typing.Find
	// Plan returns the types of a query's parameters, Describe those of a text as DuckDB is given it.
	Plan     func(text string) ([]*enumeration.Type, error)
	Describe temporary.Describe
}

// Concerns reports whether a statement that the session does not plan as it is may name user-defined types, or labels.
// some: there are types, as far as the session has heard. Another node may have made the first one just now.
func Concerns(parsed *statement.Statement, temporary, some bool) bool {
	return parsed.Tree != nil && !namesOne(parsed.Head) && (some || declares(parsed.Head)) &&
		(isWhole(parsed.Head, temporary) || typing.NamesTypes(parsed.Tree))
}

// Text is Reading.Text.
func (h Host) Text(ctx context.Context, in dialect.Source) (dialect.Source, edit.List, error) {
	if !h.View.Contents.HasTypes() {
		return in, nil, nil
	}
	reading, err := h.reading(ctx, h.Plan)
	if err != nil {
		return in, nil, err
	}
	return reading.Text(in)
}

// Statement is Reading.Statement of one that Concerns is true of.
func (h Host) Statement(ctx context.Context, parsed *statement.Statement, users dialect.Written) (*statement.Statement,
	dialect.Written, error) {
	ask := h.Plan
	if _, kept := keptQuery(parsed.Head); !kept {
		ask = func(text string) ([]*enumeration.Type, error) {
			h.Yield()
			_, types, err := h.Describe(dialect.Operators(text))
			return types, err
		}
	}
	reading, err := h.reading(ctx, ask)
	if err != nil {
		return parsed, users, err
	}
	return reading.Statement(parsed, users, isWhole(parsed.Head, h.Temporary))
}

func (h Host) reading(ctx context.Context, ask func(string) ([]*enumeration.Type, error)) (r Reading, err error) {
	r = Reading{View: h.View, Relations: h.Relations, Ask: func(text string) ([]*enumeration.Type, error) {
		types, err := ask(text)
		switch {
		case err == nil:
			return types, nil
		case h.Conn.Aborted():
			return nil, dialect.WithoutPosition(err)
		}
		return nil, nil // the statement says itself what is wrong with it
	}}
	if !h.Temporary {
		return r, nil
	}
	h.Yield()
	if r.Own, err = temporary.Unlisted(ctx, h.Conn, statement.Type); err == nil {
		r.Uses, err = temporary.Uses(ctx, h.Conn)
	}
	return r, err
}
