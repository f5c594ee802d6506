package template

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// relation is a template.
type relation struct {
	columns     []arrow.Field
	constraints []constraint.Constraint
	sequences   []*catalog.View // of its columns
	// temporary: DuckDB keeps it, and its expressions are in DuckDB's words.
	temporary bool
}

// find looks for a template.
func (r *Reader) find(ctx context.Context, like statement.Like) (*relation, error) {
	of, err := r.look(ctx, like.Of)
	e, ok := err.(*sqlerror.Error)
	if !ok {
		return of, err
	}
	if schema := like.Of.Schema; e.State == "42P01" && schema != "" && !r.Definitions.View.Contents.HasSchema(schema) {
		e = sqlerror.New("3F000", "schema %q does not exist", schema)
	}
	e.At = like.Of.At
	return nil, e
}

func (r *Reader) look(ctx context.Context, name statement.Name) (*relation, error) {
	v := r.Definitions.View
	if _, err := v.Stored(name); err == snapshot.ErrTemporary {
		return r.private(ctx, name)
	}
	if version := v.Lookup(name.Database, name.Schema, name.Name); version != nil {
		table := version.Table()
		list, err := constraint.Of(table.Columns)
		return &relation{
			columns: table.Columns.Fields(), constraints: list,
			sequences: sequence.OwnedBy(v.Contents, table.ID, ""),
		}, err
	}
	if view := v.LookupView(name.Database, name.Schema, name.Name); view != nil {
		if view.Counter != 0 {
			return nil, invalid(name, "sequences")
		}
		if view.Columns != nil {
			return r.stored(view.Columns)
		}
	}
	index, err := constraint.Resolve(v.Contents, v.Path, name.Schema, name.Name)
	if index != nil {
		return nil, invalid(name, "indexes")
	}
	if err != nil {
		if e, ok := err.(*sqlerror.Error); !ok || e.State != "42809" { // else another relation has the name
			return nil, err
		}
	}
	return r.described(ctx, name)
}

func invalid(name statement.Name, what string) error {
	e := sqlerror.New("42809", "relation %q is invalid in LIKE clause", name.Name)
	e.DetailText = "This operation is not supported for " + what + "."
	return e
}

// described is a relation of which DuckDB knows no more than the columns: a view, a system catalog.
func (r *Reader) described(ctx context.Context, name statement.Name) (*relation, error) {
	schema, err := r.Describe(ctx, "SELECT * FROM "+quoted(name))
	if err != nil {
		return nil, err
	}
	return r.stored(schema)
}

func quoted(name statement.Name) string {
	text := duckdb.QuoteIdentifier(name.Name)
	for _, part := range []string{name.Schema, name.Database} {
		if part != "" {
			text = duckdb.QuoteIdentifier(part) + "." + text
		}
	}
	return text
}

// stored is a relation with the columns of a query as tables have them.
func (r *Reader) stored(columns *arrow.Schema) (*relation, error) {
	schema, err := namedtype.Stored(r.Definitions.View.Contents, ingest.LogicalSchema(columns))
	if err != nil {
		return nil, err
	}
	fields := schema.Fields()
	for i := range fields {
		fields[i].Nullable = true
		if _, err := columntype.SQL(fields[i]); err != nil {
			return nil, err
		}
	}
	return &relation{columns: fields}, nil
}

// private is a temporary table or view.
func (r *Reader) private(ctx context.Context, name statement.Name) (*relation, error) {
	name = statement.Name{Schema: snapshot.TemporarySchema, Name: name.Name}
	if dot := strings.LastIndexByte(name.Schema, '.'); dot >= 0 {
		name.Database, name.Schema = name.Schema[:dot], name.Schema[dot+1:]
	}
	of, err := r.described(ctx, name)
	if err != nil {
		return nil, err
	}
	of.temporary = true
	said, err := r.Definitions.Conn.Texts(ctx, `SELECT unnest([is_nullable::VARCHAR,
		(column_default IS NOT NULL)::VARCHAR, coalesce(column_default, '')]) FROM (FROM system.main.duckdb_columns() WHERE database_name = 'temp'
		AND schema_name = 'main' AND lower(table_name) = lower($1) ORDER BY column_index)`, name.Name)
	if err != nil {
		return nil, err
	}
	if len(said) != 3*len(of.columns) {
		return nil, sqlerror.New("XX000", "%d columns of temporary relation %q are described, of %d", len(said)/3,
			name.Name, len(of.columns))
	}
	for i := range of.columns {
		f := &of.columns[i]
		f.Nullable = said[3*i] == "true"
		if said[3*i+1] == "true" {
			f.Metadata = mark.With(f.Metadata, cast.DefaultKey, said[3*i+2])
		}
	}
	return of, cmp.Or(r.generates(ctx, name.Name), r.promises(ctx, of, name.Name))
}

// generates is an error if a temporary table computes columns: DuckDB does not distinguish those from defaults.
func (r *Reader) generates(ctx context.Context, name string) error {
	found, err := r.Definitions.Conn.Texts(ctx, `SELECT table_name FROM system.main.duckdb_tables() WHERE temporary
		AND lower(table_name) = lower($1) AND contains(sql, ' GENERATED ALWAYS AS(')`, name)
	if err == nil && len(found) > 0 {
		err = sqlerror.New("0A000", "LIKE a temporary table with generated columns is not supported").
			WithHint("Write the columns out.")
	}
	return err
}

// promises are the constraints of a temporary table.
func (r *Reader) promises(ctx context.Context, of *relation, name string) error {
	texts, err := r.Definitions.Conn.Texts(ctx, `SELECT unnest([constraint_type, coalesce(expression, ''),
		len(constraint_column_names)::VARCHAR] || constraint_column_names) FROM (FROM system.main.duckdb_constraints()
		WHERE database_name = 'temp' AND lower(table_name) = lower($1) AND constraint_type <> 'NOT NULL'
		ORDER BY constraint_index)`, name)
	if err != nil {
		return err
	}
	kinds := map[string]constraint.Kind{
		"CHECK": constraint.Check, "PRIMARY KEY": constraint.PrimaryKey, "UNIQUE": constraint.Unique,
	}
	for len(texts) >= 3 {
		n := 0
		if _, err := fmt.Sscan(texts[2], &n); err != nil || len(texts) < 3+n {
			return sqlerror.New("XX000", "the constraints of temporary table %q cannot be read", name)
		}
		k := constraint.Constraint{Kind: kinds[texts[0]], Columns: texts[3 : 3+n], Held: true}
		k.Expression = withoutParentheses(texts[1])
		texts = texts[3+n:]
		if n := length(k); n > 0 {
			f := &of.columns[slices.IndexFunc(of.columns, func(f arrow.Field) bool { return f.Name == k.Columns[0] })]
			*f = columntype.Declared{Name: "varchar", Length: n}.Mark(*f)
		} else if k.Kind != "" {
			of.constraints = append(of.constraints, k.Named(name, of.constraints))
		}
	}
	return nil
}

// length is the length of a string column of a temporary table, which has a check in its place; 0: the check is none.
func length(k constraint.Constraint) (n int) {
	if k.Kind != constraint.Check || len(k.Columns) != 1 {
		return 0
	}
	for _, column := range []string{k.Columns[0], duckdb.QuoteIdentifier(k.Columns[0])} {
		rest, is := strings.CutPrefix(k.Expression, "length("+column+") <= ")
		if n, err := strconv.Atoi(rest); is && err == nil {
			return n
		}
	}
	return 0
}

// withoutParentheses is an expression without those that are around all of it.
func withoutParentheses(text string) string {
	depth, last := 0, len(text)-1
	for t := range lex.Client.Tokens(text) {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		if depth == 0 && t.Start < last {
			return text
		}
	}
	if last < 1 || depth != 0 {
		return text
	}
	return text[1:last]
}

// withoutCalls is an expression of DuckDB's in which sequences are named as clients name them.
func withoutCalls(text string) string {
	var b strings.Builder
	last := 0
	for t := range lex.Client.Tokens(text) {
		if t.Is("csm_nextval") {
			b.WriteString(text[last:t.Start] + "nextval")
			last = t.End()
		}
	}
	return b.String() + text[last:]
}

// unqualified is the expression of a check whose columns are not said to be a table's: the one that takes it has
// another name.
func (of *relation) unqualified(k constraint.Constraint) string {
	if slices.ContainsFunc(of.columns, func(f arrow.Field) bool { return strings.EqualFold(f.Name, k.Table) }) {
		return k.Expression // a field of that column would be written so
	}
	edit := func(text string) (string, error) { return unqualified(text, k.Table), nil }
	text, err := calling.Edited(k.Expression, edit)
	if err != nil {
		return k.Expression
	}
	return text
}

// unqualified is a text whose columns are not said to be a table's.
func unqualified(text, table string) string {
	edited := edit.New(text)
	var before, name lex.Token
	for t := range lex.Client.Tokens(text) {
		is, ok := name.Name()
		if t.Is(".") && !before.Is(".") && ok && name.Kind != lex.String && strings.EqualFold(is, table) {
			edited.Replace(name.Start, t.End(), "")
		}
		before, name = name, t
	}
	out, _ := edited.Text()
	return out
}
