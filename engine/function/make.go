package function

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/typing"
)

// Maker makes functions of texts in a dialect.
type Maker struct {
	Dialect string
	// Plan returns the columns of a query, in the dialect.
	Plan func(ctx context.Context, query string) (*arrow.Schema, error)
}

// Made is a function that is not in the catalog yet.
type Made struct {
	head     *statement.CreateFunction
	function *Function
}

// Read reads CREATE FUNCTION, as its user wrote it, and plans its body.
func (m Maker) Read(ctx context.Context, text string) (*Made, error) {
	made, err := m.read(ctx, text)
	return made, dialect.WithoutPosition(err)
}

func (m Maker) read(ctx context.Context, text string) (*Made, error) {
	parsed, err := statement.Parse(text)
	if err != nil {
		return nil, err
	}
	head, ok := parsed.Head.(*statement.CreateFunction)
	if !ok {
		return nil, errors.New("this is no CREATE FUNCTION")
	}
	if err := cmp.Or(checkParameters(head.Parameters), whole(head)); err != nil {
		return nil, err
	}
	written := head.Body
	if head.Bodies != "return" && !head.Macro {
		if written, err = inline.Expression(head.Name.Name, head.Body); err != nil {
			return nil, err
		}
	}
	f := &Function{Function: inline.Function{Name: head.Name.Name, Body: written, Strict: head.Strict}}
	for _, p := range head.Parameters {
		f.Parameters = append(f.Parameters, Parameter{Name: p.Name, Default: p.Default})
		if !head.Macro {
			f.Parameters[len(f.Parameters)-1].Type = inline.Of(unbounded(p.Type))
		}
	}
	if !head.Macro {
		f.Result = inline.Of(unbounded(head.Result))
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	types, err := m.types(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := m.body(ctx, f); err != nil {
		return nil, err
	}
	for i, t := range types {
		f.Columns[i] = with(with(f.Columns[i], typeKey, t.Name), castKey, t.Cast)
	}
	f.Declared = Declared{Dialect: m.Dialect, Macro: head.Macro, Written: head.Body, Form: head.Bodies,
		Volatility: head.Volatility, IsStrict: head.Strict, Parallel: head.Parallel}
	if f.Text, err = m.given(written); err != nil {
		return nil, err
	}
	for i, p := range f.Parameters {
		if p.Default == "" {
			continue
		}
		of := inline.Function{Name: f.Name, Body: p.Default}
		if err := of.Check(); err != nil {
			return nil, err
		}
		asked := p.Default
		if !head.Macro {
			asked = strings.Replace(p.Type.Cast, inline.Place, p.Default, 1)
		}
		if _, err := m.Plan(ctx, before+asked+" AS a"); err != nil {
			return nil, err
		}
		given, err := m.given(p.Default)
		if err != nil {
			return nil, err
		}
		f.Columns[i] = with(with(f.Columns[i], defaultKey, given), writtenKey, p.Default)
	}
	return &Made{head, f}, nil
}

// whole is an error of a function of which something is missing.
func whole(f *statement.CreateFunction) error {
	switch {
	case f.Macro:
	case f.Bodies == "":
		return sqlerror.New("42P13", "no function body specified")
	case f.Language == "" && f.Bodies == "as":
		return sqlerror.New("42P13", "no language specified")
	case f.Language != "" && !strings.EqualFold(f.Language, "sql"):
		e := sqlerror.New("0A000", "functions of language %q are not supported", f.Language)
		return e.WithHint(statement.FunctionAdvice)
	case f.Result == "":
		return sqlerror.New("42P13", "function result type must be specified")
	case strings.EqualFold(f.Result, "void"):
		return sqlerror.New("0A000", "functions that return void are not supported").WithHint(statement.FunctionAdvice)
	}
	return nil
}

// unbounded is the name of a parameter's or result's type, which has any length, whatever was declared: to a cast, char
// alone is one character, and bit one bit.
func unbounded(name string) string {
	base, array, found := strings.Cut(name, "[")
	switch strings.ToLower(base) {
	case "char", "character", "nchar", "national char", "national character":
		base = "bpchar"
	case "bit":
		base = "bit varying"
	}
	if found {
		base += "[" + array
	}
	return base
}

// checkParameters is an error of parameters that are none.
func checkParameters(list []statement.FunctionParameter) error {
	if len(list) > parametersMost {
		return sqlerror.New("54023", "functions cannot have more than %d arguments", parametersMost)
	}
	for i, p := range list {
		switch {
		case i > 0 && list[i-1].Default != "" && p.Default == "":
			return sqlerror.New("42P13", "input parameters after one with a default value must also have defaults")
		case p.Name != "" && slices.ContainsFunc(list[:i], func(o statement.FunctionParameter) bool { return o.Name == p.Name }):
			return sqlerror.New("42P13", "parameter name %q used more than once", p.Name)
		}
	}
	return nil
}

// parametersMost bounds the parameters of a function, as PostgreSQL does.
const parametersMost = 100

const before = "SELECT "

// given is what the dialect makes of an expression.
func (m Maker) given(expression string) (string, error) {
	read, _, err := dialect.Given(lex.Client.Text(before+expression), m.Dialect)
	if err != nil {
		return "", dialect.WithoutPosition(err)
	}
	return strings.TrimPrefix(read.SQL, before), nil
}

// with is a column of which more is said.
func with(f arrow.Field, key, value string) arrow.Field {
	f.Metadata = mark.With(f.Metadata, key, value)
	return f
}

// types asks what the types of parameters and the result are. Those of the users' are called by their numbers from now
// on: they may be renamed.
func (m Maker) types(ctx context.Context, f *Function) (types []inline.Type, err error) {
	for _, p := range append(slices.Clone(f.Parameters), Parameter{Type: f.Result}) {
		column, t := arrow.Field{Type: arrow.Null}, p.Type
		if t.Name != "" {
			schema, err := m.Plan(ctx, before+"CAST(NULL AS "+t.Name+") AS a")
			if err != nil {
				return nil, dialect.WithoutPosition(err)
			}
			column = schema.Field(0)
			if t.Cast, err = m.given(t.Cast); err != nil {
				return nil, err
			}
		}
		switch of := enumeration.Of(column); {
		case of != nil:
			t = inline.Of(enumeration.NameOf(of.Number()))
		case enumeration.Any(column.Type), column.Type.ID() == arrow.DICTIONARY:
			return nil, sqlerror.New("0A000", "a function's parameter or result of type %s is not supported", t.Name)
		}
		column.Name, column.Nullable = p.Name, true
		f.Columns, types = append(f.Columns, column), append(types, t)
	}
	return types, nil
}

// body plans the body over parameters that are NULL, where nothing but an expression can stand: not of a macro, which
// depends on what it is called with.
func (m Maker) body(ctx context.Context, f *Function) error {
	if f.Result.Name == "" {
		return nil
	}
	columns, arguments := []string{"NULL AS nothing"}, make([]string, len(f.Parameters))
	for i, p := range f.Parameters {
		name := "argument" + strconv.Itoa(i+1)
		arguments[i] = "arguments." + name
		columns = append(columns, "CAST(NULL AS "+p.Type.Name+") AS "+name)
	}
	text, err := f.Applied(arguments)
	if err != nil {
		return err
	}
	_, err = m.Plan(ctx, "SELECT 1 AS one FROM ("+before+strings.Join(columns, ", ")+") AS arguments "+
		"WHERE ("+text+") IS NULL")
	var e *sqlerror.Error
	if errors.As(err, &e) && (e.State == "42803" || e.State == "42P20") {
		err = sqlerror.New("0A000", "an aggregate or window function in the body of function %s is not supported",
			f.Name)
	}
	return dialect.WithoutPosition(err)
}

// Make puts the function into the catalog, and has followers compute it. Nothing streams on conn; notice sends the
// client a notice.
func (m *Made) Make(ctx context.Context, tx *catalog.Transaction, v *snapshot.View, conn *duckdb.Connection,
	notice func(message, detail string), followers Followers) error {
	name, err := v.QualifyType(m.head.Name)
	if err != nil {
		return err
	}
	if err := m.free(ctx, conn); err != nil {
		return err
	}
	if err := m.function.refuseDomains(v); err != nil {
		return err
	}
	columns, err := m.function.columns()
	if err != nil {
		return err
	}
	made := &catalog.UserType{Name: catalog.FunctionName(name.Schema, name.Name), Function: columns}
	replaced := v.LookupFunction(name.Schema, name.Name)
	switch {
	case replaced == nil:
		_, err = tx.CreateType(ctx, made)
	case m.head.IfNotExists:
		notice("function "+strconv.Quote(m.function.Name)+" already exists, skipping", "")
		return nil
	default:
		err = m.replace(tx, made, replaced)
	}
	if err == nil {
		err = m.ends(v, tx.Contents())
	}
	if err != nil || replaced == nil {
		return err
	}
	return followers.follow(ctx, tx, v, replaced)
}

// refuseDomains is an error of a function whose texts name a domain: it would not be what the domain is later.
func (f *Function) refuseDomains(v *snapshot.View) error {
	texts := []string{f.Text, "CAST(NULL AS " + cmp.Or(f.Result.Name, "int") + ")"}
	for _, p := range f.Parameters {
		texts = append(texts, cmp.Or(p.Default, "NULL"), "CAST(NULL AS "+cmp.Or(p.Type.Name, "int")+")")
	}
	var named *catalog.UserType
	find := func(database, schema, name string) (uint64, bool) {
		if t := v.LookupType(database, schema, name); t != nil && t.Domain != nil {
			named = t
		}
		return 0, false
	}
	for _, text := range texts {
		in := dialect.SourceOf(before + text)
		if in.Tree == nil {
			continue
		}
		if _, _, err := typing.NameTypes(in.Text(), in.Tree, find); err != nil {
			return dialect.WithoutPosition(err)
		}
	}
	if named == nil {
		return nil
	}
	return sqlerror.New("0A000", "a function that names domain %q is not supported", named.Name.Name).
		WithHint("Write the domain's own type.")
}

// free is an error if the system has a function of the name (FN3).
func (m *Made) free(ctx context.Context, conn *duckdb.Connection) error {
	known, err := conn.Texts(ctx, "SELECT function_name FROM system.main.duckdb_functions() "+
		"WHERE database_name <> 'temp' AND lower(function_name) = lower($1) LIMIT 1", m.function.Name)
	if err != nil || len(known) == 0 && !pgcatalog.Calls(m.function.Name) {
		return err
	}
	return sqlerror.New("0A000", "a function of the name of one of the system's, %s, is not supported",
		m.function.Name).WithHint("Call it something else.")
}

// replace puts the function in the place of another one, which has its parameters and its result.
func (m *Made) replace(tx *catalog.Transaction, made, replaced *catalog.UserType) error {
	was, err := Of(replaced)
	if err != nil {
		return err
	}
	is := m.function
	of := func(c arrow.Field) string { sql, _ := c.Metadata.GetValue(typeKey); return sql }
	last, wasLast := len(is.Columns)-1, len(was.Columns)-1
	alike := slices.EqualFunc(is.Columns[:last], was.Columns[:wasLast], func(a, b arrow.Field) bool {
		return arrow.TypeEqual(a.Type, b.Type) && (enumeration.Of(a) == nil || of(a) == of(b))
	})
	switch {
	case !m.head.OrReplace && alike:
		return sqlerror.New("42723", "function %q already exists with same argument types", is.Name)
	case !m.head.OrReplace, !alike && !(is.Macro && was.Macro):
		return sqlerror.New("0A000", "several functions of one name, %s, are not supported", is.Name).
			WithHint("There is " + was.Signature() + ": call this one something else, or drop that.")
	case is.Macro:
	case !arrow.TypeEqual(is.Columns[last].Type, was.Columns[wasLast].Type):
		return sqlerror.New("42P13", "cannot change return type of existing function").
			WithHint("Use DROP FUNCTION " + was.Signature() + " first.")
	default:
		for i, p := range was.Parameters {
			if p.Name != "" && p.Name != is.Parameters[i].Name {
				return sqlerror.New("42P13", "cannot change name of input parameter %q", p.Name).
					WithHint("Use DROP FUNCTION " + was.Signature() + " first.")
			}
			if p.Default != "" && WrittenDefault(is.Columns[i]) == "" {
				return sqlerror.New("42P13", "cannot remove parameter defaults from existing function").
					WithHint("Use DROP FUNCTION " + was.Signature() + " first.")
			}
		}
	}
	made.ID, made.Name, made.CreatedAt, made.Comment = replaced.ID, replaced.Name, replaced.CreatedAt, replaced.Comment
	return tx.RedefineType(replaced.Name, made)
}

// ends is an error of a function that calls itself.
func (m *Made) ends(v *snapshot.View, now *catalog.Contents) error {
	seen := *v
	seen.Contents = now
	f := m.function
	nulls := slices.Repeat([]string{"NULL"}, len(f.Parameters))
	name := dialect.PlainIdentifier(f.Name)
	if m.head.Name.Schema != "" {
		name = dialect.PlainIdentifier(m.head.Name.Schema) + "." + name
	}
	host := Host{View: &seen, Dialect: f.Dialect}
	call := dialect.SourceOf(before + name + "(" + strings.Join(nulls, ", ") + ")")
	_, _, err := inline.Text(call, f.Dialect, host.find(&Uses{of: map[catalog.TableName]*catalog.UserType{}}))
	return dialect.WithoutPosition(err)
}
