package function

import (
	"context"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// Calls reports whether a statement may call a function of contents, by the schemas that names are looked up in.
func Calls(parsed *statement.Statement, contents *catalog.Contents, path []string) bool {
	if contents == nil || !contents.HasTypes() || isAbout(parsed.Head) {
		return false
	}
	known := func(schema, name string) bool {
		schemas := path
		if schema != "" {
			schemas = []string{schema}
		}
		for _, schema := range schemas {
			for range contents.Alike(catalog.FunctionName(schema, name)) {
				return true
			}
		}
		return false
	}
	if parsed.Tree == nil {
		return called(parsed.Text, known) != ""
	}
	for m := range tree.All(parsed.Tree.ProtoReflect()) {
		if x, ok := m.Interface().(*pg.FuncCall); ok {
			var parts [2]string
			for i, n := range x.Funcname[max(0, len(x.Funcname)-2):] {
				parts[2-min(2, len(x.Funcname))+i] = n.GetString_().GetSval()
			}
			if known(parts[0], parts[1]) {
				return true
			}
		}
	}
	return false
}

// isAbout reports whether a statement is about functions themselves, and calls none.
func isAbout(head any) bool {
	switch head := head.(type) {
	case *statement.CreateFunction, *statement.Drop, *statement.Comment:
		return true
	case *statement.Private:
		return head.Verb == "create" && (head.Kind == "macro" || head.Kind == "function")
	}
	return false
}

// called is what a text without a tree calls that is known; empty: nothing.
func called(text string, known func(schema, name string) bool) string {
	var before [2]lex.Token // the last two
	for t := range lex.Client.Tokens(text) {
		name, ok := before[1].Text, before[1].Kind == lex.Word
		if before[1].Kind == lex.Quoted {
			name, ok = before[1].Name()
		}
		if ok && t.Is("(") && !before[0].Is(".") && known("", lex.Fold(name)) {
			return name
		}
		before[0], before[1] = before[1], t
	}
	return ""
}

// Host runs a statement that calls functions.
type Host struct {
	View    *snapshot.View
	Own     snapshot.Temporary // the session's own macros, which hide functions
	Dialect string
	// Read has a text name sequences as the statement does that is kept.
	Read func(ctx context.Context, read *lex.Text, users dialect.Written) (*lex.Text, dialect.Written, error)
}

// Uses are the functions that a statement calls; nil: none.
type Uses struct {
	of    map[catalog.TableName]*catalog.UserType // by their names
	calls string                                  // the statement with its calls, if it keeps a query
	means string                                  // its dialect
	// records are those of the expressions that a table keeps of it, nil of those that call nothing.
	records []*calling.Record
}

// Check is an error if one of them is another one in contents (FN2).
func (u *Uses) Check(now *catalog.Contents) error {
	if u == nil {
		return nil
	}
	for name, was := range u.of {
		if is, _ := now.Function(name); !same(was, is) {
			e := sqlerror.New("0A000", "function %s has changed since the statement was prepared", Name(was))
			e.RoutineName = "RevalidateCachedQuery" // which has drivers prepare it again
			return e.WithHint("Prepare the statement again.")
		}
	}
	return nil
}

// find is how names of functions are looked up.
func (h Host) find(uses *Uses) inline.Find {
	found := map[*catalog.UserType]*inline.Function{}
	return func(schema, name string) (*inline.Function, error) {
		if h.Own.Means(statement.Name{Schema: schema, Name: name}) {
			return nil, nil
		}
		t := h.View.LookupFunction(schema, name)
		if t == nil {
			return nil, nil
		}
		uses.of[t.Name] = t
		if f := found[t]; f != nil {
			return f, nil
		}
		f, err := Of(t)
		if err != nil {
			return nil, err
		}
		if f.Dialect != h.Dialect {
			return nil, sqlerror.New("0A000", "function %s, which is %s's, cannot be called from a text that is %s's",
				f.Name, f.Dialect, h.Dialect).WithHint("SET csm.dialect = '" + f.Dialect + "'")
		}
		found[t] = &f.Function
		return &f.Function, nil
	}
}

// Statement is a statement that has the bodies of functions for their calls, with how its user wrote it.
func (h Host) Statement(ctx context.Context, parsed *statement.Statement, users dialect.Written) (*statement.Statement,
	dialect.Written, *Uses, error) {
	uses := &Uses{of: map[catalog.TableName]*catalog.UserType{}, means: h.Dialect}
	find := h.find(uses)
	if parsed.Tree == nil {
		known := func(schema, name string) bool { f, err := find(schema, name); return f != nil || err != nil }
		if name := called(parsed.Text, known); name != "" {
			return parsed, users, nil, sqlerror.New("0A000", "function %s in a text that only DuckDB's parser "+
				"reads, or in VALUES of more than a few rows, is not supported", name)
		}
		return parsed, users, nil, nil
	}
	what, defines := kept(parsed.Head)
	if what != "" { // FN1
		of := find
		find = func(schema, name string) (*inline.Function, error) {
			f, err := of(schema, name)
			if f != nil {
				err = sqlerror.New("0A000", "%s that calls function %s is not supported", what, f.Name).
					WithHint("Write what the function computes.")
			}
			return f, err
		}
	}
	if _, keeps := query(parsed.Head); keeps {
		uses.calls = parsed.Text
	}
	text, made, err := inline.Text(dialect.Source{Read: parsed.Read(), Tree: parsed.Tree}, h.Dialect, find)
	if err != nil || made == nil {
		return parsed, users, nil, err
	}
	if defines {
		if err := uses.define(h, parsed); err != nil {
			return parsed, users, nil, err
		}
	}
	read, users, err := users.Written(parsed.Read(), text, made)
	if err == nil {
		read, users, err = h.Read(ctx, read, users)
	}
	if err != nil {
		return parsed, users, nil, err
	}
	next, err := statement.ParseText(read)
	return next, users, uses, err
}

// kept is what a statement keeps the text of its expressions as, and cannot with calls; empty: nothing, unless it
// defines a table, which keeps the records of calls beside.
func kept(head any) (what string, defines bool) {
	switch head := head.(type) {
	case *statement.Select, *statement.Insert, *statement.Update, *statement.Delete, *statement.Merge,
		*statement.Explain, *statement.Declare, *statement.Copy, *statement.Prepare, *statement.Execute:
		return "", false
	case *statement.CreateTableAs:
		return "", false
	case *statement.Private:
		if head.Verb != "create" {
			return "", false
		}
		return "a temporary " + strings.ToLower(head.Kind), false
	case *statement.CreateView:
		if !head.Temporary {
			return "", false
		}
		return "a temporary view", false
	case *statement.CreateTable:
		if head.Temporary {
			return "a temporary table", false
		}
	case *statement.AlterTable, interface{ Alter() *statement.AlterTable }:
	case *statement.CreateIndex:
		return "an index", false
	default:
		return "a statement of this kind", false
	}
	return "", true
}
