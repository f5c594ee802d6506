package relation

import (
	"strings"

	"github.com/csmsql/csmsql/catalog"
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
		list = append(list, shown)
	}
	return list
}

// showTypes writes the names of types where a relation's texts have their numbers.
func showTypes(r *pgcatalog.Relation, contents *catalog.Contents, visible func(catalog.TableName) bool) {
	show := func(text *string) { *text = WithTypes(*text, contents, visible) }
	show(&r.Definition)
	for i := range r.Columns {
		show(&r.Columns[i].Default)
	}
	for i := range r.Constraints {
		show(&r.Constraints[i].Definition)
		show(&r.Constraints[i].Expression)
	}
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
