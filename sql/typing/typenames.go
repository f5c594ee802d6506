package typing

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// FindType gives the number of the user-defined type that a name means; false: it means none.
type FindType func(database, schema, name string) (number uint64, ok bool)

// NameTypes writes the users' types in a text by their numbers (package enumeration): what is kept of it means them
// whatever they are called later.
//
//	'ok'::mood, CAST(m AS s.mood)    'ok'::csm_type__17, CAST(m AS csm_type__18)
//	mood 'ok'                        'ok'::csm_type__17
func NameTypes(sql string, parsed *pg.ParseResult, find FindType) (string, edit.List, error) {
	n := &naming{sql: sql, find: find, done: map[int32]bool{}}
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.TypeCast:
			n.cast(x)
		case *pg.TypeName:
			n.name(x)
		}
	}
	if n.failed != nil {
		return sql, nil, n.failed
	}
	slices.SortFunc(n.changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	out := edit.New(sql)
	for _, c := range n.changes {
		out.Replace(c.start, c.end, c.by)
	}
	text, made := out.Text()
	return text, made, nil
}

type naming struct {
	sql     string
	find    FindType
	changes []change
	done    map[int32]bool // types that a cast has written
	failed  error
}

// meant is the type that a name of the tree means, and where it stands.
func (n *naming) meant(t *pg.TypeName) (call string, span bind.Span, ok bool) {
	if t == nil || t.PctType || len(t.Names) > 3 || n.done[t.Location] {
		return "", span, false
	}
	parts := make([]string, 3)
	for i, part := range t.Names {
		parts[3-len(t.Names)+i] = part.GetString_().GetSval()
	}
	name := parts[2]
	if parts[1] == tree.SystemSchema || strings.HasPrefix(name, enumeration.NamePrefix) {
		return "", span, false
	}
	number, ok := n.find(parts[0], parts[1], name)
	if !ok {
		return "", span, false
	}
	at, ok := bind.NameAt(n.sql, int(t.Location))
	if !ok {
		return "", span, false
	}
	if len(t.Typmods) > 0 && n.failed == nil {
		e := sqlerror.New("42601", "type modifier is not allowed for type %q", name)
		e.At = edit.Position(n.sql, at.Start)
		n.failed = e
	}
	return enumeration.NameOf(number), at.Span, true
}

func (n *naming) replace(start, end int, by string) {
	n.changes = append(n.changes, change{start: start, end: end, by: by})
}

func (n *naming) name(t *pg.TypeName) {
	if call, at, ok := n.meant(t); ok {
		n.replace(at.Start, at.End, call)
	}
}

// cast writes a type that stands before its literal behind it.
func (n *naming) cast(c *pg.TypeCast) {
	constant := c.Arg.GetAConst()
	if constant.GetSval() == nil || c.TypeName.GetLocation() >= constant.Location {
		return
	}
	call, at, ok := n.meant(c.TypeName)
	literal := lex.Client.Next(n.sql, int(constant.Location))
	if !ok || literal.Kind != lex.String || lex.Client.Next(n.sql, at.End).Start != literal.Start {
		return
	}
	n.done[c.TypeName.Location] = true
	n.replace(at.Start, literal.Start, "")
	n.replace(literal.End(), literal.End(), "::"+call)
}

// NamesTypes reports whether a tree names types that may be users'.
func NamesTypes(parsed *pg.ParseResult) bool {
	for m := range tree.All(parsed.ProtoReflect()) {
		t, ok := m.Interface().(*pg.TypeName)
		if !ok || len(t.Names) == 0 || t.PctType {
			continue
		}
		first := t.Names[0].GetString_().GetSval()
		if len(t.Names) > 1 && first != "pg_catalog" || len(t.Names) == 1 && !commonTypes[first] {
			return true
		}
	}
	return false
}

// commonTypes are names of types that no user has made (namedtype.Changes), to spare most statements a look.
var commonTypes = map[string]bool{
	"text": true, "date": true, "uuid": true, "json": true, "jsonb": true, "bytea": true, "regclass": true,
	"name": true, "oid": true, "hugeint": true, "tinyint": true, "blob": true, "double": true, "string": true,
}
