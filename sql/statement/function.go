package statement

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// CreateFunction makes a function of one expression: an SQL function, or a macro, whose parameters have no types.
type CreateFunction struct {
	Name                   Name
	OrReplace, IfNotExists bool
	Macro                  bool
	Parameters             []FunctionParameter
	Result                 string // its type; empty: it is not said
	Language               string
	Body                   string
	Bodies                 string     // how the body is written: "as", "return" or "atomic"
	Volatility             Volatility // as it was declared
	Strict                 bool
	Parallel               string // safe, restricted or unsafe
}

// FunctionParameter of a CreateFunction. Name may be empty, and Default if there is none.
type FunctionParameter struct{ Name, Type, Default string }

// Volatility is what a function's user promises of its results.
type Volatility string

// Volatilities.
const (
	Volatile  Volatility = "volatile"
	Stable    Volatility = "stable"
	Immutable Volatility = "immutable"
)

// Function and Macro are what DROP FUNCTION, DROP MACRO and COMMENT ON them are about.
const (
	Function Object = "function"
	Macro    Object = "macro"
)

// FunctionAdvice says what functions there are.
const FunctionAdvice = "A function of one expression is kept: CREATE FUNCTION f(a int) RETURNS int RETURN a + 1."

// Tag is the statement's command tag.
func (f *CreateFunction) Tag() string {
	if f.Macro {
		return "CREATE MACRO"
	}
	return "CREATE FUNCTION"
}

// createFunction reads behind CREATE; the word says which of its names the statement has.
func (c *cursor) createFunction(orReplace bool, word string) (any, error) {
	c.next()
	f := &CreateFunction{OrReplace: orReplace, Macro: word == "macro", Volatility: Volatile, Parallel: "unsafe"}
	if c.peek(0).Is("if") {
		if f.IfNotExists = c.accept("if", "not", "exists"); !f.IfNotExists || orReplace {
			return nil, c.unexpected()
		}
	}
	var err error
	if f.Name, err = c.name(); err != nil {
		return nil, err
	}
	if isTemporary(f.Name) {
		return nil, c.refuse("CREATE FUNCTION in a temporary schema", "CREATE TEMP MACRO makes one for this session.")
	}
	if !c.accept("(") {
		return nil, c.unexpected()
	}
	mark := *c
	if is, err := c.macro(f); is || err != nil {
		return f, err
	}
	if *c = mark; f.Macro || f.IfNotExists {
		return nil, c.refuse(f.Tag()+" of parameters of types", FunctionAdvice)
	}
	if f.Parameters, err = c.functionParameters(); err != nil {
		return nil, err
	}
	return f, c.functionClauses(f)
}

// macro reads a macro of DuckDB's behind its parenthesis, which CREATE FUNCTION makes, too: f(x, y := 1) AS x + y.
func (c *cursor) macro(f *CreateFunction) (is bool, err error) {
	var list []FunctionParameter
	for !c.accept(")") {
		if len(list) > 0 && !c.accept(",") {
			return false, nil
		}
		name, ok := c.label()
		if !ok {
			return false, nil
		}
		p := FunctionParameter{Name: name}
		if c.accept(":", "=") {
			p.Default = c.until(endsParameter)
		}
		list = append(list, p)
	}
	if !c.accept("as") || c.done() || !f.Macro && c.peek(0).Kind == lex.String && c.peek(1).Kind != lex.End {
		return false, nil // AS 'SELECT …' LANGUAGE sql
	}
	if c.peek(0).Is("table") {
		return false, c.refuse("CREATE MACRO … AS TABLE", "CREATE TEMP MACRO … AS TABLE makes one for this session.")
	}
	f.Body = c.until(func(_, t lex.Token) bool { return t.Is(",") })
	if !c.done() {
		return false, c.refuse("CREATE MACRO of several", "Give each a name of its own.")
	}
	f.Macro, f.Parameters, f.Bodies = true, list, "as"
	return true, nil
}

func endsParameter(_, t lex.Token) bool { return t.IsAny(",", ")") }

// functionParameters reads them behind the parenthesis.
func (c *cursor) functionParameters() (list []FunctionParameter, err error) {
	for !c.accept(")") {
		if len(list) > 0 && !c.accept(",") {
			return nil, c.unexpected()
		}
		for _, mode := range []string{"out", "inout", "variadic"} {
			if c.peek(0).Is(mode) && !c.peek(1).IsAny(",", ")") {
				return nil, c.refuse("a parameter of mode "+strings.ToUpper(mode), FunctionAdvice)
			}
		}
		c.accept("in")
		var p FunctionParameter
		if !c.startsTypeAlone() {
			var ok bool
			if p.Name, ok = c.label(); !ok {
				return nil, c.unexpected()
			}
		}
		if p.Type, err = c.functionType(",", ")", "=", "default"); err != nil {
			return nil, err
		}
		if c.accept("default") || c.accept("=") {
			if p.Default = c.until(endsParameter); p.Default == "" {
				return nil, c.unexpected()
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// startsTypeAlone reports whether a parameter begins with its type, and has no name.
func (c *cursor) startsTypeAlone() bool {
	return c.peek(1).IsAny(",", ")", "=", "default", "(", "[", ".", "%", "array", "precision", "varying") ||
		c.peek(0).IsAny("time", "timestamp") && c.peek(1).IsAny("with", "without") || c.peek(0).Is("national")
}

// functionType reads a type. What stands in parentheses behind its name PostgreSQL forgets, too.
func (c *cursor) functionType(ends ...string) (string, error) {
	if c.peek(0).IsAny("setof", "table") {
		return "", c.refuse("CREATE FUNCTION … RETURNS "+strings.ToUpper(c.peek(0).Text), "Views give rows.")
	}
	var words []string
	for !c.done() && !c.peek(0).IsAny(ends...) {
		switch t := c.peek(0); {
		case t.Is("("):
			if _, ok := c.group(); !ok {
				return "", c.unexpected()
			}
		case t.Is("%"):
			return "", c.refuse("CREATE FUNCTION … %TYPE", "Name the type itself.")
		case t.Is("."), t.IsAny("[", "]"), len(words) > 0 && words[len(words)-1] == ".",
			t.Kind == lex.Number && len(words) > 0 && words[len(words)-1] == "[":
			words = append(words, c.next().Text)
		case t.Kind == lex.Word || t.Kind == lex.Quoted:
			if len(words) > 0 {
				words = append(words, " ")
			}
			words = append(words, c.next().Text)
		default:
			return "", c.unexpected()
		}
	}
	if len(words) == 0 {
		return "", c.unexpected()
	}
	return strings.Join(words, ""), nil
}

// functionClauses reads behind the parameters of an SQL function.
func (c *cursor) functionClauses(f *CreateFunction) (err error) {
	twice := map[string]bool{}
	for !c.done() {
		at, kind := c.position(c.peek(0).Start), ""
		switch {
		case c.accept("returns", "null", "on", "null") && c.accept("input"), c.accept("strict"):
			kind, f.Strict = "strict", true
		case c.accept("called", "on", "null", "input"):
			kind = "strict"
		case c.accept("returns"):
			kind = "returns"
			f.Result, err = c.functionType(functionWords...)
		case c.accept("language"):
			kind = "language"
			if t := c.peek(0); t.Kind == lex.String {
				f.Language, err = c.stringValue()
			} else if f.Language = lex.Fold(t.Text); !c.accept(t.Text) {
				return c.unexpected()
			}
		case c.peek(0).IsAny("immutable", "stable", "volatile"):
			kind, f.Volatility = "volatility", Volatility(lex.Fold(c.next().Text))
		case c.accept("parallel"):
			kind, f.Parallel = "parallel", lex.Fold(c.peek(0).Text)
			if !c.acceptAny("safe", "restricted", "unsafe") {
				return sqlerror.New("22023", "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
			}
		case c.accept("external", "security", "invoker"), c.accept("security", "invoker"):
			kind = "security"
		case c.accept("not", "leakproof"):
			kind = "leakproof"
		case c.accept("as"):
			kind, f.Bodies = "as", "as"
			if f.Body, err = c.stringValue(); err == nil && c.peek(0).Is(",") {
				err = c.refuse("AS of an object file", FunctionAdvice)
			}
		case c.accept("return"):
			kind, f.Bodies, f.Body = "as", "return", c.rest()
		case c.accept("begin", "atomic"):
			kind, f.Bodies = "as", "atomic"
			f.Body, err = c.atomic()
		case c.peek(0).IsAny("security", "external"):
			return c.refuse("SECURITY DEFINER", rolesAdvice)
		case c.peek(0).IsAny("leakproof", "window", "transform", "cost", "rows", "support", "set"):
			return c.refuse("CREATE FUNCTION … "+strings.ToUpper(c.peek(0).Text), "Leave it out.")
		default:
			return c.unexpected()
		}
		if err != nil {
			return err
		}
		if twice[kind] {
			return &sqlerror.Error{State: "42601", Message: "conflicting or redundant options", At: at}
		}
		twice[kind] = true
	}
	return nil
}

// functionWords begin the clauses of CREATE FUNCTION.
var functionWords = []string{"returns", "language", "immutable", "stable", "volatile", "strict", "called", "parallel",
	"external", "security", "leakproof", "not", "window", "transform", "cost", "rows", "support", "set", "as",
	"return", "begin"}

// atomic reads the one SELECT or RETURN between BEGIN ATOMIC and END.
func (c *cursor) atomic() (string, error) {
	result := c.accept("return")
	body := c.until(func(_, t lex.Token) bool { return t.Is(";") })
	if !c.accept(";") || !c.accept("end") {
		return "", c.refuse("BEGIN ATOMIC … END of several statements", FunctionAdvice)
	}
	if result {
		body = "SELECT " + body
	}
	return body, nil
}

// agrees reports whether PostgreSQL's parser has read the same names of parameters.
func (f *CreateFunction) agrees(s *pg.CreateFunctionStmt) bool {
	return s == nil || slices.EqualFunc(f.Parameters, s.Parameters, func(p FunctionParameter, n *pg.Node) bool {
		return p.Name == n.GetFunctionParameter().GetName()
	})
}
