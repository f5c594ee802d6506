package inline

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Domain is a type whose values are those of another one that it allows.
type Domain struct {
	Name string
	Base Type
	// Free: it allows all values of its base type. For other domains, the database must have a function of one
	// parameter with the type's name, which applies the domain to a value.
	Free bool
}

// FindDomain gives the domain of a number; nil: it is none of them.
type FindDomain func(number uint64) (*Domain, error)

// Casts is a text with what casts to domains do for the casts, which name them by their numbers. A value is computed
// once (IL1). made leads back to the given text; nil: it has no such cast. Preconditions: it has a tree. An error has a
// place in the given text.
func Casts(in dialect.Source, find FindDomain) (text string, made edit.List, err error) {
	w := &castWriter{text: in.Text(), find: find}
	if err := w.read(in.Tree); err != nil || len(w.casts) == 0 {
		return in.Text(), nil, err
	}
	out := edit.New(in.Text())
	for rest := w.casts; len(rest) > 0; {
		c := rest[0]
		var by string
		if by, rest, err = w.write(rest); err != nil {
			return in.Text(), nil, placed(err, in.Text(), c.Start)
		}
		out.Replace(c.Start, c.End, by)
	}
	text, made = out.Text()
	if len(text) > dialect.TreeMax { // IL3
		return in.Text(), nil, tooLong()
	}
	return text, made, nil
}

// domainCast is a cast to a domain in a text.
type domainCast struct {
	bind.Span
	operand bind.Span
	to      *Domain
	typed   bool   // pg_typeof() of it, whose span it has
	column  string // what the column of a query is called that it is; empty: it is none, or its name is said
	call    string // the name of the domain, by its number
}

type castWriter struct {
	find  FindDomain
	text  string
	casts []domainCast // outer ones before inner ones

	groups *lex.Groups // when they were asked for
}

func (w *castWriter) domain(t *pg.TypeName) (call string, d *Domain, err error) {
	if t == nil || len(t.Names) != 1 {
		return "", nil, nil
	}
	call = t.Names[0].GetString_().GetSval()
	number, ok := enumeration.Named(call)
	if !ok {
		return "", nil, nil
	}
	d, err = w.find(number)
	return call, d, err
}

// read finds the casts of a tree. A domain that is named elsewhere is an error.
func (w *castWriter) read(parsed *pg.ParseResult) error {
	known, columns := map[*pg.TypeName]bool{}, map[*pg.TypeCast]string{}
	typed := map[*pg.TypeCast]*pg.FuncCall{}
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.ResTarget:
			if c := x.Val.GetTypeCast(); c != nil && x.Name == "" {
				columns[c] = pgcatalog.ColumnName(x)
			}
		case *pg.FuncCall:
			if name := x.Funcname[len(x.Funcname)-1].GetString_().GetSval(); name == "pg_typeof" && len(x.Args) == 1 {
				typed[x.Args[0].GetTypeCast()] = x
			}
		case *pg.TypeCast:
			call, d, err := w.domain(x.TypeName)
			if err != nil {
				return placed(err, w.text, int(x.TypeName.Location))
			}
			if d == nil {
				continue
			}
			if len(x.TypeName.ArrayBounds) > 0 {
				return placed(sqlerror.New("0A000", "a type made of domain %q is not supported", d.Name).
					WithHint("Write the domain's own type."), w.text, int(x.TypeName.Location))
			}
			known[x.TypeName] = true
			c := domainCast{to: d, call: call, column: columns[x]}
			if columns[x] == call {
				c.column = d.Name
			}
			if !w.spans(x, &c) {
				return placed(sqlerror.New("0A000", "this cast to domain %q is not supported", d.Name).
					WithHint("Write CAST(… AS …)."), w.text, int(x.TypeName.Location))
			}
			if f := typed[x]; f != nil {
				if of, ok := callAt(w.text, int(f.Location)); ok {
					c.Span, c.typed = of.Span, true
				}
			}
			w.casts = append(w.casts, c)
		case *pg.TypeName:
			if known[x] {
				continue
			}
			_, d, err := w.domain(x)
			if err == nil && d != nil {
				err = sqlerror.New("0A000", "domain %q outside of columns and casts is not supported", d.Name).
					WithHint("Write the domain's own type.")
			}
			if err != nil {
				return placed(err, w.text, int(x.Location))
			}
		}
	}
	slices.SortStableFunc(w.casts, func(a, b domainCast) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	// The tree of SET (a, b) = (SELECT …) has the query twice.
	w.casts = slices.CompactFunc(w.casts, func(a, b domainCast) bool { return a.operand == b.operand })
	return nil
}

// spans says where a cast stands, and what it casts; false: the text does not show it.
func (w *castWriter) spans(x *pg.TypeCast, c *domainCast) bool {
	word := lex.Client.Next(w.text, int(x.TypeName.Location))
	first := lex.Client.Next(w.text, max(int(x.Location), 0))
	if word.Text != c.call || x.Location < 0 || first.Start >= word.Start {
		return false
	}
	if first.Is("cast") {
		open := lex.Client.Next(w.text, first.End())
		as := open
		for t := open; t.Start < word.Start && !t.Ends(); t = lex.Client.Next(w.text, t.End()) {
			as = t
		}
		stop := lex.Client.Next(w.text, word.End())
		c.Span, c.operand = bind.Span{Start: first.Start, End: stop.End()}, bind.Span{Start: open.End(), End: as.Start}
		return open.Is("(") && as.Is("as") && stop.Is(")")
	}
	start, ok := w.operandStart(x.Arg, first.Start)
	c.Span, c.operand = bind.Span{Start: start, End: word.End()}, bind.Span{Start: start, End: first.Start}
	return ok && first.Is(":")
}

// operandStart is where what stands before :: begins: with the first of its parts, and the parentheses around that.
func (w *castWriter) operandStart(x *pg.Node, colons int) (start int, ok bool) {
	start = colons
	for m := range tree.All(x.ProtoReflect()) {
		at := m.Descriptor().Fields().ByName("location")
		if at == nil {
			continue
		}
		if l := int(m.Get(at).Int()); l > 0 && l < start { // nothing to cast begins a text
			start = l
		}
	}
	if start == colons {
		return 0, false
	}
	if w.groups == nil {
		w.groups = lex.NewGroups(lex.Client.Text(w.text))
	}
	opened, depth := w.groups.At(start), 0
	for t := lex.Client.Next(w.text, start); t.Start < colons && !t.Ends(); t = lex.Client.Next(w.text, t.End()) {
		switch {
		case t.IsAny("(", "[", "{"):
			depth++
		case !t.IsAny(")", "]", "}"):
		case depth > 0:
			depth--
		case opened < 0:
			return 0, false
		default:
			start, opened = w.groups.Start(opened), w.groups.Around(opened)
		}
	}
	return start, depth == 0
}

// write writes the first of casts, which may have others of them in its operand; rest are those behind it.
func (w *castWriter) write(casts []domainCast) (text string, rest []domainCast, err error) {
	c := casts[0]
	rest = casts[1:]
	var operand strings.Builder
	from := c.operand.Start
	for len(rest) > 0 && rest[0].Start < c.operand.End {
		inner := rest[0]
		var by string
		if by, rest, err = w.write(rest); err != nil {
			return "", nil, err
		}
		operand.WriteString(w.text[from:inner.Start] + by)
		from = inner.End
	}
	operand.WriteString(w.text[from:c.operand.End])
	cast := strings.TrimSpace(operand.String())
	if first := lex.Client.Next(cast, 0); first.Kind == lex.Parameter && lex.Client.Next(cast, first.End()).Ends() {
		cast = "CAST(" + first.Text + " AS " + c.to.Base.Name + ")" // so that it has a type
	}
	text = c.to.Base.cast(cast, dialect.PostgresName)
	if !c.to.Free {
		text = "list_extract(list_transform(list_value(" + text + "), " + c.call + "), 1)"
	}
	if c.typed {
		name := lex.QuoteString(c.to.Name)
		text = "CASE WHEN " + text + " IS NULL THEN " + name + " ELSE " + name + " END"
	}
	if c.column != "" {
		text += " AS " + lex.Quote(c.column)
	}
	return text, rest, nil
}
