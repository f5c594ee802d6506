package relation

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

func typesOf(contents *catalog.Contents) (list []pgcatalog.Type) {
	for _, t := range contents.Types() {
		shown := pgcatalog.Type{Schema: t.Name.Schema, Name: t.Name.Name, OID: objectID(t.ID), Comment: t.Comment}
		for _, l := range t.Labels {
			label := pgcatalog.Label{OID: pgcatalog.ObjectID(l.ID), Order: l.Order, Text: l.Text}
			shown.Labels = append(shown.Labels, label)
		}
		if t.Domain != nil {
			shown.Domain = domainOf(t)
		}
		list = append(list, shown)
	}
	for _, t := range contents.Functions() {
		if f, err := function.Of(t); err == nil {
			list = append(list, pgcatalog.Type{Schema: t.Name.Schema, Name: f.Name, OID: objectID(t.ID),
				Comment: t.Comment, Function: functionOf(f, t.Name.Schema)})
		}
	}
	return list
}

// functionOf is how a function of a schema is shown.
func functionOf(f *function.Function, schema string) *pgcatalog.Function {
	shown := &pgcatalog.Function{Volatility: f.Volatility[0], Parallel: f.Parallel[0], Strict: f.Strict}
	of := func(c arrow.Field) uint32 {
		if f.Macro {
			return pgcatalog.AnyElement
		}
		oid, _ := Type(c)
		return oid
	}
	last := len(f.Columns) - 1
	for _, c := range f.Columns[:last] {
		shown.Parameters = append(shown.Parameters,
			pgcatalog.Parameter{Name: c.Name, Type: of(c), Default: function.WrittenDefault(c)})
	}
	shown.Result = of(f.Columns[last])
	switch {
	case f.Macro:
		shown.Source, shown.Macro = f.Written, f.MacroText(schema)
	case f.Form == "as":
		shown.Source = f.Written
	case f.Form == "return":
		shown.Body = "RETURN " + f.Written
	default:
		shown.Body = "BEGIN ATOMIC\n " + f.Written + ";\nEND"
	}
	return shown
}

// domainOf is how a domain is shown.
func domainOf(t *catalog.UserType) *pgcatalog.Domain {
	f := t.Domain.Field(0)
	d := &pgcatalog.Domain{NotNull: !f.Nullable}
	d.Base, d.Typmod = Type(f)
	d.Default, _ = cast.Default(f)
	list, err := constraint.Of(t.Domain)
	if err != nil {
		return d
	}
	for _, k := range list {
		k.Expression = constraint.OfDomain(calling.Shown(k.Expression), "VALUE")
		d.Constraints = append(d.Constraints, pgcatalog.Constraint{
			Name: k.Name, FirstName: k.FirstName(), Kind: 'c', Validated: !k.NotValid, Comment: k.Comment,
			Definition: k.Definition("", dialect.PlainIdentifier), Expression: k.Expression,
		})
	}
	return d
}

// inDomains has columns of domains be shown as such: planning knows their base types.
func inDomains(r *pgcatalog.Relation, columns *arrow.Schema) {
	for i, f := range columns.Fields() {
		if number, ok := constraint.DomainOf(f); ok {
			r.Columns[i].Type, r.Columns[i].Typmod = pgcatalog.ObjectID(number), -1
			if r.Columns[i].Default == constraint.DomainDefault(f) {
				r.Columns[i].Default = ""
			}
		}
	}
}

// showTypes writes the names of types where a relation's texts have their numbers, and those of functions without
// their schemas where they are found so.
func showTypes(r *pgcatalog.Relation, contents *catalog.Contents, visible func(catalog.TableName) bool) {
	r.Definition = WithTypes(r.Definition, contents, visible)
	show := func(text *string) { *text = withFunctions(WithTypes(*text, contents, visible), contents, visible) }
	for i := range r.Columns {
		show(&r.Columns[i].Default)
	}
	for i := range r.Constraints {
		show(&r.Constraints[i].Definition)
		show(&r.Constraints[i].Expression)
	}
}

// withFunctions is an expression whose calls name no schema that they do not need.
func withFunctions(text string, contents *catalog.Contents, visible func(catalog.TableName) bool) string {
	if !strings.Contains(text, ".") {
		return text
	}
	edited := edit.New(text)
	var last [4]lex.Token // before the schema, the schema, a dot and the name
	for token := range lex.Client.Tokens(text) {
		schema, named := last[1].Name()
		name, ok := last[3].Name()
		if token.Is("(") && last[2].Is(".") && !last[0].Is(".") && named && ok {
			of := catalog.FunctionName(schema, name)
			if _, is := contents.Function(of); is && visible(of) {
				edited.Replace(last[1].Start, last[3].Start, "")
			}
		}
		last[0], last[1], last[2], last[3] = last[1], last[2], last[3], token
	}
	shown, _ := edited.Text()
	return shown
}

// WithTypes is a text that calls user-defined types by their names.
func WithTypes(text string, contents *catalog.Contents, visible func(catalog.TableName) bool) string {
	if !strings.Contains(text, enumeration.NamePrefix) {
		return text
	}
	edited := edit.New(text)
	for token := range lex.Client.Tokens(text) {
		number, ok := enumeration.Named(token.Text)
		if token.Kind != lex.Word || !ok {
			continue
		}
		t, ok := contents.TypeOf(catalog.TableID(number))
		if !ok {
			continue
		}
		name := dialect.PlainIdentifier(t.Name.Name)
		if !visible(t.Name) {
			name = dialect.PlainIdentifier(t.Name.Schema) + "." + name
		}
		edited.Replace(token.Start, token.End(), name)
	}
	shown, _ := edited.Text()
	return shown
}
