package inline

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Function is a function of one expression. Its texts are SQL.
type Function struct {
	Name       string
	Parameters []Parameter
	Result     Type
	Body       string
	Strict     bool   // it is NULL where an argument is
	Means      string // the dialect of its texts
}

// Parameter of a Function. Name may be empty, as may be Default: then a call gives an argument.
type Parameter struct {
	Name    string
	Type    Type
	Default string
}

// Type of a parameter, or of a result: its name, and what casts to it, with Place for the expression. The zero value is
// that of a macro's: an expression is of its own type.
type Type struct{ Name, Cast string }

// Place is where a Cast has its expression.
const Place = "csm_argument"

// Of is the type of a name that casts to it as it is written.
func Of(name string) Type { return Type{name, "CAST((" + Place + ") AS " + name + ")"} }

// cast is an expression of the type. A literal and a parameter of the statement have no type but that: their cast is no
// function, which would give them one, and a dialect reads a literal as the type does.
func (t Type) cast(expression, in string) string {
	if t.Cast == "" {
		return "(" + expression + ")"
	}
	first := lex.Client.Next(expression, 0)
	if !lex.Client.Next(expression, first.End()).Ends() {
		return strings.Replace(t.Cast, Place, expression, 1)
	}
	cast := "CAST(" + first.Text + " AS " + t.Name + ")"
	switch {
	case first.Kind == lex.Parameter, first.Is("null"):
		return cast
	case first.Kind == lex.String, first.Kind == lex.Number:
		if given, _, err := dialect.Given(lex.Client.Text(before+cast), in); err == nil {
			return strings.TrimPrefix(given.SQL, before)
		}
	}
	return strings.Replace(t.Cast, Place, expression, 1)
}

// Required is how many arguments a call gives at least.
func (f *Function) Required() (n int) {
	for i, p := range f.Parameters {
		if p.Default == "" {
			n = i + 1
		}
	}
	return n
}

// Signature is how it is called: its name, and its parameters.
func (f *Function) Signature() string {
	list := make([]string, len(f.Parameters))
	for i, p := range f.Parameters {
		list[i] = strings.TrimSpace(p.Name + " " + p.Type.Name)
	}
	return f.Name + "(" + strings.Join(list, ", ") + ")"
}

// use is where a parameter stands in a body.
type use struct {
	bind.Span
	parameter int
}

const before = "SELECT "

// Check is the error of a body that is more than an expression of the function's parameters (IL2).
func (f *Function) Check() error {
	_, err := f.uses(f.Body)
	return err
}

// uses are those of the parameters in a text of the function, which is a body, in their order.
func (f *Function) uses(body string) (list []use, err error) {
	in := dialect.SourceOf(before + body)
	if in.Tree == nil {
		return nil, sqlerror.New("42601", "the body of function %s is not one expression", f.Name)
	}
	if err := f.single(in.Tree); err != nil {
		return nil, err
	}
	for m := range tree.All(in.Tree.ProtoReflect()) {
		u := use{parameter: -1}
		switch x := m.Interface().(type) {
		case *pg.SubLink:
			return nil, sqlerror.New("0A000", "a query in the body of function %s is not supported", f.Name).
				WithHint("Functions compute expressions of their parameters; make a view of the query.")
		case *pg.ColumnRef:
			if u, err = f.named(in.Text(), x); err != nil {
				return nil, err
			}
		case *pg.ParamRef:
			at := int(x.Location)
			u.Span = bind.Span{Start: at, End: lex.Client.Next(in.Text(), at).End()}
			if u.parameter = int(x.Number) - 1; u.parameter < 0 || u.parameter >= len(f.Parameters) {
				return nil, sqlerror.New("42P02", "there is no parameter $%d", x.Number)
			}
		default:
			continue
		}
		u.Start, u.End = u.Start-len(before), u.End-len(before)
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b use) int { return cmp.Compare(a.Start, b.Start) })
	return list, nil
}

// single is an error unless a text is SELECT and one expression.
func (f *Function) single(parsed *pg.ParseResult) error {
	if len(parsed.Stmts) == 1 && isSingle(parsed.Stmts[0].Stmt.GetSelectStmt()) {
		return nil
	}
	return notOne(f.Name)
}

// named is a use of a parameter by its name, or by the function's and its.
func (f *Function) named(text string, c *pg.ColumnRef) (use, error) {
	at, ok := bind.NameAt(text, int(c.Location))
	if ok && (len(at.Parts) == 1 || len(at.Parts) == 2 && at.Parts[0] == f.Name) && len(c.Fields) == len(at.Parts) {
		for i, p := range f.Parameters {
			if p.Name != "" && p.Name == at.Parts[len(at.Parts)-1] {
				return use{at.Span, i}, nil
			}
		}
	}
	e := sqlerror.New("42703", "column %q does not exist", strings.Join(at.Parts, "."))
	e.HintText = "The body of a function reads the function's parameters."
	return use{}, e
}

// Applied is the function's body over arguments, which are as many as its parameters.
func (f *Function) Applied(arguments []string) (string, error) {
	uses, err := f.uses(f.Body)
	if err != nil {
		return "", err
	}
	return f.write(f.Body, uses, slices.Clone(arguments))
}

// write is a body with the arguments of a call in it, each cast to the type of its parameter.
func (f *Function) write(body string, uses []use, arguments []string) (string, error) {
	counts := make([]int, len(arguments))
	for _, u := range uses {
		counts[u.parameter]++
	}
	for i := range arguments {
		if f.Strict {
			counts[i]++
		}
		if counts[i] != 1 && dialect.MayVary(arguments[i]) { // IL1
			return "", sqlerror.New("0A000", "an argument of function %s that may be another value whenever it is "+
				"computed is not supported", f.Name).
				WithHint("Compute it in a subquery: SELECT f(x) FROM (SELECT … AS x) AS t.")
		}
		arguments[i] = f.Parameters[i].Type.cast(arguments[i], f.Means)
	}
	out := edit.New(body)
	for _, u := range uses {
		by := arguments[u.parameter]
		if lex.Client.Next(body, u.End).IsAny("[", ".") { // which PostgreSQL's grammar has behind no CAST
			by = "(" + by + ")"
		}
		out.Replace(u.Start, u.End, by)
	}
	text, _ := out.Text()
	if f.Strict && len(arguments) > 0 {
		text = "CASE WHEN " + strings.Join(arguments, " IS NOT NULL AND ") + " IS NOT NULL THEN (" + text + ") END"
	}
	return f.Result.cast(text, f.Means), nil
}
