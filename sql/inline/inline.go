package inline

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Find gives the function that a name means; nil: it is none of them.
type Find func(schema, name string) (*Function, error)

// Text is a text with the bodies of functions for their calls, in a dialect that says what columns of calls are named.
// made leads back to the one that was given; nil: it calls none. Preconditions: it has a tree. An error has a place in
// the given text.
func Text(in dialect.Source, of string, find Find) (text string, made edit.List, err error) {
	t := &writer{find: find, text: in.Text(), bodies: map[*Function]*body{}}
	calls, err := t.calls(in.Tree)
	if err != nil || len(calls) == 0 {
		return in.Text(), nil, err
	}
	names := t.names(in.Tree, calls, of)
	out := edit.New(in.Text())
	for len(calls) > 0 {
		c := calls[0]
		by, rest, err := t.call(calls)
		if err != nil {
			return in.Text(), nil, placed(err, in.Text(), c.Start)
		}
		for len(names) > 0 && names[0].at <= c.Start {
			out.Replace(names[0].at, names[0].at, names[0].text)
			names = names[1:]
		}
		out.Replace(c.Start, c.End, by)
		calls = rest
	}
	for _, n := range names {
		out.Replace(n.at, n.at, n.text)
	}
	text, made = out.Text()
	if len(text) > dialect.TreeMax { // IL3
		return in.Text(), nil, tooLong()
	}
	return text, made, nil
}

// Qualified is a text that calls functions by their names in the schemas that schema says, and whose columns have the
// names that Text gives them. Preconditions: it has a tree. An error has a place in the given text.
func Qualified(in dialect.Source, of string, find Find, schema func(*Function) string) (string, error) {
	t := &writer{find: find, text: in.Text()}
	calls, err := t.calls(in.Tree)
	if err != nil {
		return "", err
	}
	written := t.names(in.Tree, calls, of)
	for _, c := range calls {
		if name, ok := bind.NameAt(t.text, c.Start); ok && len(name.Parts) == 1 {
			written = append(written, columnName{c.Start, dialect.PlainIdentifier(schema(c.of)) + "."})
		}
	}
	slices.SortStableFunc(written, func(a, b columnName) int { return cmp.Compare(a.at, b.at) })
	out := edit.New(t.text)
	for _, w := range written {
		out.Replace(w.at, w.at, w.text)
	}
	text, _ := out.Text()
	return text, nil
}

// columnName is what is written behind a column of a query that has a call in it, whose name it keeps.
type columnName struct {
	at   int
	text string
}

// names are those of columns that have no other, in their order.
func (w *writer) names(parsed *pg.ParseResult, calls []call, of string) (list []columnName) {
	for m := range tree.All(parsed.ProtoReflect()) {
		target, ok := m.Interface().(*pg.ResTarget)
		if !ok || target.Name != "" || target.Val == nil {
			continue
		}
		start := int(target.Location)
		end := w.targetEnd(start)
		if !slices.ContainsFunc(calls, func(c call) bool { return start <= c.Start && c.Start < end }) {
			continue
		}
		name := strings.TrimSpace(w.text[start:end])
		if of == dialect.PostgresName {
			if name = pgcatalog.ColumnName(target); name == "" {
				continue
			}
		}
		list = append(list, columnName{end, " AS " + lex.Quote(name)})
	}
	slices.SortStableFunc(list, func(a, b columnName) int { return cmp.Compare(a.at, b.at) })
	return list
}

// targetEnd is where the column of a query ends that begins at an offset.
func (w *writer) targetEnd(at int) int {
	depth, end := 0, at
	var before [2]lex.Token
	for t := lex.Client.Next(w.text, at); !t.Ends(); t = lex.Client.Next(w.text, t.End()) {
		switch {
		case t.IsAny("(", "[", "{", "case"):
			depth++
		case t.IsAny(")", "]", "}", "end"):
			depth--
		}
		distinct := t.Is("from") && before[1].Is("distinct") && before[0].IsAny("is", "not")
		if depth < 0 || depth == 0 && t.IsAny(behindTargets...) && !distinct {
			break
		}
		before[0], before[1], end = before[1], t, t.End()
	}
	return end
}

// behindTargets follow a list of columns.
var behindTargets = []string{",", ";", "from", "where", "group", "having", "window", "union", "intersect", "except",
	"order", "limit", "offset", "fetch", "for", "into", "on", "returning"}

func tooLong() error {
	return sqlerror.New("54001", "the text is more than %d bytes long once functions are written as their bodies",
		dialect.TreeMax).WithHint("Call fewer of them in each other.")
}

func placed(err error, text string, at int) error {
	if e, ok := err.(*sqlerror.Error); ok && e.At == 0 {
		e.At = edit.Position(text, at)
	}
	return err
}

// writer writes one text.
type writer struct {
	find   Find
	text   string
	within []*Function         // whose bodies are being written
	bodies map[*Function]*body // that have been
	bytes  int
}

// body is that of a function with those of the functions it calls in it.
type body struct {
	text string
	uses []use
}

// call is a call of a function in a text, with its arguments.
type call struct {
	bind.Span
	of        *Function
	arguments []bind.Span
	names     []string // of the arguments that are given by name
}

// calls are those of functions of a text, in the order in which they begin.
func (w *writer) calls(parsed *pg.ParseResult) (list []call, err error) {
	from := map[*pg.FuncCall]bool{}
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.RangeFunction:
			for m := range tree.All(x.ProtoReflect()) {
				if f, ok := m.Interface().(*pg.FuncCall); ok {
					from[f] = true
					break
				}
			}
		case *pg.FuncCall:
			c, err := w.meant(x)
			if err == nil && c != nil && from[x] {
				err = sqlerror.New("0A000", "function %s in FROM is not supported", c.of.Name).
					WithHint("Write SELECT and the call.")
			}
			if err != nil {
				return nil, placed(err, w.text, int(x.Location))
			}
			if c != nil {
				list = append(list, *c)
			}
		}
	}
	slices.SortFunc(list, func(a, b call) int { return cmp.Compare(a.Start, b.Start) })
	return list, nil
}

// meant is the call of a function that a node is; nil: it calls another one.
func (w *writer) meant(x *pg.FuncCall) (*call, error) {
	if x.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX || len(x.Funcname) > 3 {
		return nil, nil
	}
	parts := make([]string, 3)
	for i, part := range x.Funcname {
		parts[3-len(x.Funcname)+i] = part.GetString_().GetSval()
	}
	if parts[1] == "pg_catalog" {
		return nil, nil
	}
	f, err := w.find(parts[1], parts[2])
	if f == nil || err != nil {
		return nil, err
	}
	if err := plain(x, parts[2]); err != nil {
		return nil, err
	}
	c, ok := callAt(w.text, int(x.Location))
	if !ok {
		return nil, sqlerror.New("0A000", "this call of function %s is not supported", parts[2])
	}
	if n := len(c.arguments); n < f.Required() || n > len(f.Parameters) {
		what := "function " + f.Name + " of " + counted.Of(n, "argument")
		if n == 0 {
			what = "function " + f.Name + "()"
		}
		return nil, sqlerror.New("42883", "%s does not exist", what).WithHint("There is " + f.Signature() + ".")
	}
	c.of = f
	return &c, nil
}

// plain is an error of a call as only those of aggregates are.
func plain(x *pg.FuncCall, name string) error {
	for _, given := range []struct {
		is   bool
		what string
	}{
		{x.AggFilter != nil, "FILTER"}, {x.AggDistinct, "DISTINCT"},
		{x.AggWithinGroup, "WITHIN GROUP"}, {len(x.AggOrder) > 0, "ORDER BY"},
	} {
		if given.is {
			return sqlerror.New("42809", "%s specified, but %s is not an aggregate function", given.what, name)
		}
	}
	switch {
	case x.Over != nil:
		return sqlerror.New("42809", "OVER specified, but %s is not a window function nor an aggregate function", name)
	case x.AggStar:
		return sqlerror.New("42883", "function %s() does not exist", name)
	case x.FuncVariadic:
		return sqlerror.New("0A000", "VARIADIC in a call of function %s is not supported", name)
	}
	return nil
}

// callAt reads the call whose name begins at an offset.
func callAt(text string, at int) (c call, ok bool) {
	read, ok := bind.CallAt(text, at)
	c.Span = read.Span
	for _, argument := range read.Arguments {
		given := ""
		if name, named := bind.NameAt(text, argument.Start); named {
			behind := lex.Client.Next(text, name.End)
			if mark := text[behind.Start:]; strings.HasPrefix(mark, "=>") || strings.HasPrefix(mark, ":=") {
				ok = ok && len(name.Parts) == 1
				given, argument.Start = name.Parts[0], lex.Client.Next(text, behind.Start+len("=>")).Start
			}
		}
		c.arguments, c.names = append(c.arguments, argument), append(c.names, given)
	}
	return c, ok
}

// call writes the first of calls, which may have others of them in its arguments; rest are those behind it.
func (w *writer) call(calls []call) (text string, rest []call, err error) {
	c := calls[0]
	rest = calls[1:]
	f := c.of
	arguments := make([]string, len(f.Parameters))
	given := make([]bool, len(f.Parameters))
	for i, at := range c.arguments {
		place := i
		if c.names[i] != "" {
			place = slices.IndexFunc(f.Parameters, func(p Parameter) bool { return p.Name == c.names[i] })
		}
		if place < 0 || given[place] {
			return "", nil, sqlerror.New("42883", "function %s has no parameter for argument %d of this call",
				f.Name, i+1)
		}
		var written strings.Builder
		from := at.Start
		for len(rest) > 0 && rest[0].Start < at.End {
			inner := rest[0]
			by, after, err := w.call(rest)
			if err != nil {
				return "", nil, err
			}
			written.WriteString(w.text[from:inner.Start])
			written.WriteString(by)
			from, rest = inner.End, after
		}
		written.WriteString(w.text[from:at.End])
		arguments[place], given[place] = written.String(), true
	}
	for i, p := range f.Parameters {
		if given[i] {
			continue
		}
		if p.Default == "" {
			return "", nil, sqlerror.New("42883", "function %s is called without its parameter %d", f.Name, i+1)
		}
		if arguments[i], err = w.expanded(f, p.Default); err != nil {
			return "", nil, err
		}
	}
	b, err := w.body(f)
	if err != nil {
		return "", nil, err
	}
	if text, err = f.write(b.text, b.uses, arguments); err != nil {
		return "", nil, err
	}
	if w.bytes += len(text); w.bytes > dialect.TreeMax {
		return "", nil, tooLong()
	}
	return text, rest, nil
}

// body writes that of a function.
func (w *writer) body(f *Function) (*body, error) {
	if b := w.bodies[f]; b != nil {
		return b, nil
	}
	text, err := w.expanded(f, f.Body)
	if err != nil {
		return nil, err
	}
	b := &body{text: text}
	if b.uses, err = f.uses(text); err != nil {
		return nil, err
	}
	w.bodies[f] = b
	return b, nil
}

// expanded is an expression of a function, its body or a default, with the bodies of the functions that it calls in it.
func (w *writer) expanded(f *Function, expression string) (string, error) {
	if slices.Contains(w.within, f) {
		return "", sqlerror.New("0A000", "function %s calls itself, which is not supported", f.Name).
			WithHint("WITH RECURSIVE repeats what a query does.")
	}
	in := dialect.SourceOf(before + expression)
	if in.Tree == nil {
		return "", sqlerror.New("42601", "the body of function %s is not one expression", f.Name)
	}
	inner := &writer{find: w.find, text: in.Text(), within: append(w.within, f), bodies: w.bodies, bytes: w.bytes}
	calls, err := inner.calls(in.Tree)
	if err != nil {
		return "", within(err, f)
	}
	out := edit.New(in.Text())
	for len(calls) > 0 {
		c := calls[0]
		by, rest, err := inner.call(calls)
		if err != nil {
			return "", within(err, f)
		}
		out.Replace(c.Start, c.End, by)
		calls = rest
	}
	w.bytes = inner.bytes
	text, _ := out.Text()
	return strings.TrimPrefix(text, before), nil
}

// within is an error of a body, which has no place in the text that calls it.
func within(err error, f *Function) error {
	if e, ok := err.(*sqlerror.Error); ok {
		e.At = 0
		e.DetailText = "It is called in the body of function " + f.Name + "."
	}
	return err
}
