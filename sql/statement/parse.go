package statement

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bulk"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/notation"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Parse says what one statement is. A semicolon may stand behind it.
func Parse(sql string) (*Statement, error) { return ParseText(lex.Client.Text(sql)) }

// ParseText is Parse of a text of which others have found tokens, in the dialect lex.Client.
func ParseText(read *lex.Text) (*Statement, error) { return ParseTree(read, nil) }

// ParseTree is ParseText of a text whose tree was made of another's (tree.T3); nil: it is to be parsed.
func ParseTree(read *lex.Text, known *pg.ParseResult) (*Statement, error) {
	sql := read.SQL
	if err := encodingError(sql); err != nil {
		return nil, err
	}
	s, c := &Statement{Text: sql, Tree: known, read: read}, &cursor{sql: sql, read: read}
	verb := lex.Fold(c.peek(0).Text)
	c.constants, _ = bulk.Rows(read)
	head, err := c.head()
	s.Head = head
	if s.Constants = c.constants > 0 && err == nil; s.Constants {
		return s, nil // there is nothing to find out, and its tree is not needed
	}
	if _, insert := head.(*Insert); known == nil && (!insert || err != nil || len(read.SQL) < bulkBytes) {
		s.parseTree()
	}
	if err := s.one(); err != nil {
		return nil, err
	}
	if err := s.stuckNumber(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, s.blame(err, verb)
	}
	if err := s.ignoredWords(); err != nil {
		return nil, err
	}
	switch head := s.Head.(type) {
	case *Private:
		if s.Syntax != nil && !duckVerbs[head.Verb] {
			return nil, s.Syntax
		}
	case *CreateFunction:
		if !head.Macro && s.Syntax != nil {
			return nil, s.Syntax
		}
		if s.Tree != nil && !head.agrees(s.Tree.Stmts[0].Stmt.GetCreateFunctionStmt()) {
			return nil, unsupported("a parameter's name that may be part of its type is not supported", "Quote it.")
		}
	case *Select:
		if s.Tree != nil && s.Tree.Stmts[0].Stmt.GetSelectStmt().GetIntoClause() != nil {
			return nil, unsupported("SELECT INTO is not supported", "Use CREATE TABLE … AS SELECT.")
		}
	}
	return s, nil
}

// bulkBytes is how long an INSERT is when it gets no tree: a tree costs a microsecond per value, an INSERT's is not
// needed, and the query in it is parsed where it is planned.
const bulkBytes = 8 << 10

func (s *Statement) parseTree() {
	if tree.TooDeep(s.read) {
		s.Syntax = errTooDeep
	} else if tree, err := tree.Parse(s.Text); err != nil {
		s.Syntax = syntaxError(err)
	} else {
		s.Tree = tree
	}
}

// stuckNumber is the error of a number or a parameter that goes on as a name: to DuckDB the name is an alias.
func (s *Statement) stuckNumber() error {
	found := notation.Junk(s.read, s.Tree != nil)
	if found == nil {
		return nil
	}
	var theirs *sqlerror.Error
	if errors.As(s.Syntax, &theirs) && theirs.At <= found.At && aboutNumbers.MatchString(theirs.Message) {
		return theirs
	}
	return found
}

// aboutNumbers matches PostgreSQL's messages about invalid numbers and parameters.
var aboutNumbers = regexp.MustCompile(`^(?:trailing junk after |invalid (?:hexadecimal|octal|binary) integer)`)

// one is an error unless the text is one whole statement, or none.
func (s *Statement) one() error {
	if s.Tree != nil && len(s.Tree.Stmts) <= 1 {
		return nil
	}
	several := false
	for at := 0; ; {
		t := s.read.Next(at)
		at = t.End()
		switch {
		case t.Kind == lex.Incomplete && s.Syntax != nil:
			return s.Syntax
		case t.Kind == lex.Incomplete:
			return (&cursor{sql: s.Text, read: s.read, last: t.Start}).unexpected()
		case t.Kind == lex.End && !several:
			return nil
		case t.Kind == lex.End:
			return &sqlerror.Error{State: "42601", Message: "cannot insert multiple commands into a prepared statement", HintText: "Send one statement at a time."}
		case t.Is(";") && !onlySemicolons(s.read, at):
			several = true
		}
	}
}

// blame chooses between our error and PostgreSQL's: ours for what is not supported; PostgreSQL's for syntax, since
// users expect it; and what PostgreSQL understands is no syntax error.
func (s *Statement) blame(err error, verb string) error {
	var e *sqlerror.Error
	switch {
	case !errors.As(err, &e) || e.State != "42601":
		return err
	case s.Syntax != nil:
		return s.Syntax
	case strings.HasPrefix(e.Message, "syntax error"):
		return &sqlerror.Error{State: "0A000", Message: "this form of " + strings.ToUpper(verb) + " is not supported: " + strings.TrimPrefix(e.Message, "syntax error "), At: e.At}
	}
	return err
}

// PreferSyntax is err, or PostgreSQL's error about a text that neither parser understands: users expect that.
func (s *Statement) PreferSyntax(err error) error {
	if e, ok := err.(*sqlerror.Error); ok && e.State == "42601" && s.Syntax != nil {
		return s.Syntax
	}
	return err
}

// PointAt gives an error the position of the first such name in the text, with what qualifies it, unless it has one.
func (s *Statement) PointAt(err error, name string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At != 0 {
		return err
	}
	start, dotted := 0, false
	for t := range s.Read().Tokens() {
		if !dotted && !t.Is(".") {
			start = t.Start
		}
		if word, is := t.Name(); is && t.Kind != lex.String && lex.Same(word, name) {
			moved := *e
			moved.At = utf8.RuneCountInString(s.Text[:start]) + 1
			return &moved
		}
		dotted = t.Is(".")
	}
	return err
}

// duckVerbs begin statements that only DuckDB knows.
var duckVerbs = map[string]bool{
	"attach": true, "detach": true, "use": true, "install": true, "load": true, "pragma": true, "call": true, "export": true,
	"import": true, "create": true, "drop": true, "set": true, "reset": true,
}

// head reads the statement's first words and, for statements that are not DuckDB's alone, everything.
func (c *cursor) head() (any, error) {
	t := c.next()
	if t.Kind == lex.End || t.Is(";") {
		return &Empty{}, nil
	}
	if t.Is("(") {
		return &Select{}, nil
	}
	if t.Kind != lex.Word {
		return &Private{}, nil // without a verb
	}
	switch verb := lex.Fold(t.Text); verb {
	case "select", "values", "table", "from", "describe", "desc", "summarize", "pivot", "pivot_wider", "unpivot", "pivot_longer":
		return &Select{}, nil
	case "with":
		return c.with(t.Start)
	case "explain":
		return c.explain()
	case "create":
		return c.create()
	case "insert":
		return c.insert("")
	case "update":
		return c.update("")
	case "delete":
		return c.delete("")
	case "merge":
		return c.merge("")
	case "copy":
		return c.copy()
	case "drop":
		return c.drop()
	case "alter":
		return c.alter()
	case "truncate":
		return c.truncate()
	case "comment":
		return c.comment()
	default:
		return c.sessionHead(t, verb)
	}
}

func (c *cursor) sessionHead(t lex.Token, verb string) (any, error) {
	switch verb {
	case "begin", "start":
		return c.begin(verb)
	case "commit", "end", "rollback", "abort":
		return c.endTransaction(verb)
	case "savepoint":
		return c.savepoint()
	case "release":
		name, err := c.savepointName()
		return &Release{Name: name}, err
	case "set":
		return c.set()
	case "reset":
		return c.reset()
	case "show":
		return c.show()
	case "prepare":
		return c.prepare()
	case "execute":
		return c.execute()
	case "deallocate":
		return c.deallocate()
	case "discard":
		return c.discard()
	case "vacuum", "analyze", "analyse", "checkpoint", "force":
		return c.noOp(verb)
	case "listen", "unlisten":
		return c.listen(verb)
	case "refresh":
		return c.refresh()
	case "reindex":
		return c.reindex()
	case "declare":
		return c.declare()
	case "fetch", "move":
		return c.fetch(verb)
	case "close":
		return c.closeCursor()
	}
	if advice, ok := refusals[verb]; ok {
		return nil, &sqlerror.Error{State: "0A000", Message: strings.ToUpper(verb) + " is not supported", At: c.position(t.Start), HintText: advice}
	}
	return &Private{Verb: verb}, nil
}

const rolesAdvice = "There is one role, which may do everything."

// refusals are statements of PostgreSQL that are understood and not supported, with what to do instead.
var refusals = map[string]string{
	"notify": "Only tables send notifications: LISTEN csm_table_NAME receives one for each new version of a table.",
	"lock":   "Leave it out: every transaction reads a snapshot, and a conflicting commit fails with 40001 and can be repeated.",
	"grant":  rolesAdvice, "revoke": rolesAdvice, "reassign": rolesAdvice, "security": rolesAdvice,
	"cluster": "CREATE OR REPLACE TABLE … AS SELECT … ORDER BY stores rows in another order.",
	"do":      "Run the statements one by one.",
}

// with looks behind the common table expressions: WITH … INSERT is an insert. What it does not understand reads, as far
// as this package is concerned.
func (c *cursor) with(from int) (any, error) {
	c.accept("recursive")
	for {
		if _, ok := c.identifier(); !ok {
			return &Select{}, nil
		}
		c.group()
		if c.accept("using", "key") {
			c.group()
		}
		if !c.accept("as") {
			return &Select{}, nil
		}
		c.accept("not")
		c.accept("materialized")
		if _, ok := c.group(); !ok {
			return &Select{}, nil
		}
		if c.peek(0).IsAny("search", "cycle") {
			c.until(func(_, t lex.Token) bool {
				return t.IsAny("insert", "update", "delete", "merge", "select", "values", "from", "table", "(")
			})
		}
		if !c.accept(",") {
			break
		}
	}
	prefix := c.sql[from:c.peek(0).Start]
	switch t := c.next(); {
	case t.Is("insert"):
		return c.insert(prefix)
	case t.Is("update"):
		return c.update(prefix)
	case t.Is("delete"):
		return c.delete(prefix)
	case t.Is("merge"):
		return c.merge(prefix)
	}
	return &Select{}, nil
}

// startsQuery reports whether a parenthesis before t holds a query.
func startsQuery(t lex.Token) bool {
	return t.IsAny("select", "with", "values", "table", "from", "pivot", "unpivot", "(")
}

func (c *cursor) explain() (any, error) {
	e := &Explain{}
	if c.peek(0).Is("(") && !startsQuery(c.peek(1)) {
		var err error
		if e.Options, err = c.options(); err != nil {
			return nil, err
		}
	}
	for _, o := range e.Options {
		if o.Name == "analyze" || o.Name == "analyse" {
			e.Analyze, _ = o.boolean()
		}
	}
	if err := c.checkExplain(e); err != nil {
		return nil, err
	}
	for e.Options == nil && c.acceptAny("analyze", "analyse") {
		e.Analyze = true
	}
	if e.Options == nil && c.peek(0).Is("verbose") {
		return nil, c.refuse("EXPLAIN VERBOSE", "Leave it out: the plan shows all there is.")
	}
	if c.done() {
		return nil, c.unexpected()
	}
	e.Inner = c.rest()
	return e, nil
}
