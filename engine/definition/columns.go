package definition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Columns asks DuckDB what the types of a CREATE TABLE are. copied are the columns, by their places, that are as those
// of another table.
func (r *Reader) Columns(head *statement.CreateTable, copied map[int]arrow.Field) (*arrow.Schema, error) {
	seen := map[string]bool{}
	fields := make([]arrow.Field, len(head.Columns))
	for i, c := range head.Columns {
		if seen[strings.ToLower(c.Name)] {
			return nil, sqlerror.New("42701", "column %q specified more than once", c.Name)
		}
		seen[strings.ToLower(c.Name)] = true
		if f, ok := copied[i]; ok {
			fields[i] = copiedColumn(f, c)
			continue
		}
		f, err := r.Column(c)
		if err != nil {
			return nil, err
		}
		fields[i] = f
	}
	if len(fields) == 0 {
		return nil, sqlerror.New("0A000", "a table needs at least one column")
	}
	schema, err := r.labelled(arrow.NewSchema(fields, nil))
	if err != nil {
		return nil, err
	}
	for _, c := range head.Columns {
		if err := r.Generated(head.Name.Name, schema, c); err != nil {
			return nil, err
		}
	}
	return schema, nil
}

// copiedColumn is a column of another table as one of a CREATE TABLE's. A default that it has in c is that of the
// sequence which was made for it.
func copiedColumn(f arrow.Field, c statement.Column) arrow.Field {
	f.Name, f.Nullable = c.Name, !c.NotNull
	if c.Default != "" {
		f.Metadata = mark.With(f.Metadata, cast.DefaultKey, c.Default)
	}
	return identified(f, c.Identity)
}

// identified is a field that is marked as an identity column if it is one.
func identified(f arrow.Field, is *statement.Identity) arrow.Field {
	if is == nil {
		return f
	}
	return cast.WithIdentity(f, map[bool]string{true: cast.IdentityAlways, false: cast.IdentityByDefault}[is.Always])
}

func (r *Reader) types() namedtype.Expressions {
	return namedtype.Expressions{View: r.View, Conn: r.Conn}
}

// TypesOf are the user-defined types as the statement sees them.
func (r *Reader) TypesOf() duckdb.TypesOf { return namedtype.SQL(r.View.Contents) }

// labelled are columns whose generated ones say of which types their labels are.
func (r *Reader) labelled(columns *arrow.Schema) (*arrow.Schema, error) {
	fields := columns.Fields()
	for i, f := range fields {
		text, err := r.labels(columns, cast.Generated(f))
		if err != nil {
			return nil, err
		}
		fields[i] = cast.WithGenerated(f, text)
	}
	return arrow.NewSchema(fields, nil), nil
}

// Column is Columns of one.
func (r *Reader) Column(c statement.Column) (arrow.Field, error) {
	c.Type = r.called(c.Type)
	if t, err := r.domain(c); err != nil {
		return arrow.Field{}, err
	} else if t != nil {
		return r.domainColumn(c, t)
	}
	typ, err := columntype.Read(c.Type)
	if e, ok := err.(*sqlerror.Error); ok {
		return arrow.Field{}, ColumnError(c, e)
	}
	name := typ.DuckDB
	f, err := TypeNamed(r.Conn, name, c.Type)
	if e, ok := err.(*sqlerror.Error); ok {
		err = ColumnError(c, e)
	}
	if err != nil {
		return arrow.Field{}, err
	}
	if f, err = namedtype.StoredField(r.View.Contents, f); err != nil {
		return f, err
	}
	f.Name, f.Type, f.Nullable = c.Name, ingest.Logical(f.Type), !c.NotNull
	if c.Collated && !isText(f.Type) {
		return f, sqlerror.New("42804", "column %q: collations are not supported by type %s", c.Name, c.Type)
	}
	stored, err := columntype.SQL(f)
	if err != nil {
		return f, err
	}
	if err := r.sameType(name, stored); err != nil {
		return f, ColumnError(c, err)
	}
	f = identified(typ.Declared.Mark(f), c.Identity)
	f = cast.WithGenerated(f, c.Generated)
	if c.Default == "" {
		return f, nil
	}
	return r.WithDefault(f, c, name)
}

// called is the name of a type as texts for DuckDB have it. A user's type is called so already, unless only DuckDB reads
// the statement: one with a STRUCT or a UNION in it.
func (r *Reader) called(name string) string {
	const before, after = "SELECT CAST(NULL AS ", "\n)"
	if !r.View.Contents.HasTypes() {
		return name
	}
	text := before + name + after
	if tree := dialect.TreeOf(text); tree != nil {
		text, made, err := typing.NameTypes(text, tree, namedtype.Finder(r.View, nil))
		if made != nil && err == nil {
			return strings.TrimSuffix(strings.TrimPrefix(text, before), after)
		}
	}
	return name
}

// WithDefault is a field of the type of this name with the default of a definition.
func (r *Reader) WithDefault(f arrow.Field, c statement.Column, name string) (_ arrow.Field, err error) {
	bind := func(text string) (string, error) { return sequence.Bind(r.View, text) }
	if c.Default, err = calling.Edited(c.Default, bind); err != nil {
		return f, err
	}
	calls, computes := calling.Split(c.Default)
	c.Default = computes
	if c.Default, err = r.types().Default(f, c.Default); err != nil {
		return f, err
	}
	check, err := r.Conn.Prepare("SELECT CAST(" + dialect.Expression(c.Default) + " AS " + name + ")")
	if e := Shortage(err); e != nil {
		return f, ColumnError(c, e)
	}
	if err != nil {
		return f, sqlerror.New("42611", "column %q: bad default %s: %v", c.Name, c.Default, err)
	}
	check.Close()
	if err := r.hasValue(f, c, name); err != nil {
		return f, err
	}
	f = WithoutDefault(f)
	f.Metadata = mark.With(f.Metadata, cast.DefaultKey, calls.Before(c.Default))
	return f, nil
}

// hasValue refuses a default that is a string and stands for no value of the type, as PostgreSQL does when it reads the
// definition. TRY_CAST ends no transaction, which a constant without a value does.
func (r *Reader) hasValue(f arrow.Field, c statement.Column, name string) error {
	literal := lex.DuckDB.Next(c.Default, 0)
	value, ok := literal.Value()
	if literal.Kind != lex.String || !ok || !lex.DuckDB.Next(c.Default, literal.End()).Ends() {
		return nil
	}
	text := dialect.Expression(cast.ForColumn(c.Default, f))
	none, err := r.Conn.Texts(context.Background(), "SELECT 'none' WHERE TRY_CAST("+text+" AS "+name+") IS NULL")
	if err != nil || len(none) == 0 {
		return nil //nolint:nilerr // the INSERT that uses the default reports it
	}
	kind, state := strings.ToLower(cmp.Or(c.Type, name)), "22P02"
	switch id := f.Type.ID(); {
	case id == arrow.DATE32 || id == arrow.TIMESTAMP || id == arrow.TIME64 || id == arrow.INTERVAL_MONTH_DAY_NANO:
		state = "22007"
	case arrow.IsInteger(id) && wholeNumber.MatchString(value):
		return sqlerror.New("22003", "column %q: default %q is out of range for type %s", c.Name, value, kind)
	}
	return sqlerror.New(state, "column %q: invalid input syntax for type %s: %q", c.Name, kind, value).
		WithHint("It is the column's default.")
}

var wholeNumber = regexp.MustCompile(`^\s*[-+]?[0-9]+\s*$`)

// Sequences are the names of those whose values the defaults of columns take.
func Sequences(contents *catalog.Contents, columns *arrow.Schema) (names []catalog.TableName) {
	for _, f := range columns.Fields() {
		text, _ := f.Metadata.GetValue(cast.DefaultKey)
		for _, number := range sequence.Calls(text) {
			if view := sequence.Numbered(contents, number); view != nil {
				names = append(names, view.Name)
			}
		}
	}
	return names
}

// WithoutDefault is a field that has none.
func WithoutDefault(f arrow.Field) arrow.Field {
	f.Metadata = mark.Without(f.Metadata, cast.DefaultKey)
	return f
}

// TypeNamed is what DuckDB takes the name of a type for; written is how the user has it.
func TypeNamed(conn *duckdb.Connection, name, written string) (arrow.Field, error) {
	duck, err := conn.Prepare("SELECT CAST(NULL AS " + name + ")")
	if err != nil {
		if d, ok := err.(*duckdb.Error); ok && d.State != "42704" && d.State != "42P01" {
			return arrow.Field{}, sqlerror.New(d.State, "type %s: %s", written, d.Message)
		}
		return arrow.Field{}, sqlerror.New("42704", "type %q does not exist", written)
	}
	defer duck.Close()
	schema, err := duck.Stored(true)
	if err != nil {
		return arrow.Field{}, err
	}
	return schema.Field(0), nil
}

// Shortage is what DuckDB says of its memory, its end or itself, and not of the words that it was given; nil: of
// those, or nothing.
func Shortage(err error) *sqlerror.Error {
	var d *duckdb.Error
	if !errors.As(err, &d) || len(d.State) != 5 || !slices.Contains([]string{"53", "57", "58", "XX"}, d.State[:2]) {
		return nil
	}
	return sqlerror.New(d.State, "%s", d.Message)
}

// ColumnError says which column an error is about, and where it stands.
func ColumnError(c statement.Column, e *sqlerror.Error) *sqlerror.Error {
	e.Message, e.At = fmt.Sprintf("column %q: %s", c.Name, e.Message), c.At
	return e
}

// sameType is an error unless values of a type that was declared are stored as values of that type. Text in the place
// of an ENUM, say, would order by other rules and take every word.
func (r *Reader) sameType(declared, stored string) *sqlerror.Error {
	names, err := r.Conn.Texts(context.Background(), "SELECT unnest([typeof(CAST(NULL AS "+declared+")), typeof(CAST(NULL AS "+stored+"))])")
	if e := Shortage(err); e != nil {
		return e
	}
	if err != nil || len(names) != 2 {
		return sqlerror.New("0A000", "columns of type %s cannot be stored", declared)
	}
	if names[0] == names[1] {
		return nil
	}
	e := sqlerror.New("0A000", "columns of type %s cannot be stored", names[0]).
		WithHint("They would be " + names[1] + ": declare that, and cast to it.")
	if strings.Contains(names[0], "ENUM") {
		return e.WithHint(enumAdvice)
	}
	return e
}

const enumAdvice = "CREATE TYPE name AS ENUM ('a', 'b') makes a type that tables can have; or use varchar with a CHECK of its values."

// isText reports whether values of a type are text, or lists of it.
func isText(t arrow.DataType) bool {
	if list, ok := t.(arrow.ListLikeType); ok {
		return isText(list.Elem())
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}

// Limited gives the text of a temporary table checks of what varchar(n) and char(n) say, which DuckDB forgets. (Spaces
// beyond the length are not cut.) It knows bit varying as bitstring.
func Limited(text string, head *statement.CreateTable) (string, edit.List, error) {
	var checks strings.Builder
	edited := edit.New(text)
	for _, c := range head.Columns {
		name := edit.Offset(text, c.At)
		if at := strings.Index(text[name:], c.Type); at >= 0 && bitVarying.MatchString(c.Type) {
			edited.Replace(name+at, name+at+len(c.Type), bitVarying.ReplaceAllString(c.Type, "bitstring${1}"))
		}
		if typ, err := columntype.Read(c.Type); err == nil && typ.Length > 0 {
			fmt.Fprintf(&checks, ", CHECK (length(%s) <= %d)", duckdb.QuoteIdentifier(c.Name), typ.Length)
		} else if e, ok := err.(*sqlerror.Error); ok && forgottenLength.MatchString(c.Type) {
			return "", nil, ColumnError(c, e)
		}
	}
	if head.DefinitionsEnd == 0 && forgottenLength.MatchString(text) {
		return "", nil, sqlerror.New("0A000", "the length of a string column is not kept in this form of CREATE TEMP TABLE").
			WithHint("Use text, and CHECK (length(c) <= n).")
	}
	if checks.Len() > 0 {
		edited.Replace(head.DefinitionsEnd, head.DefinitionsEnd, checks.String())
	}
	text, made := edited.Text()
	return text, made, nil
}

// bitVarying is PostgreSQL's name of bits of any length.
var bitVarying = regexp.MustCompile(`(?i)^(?:varbit|bit\s+varying)(\s*\[|$)`)

// forgottenLength finds the parentheses that DuckDB forgets.
var forgottenLength = regexp.MustCompile(`(?i)\b(?:varchar|char|character|varying|bpchar|nvarchar|text|string)\s*\(\s*[0-9]`)

// RefuseInherited is the error of a query whose text says nothing of a collation and that has a column with one all the
// same, of a temporary table or of a view; asked gives the first row of a query. DuckDB does not show the collation of a
// type; it is found by comparing what only one of them makes equal, or orders.
func RefuseInherited(query string, result *arrow.Schema, asked func(text string) ([]string, error)) error {
	text, columns := collationsAsked(query, result)
	if len(columns) == 0 {
		return nil
	}
	collated, err := asked(text)
	if at := slices.Index(collated, "true"); at >= 0 {
		return sqlerror.New("0A000", "column %q: COLLATE of a column is not supported", columns[at]).
			WithHint("Make the temporary table, or the view, without COLLATE.")
	}
	return err
}

// collationsAsked asks which text columns of a query's result have a collation: DuckDB does not report the collation of
// a type. So the query compares values that only one of them makes equal, or orders. Each row answers for one of
// columns.
func collationsAsked(query string, result *arrow.Schema) (text string, columns []string) {
	var list []string
	for i, f := range result.Fields() {
		if _, json := f.Metadata.GetValue(normal.ExtensionName); f.Type.ID() == arrow.STRING && !json {
			c := fmt.Sprintf("coalesce((SELECT c%d FROM q LIMIT 0), ", i)
			list = append(list, "("+c+"'a') < 'B' OR "+c+"'é') = 'e')")
			columns = append(columns, f.Name)
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	names := make([]string, result.NumFields())
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	text = "WITH q(" + strings.Join(names, ", ") + ") AS (" + query + "\n) SELECT unnest([" + strings.Join(list, ", ") + "])::VARCHAR"
	return text, columns
}

// DeclaredAs marks columns of a query's result that show columns of varchar(n) as they are: as with PostgreSQL, the
// table that is made of it has it, too.
func DeclaredAs(schema *arrow.Schema, origins []typing.Origin) *arrow.Schema {
	if len(origins) != schema.NumFields() {
		return schema
	}
	fields := schema.Fields()
	for i, o := range origins {
		if d, ok := columntype.Declares(o.Type, o.Typmod); ok && fields[i].Type.ID() == arrow.STRING {
			fields[i] = d.Mark(fields[i])
		}
	}
	return arrow.NewSchema(fields, nil)
}
