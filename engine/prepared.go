package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// SQL's prepared statements: PREPARE, EXECUTE, DEALLOCATE.
//
//	PREPARE p(int) AS SELECT … $1 …      planned once, so that its errors show and parameters get their types; kept as text
//	EXECUTE p(6 * 7)                     6 * 7 is asked for, and the statement is planned with CAST((42) AS int) in place of $1
//
// So every execution is planned for its values: chunks are pruned by them, and a parameter that nothing gives a type has the type of
// its value. PostgreSQL does the same for the first five executions; that a plan can be saved is what the protocol is for. SQL and the
// protocol have one set of names, which is why sessions that speak one bring ProtocolStatements.

// NamedStatement is a prepared statement under its name.
type NamedStatement struct {
	Name string
	// Query is the statement itself, of DialectDuckDB, Source what the client sent: with PREPARE before it, if it came by
	// SQL.
	Query, Source string
	// Types are the SQL names of the parameters' types; empty where nobody knows.
	Types []string
	// OIDs are PostgreSQL's of the same, 0 where nobody knows.
	OIDs    []uint32
	FromSQL bool
	Since   time.Time

	parameters int      // how many EXECUTE must give
	declared   int      // how many of them PREPARE said the type of
	names      []string // of the parameters, if they have names
}

// ProtocolStatements are those that a session's client named itself, through the protocol that the session does not see.
type ProtocolStatements interface {
	// Find looks one up by its name.
	Find(name string) (*NamedStatement, bool)
	// Forget removes one, or all if name is empty, and tells whether there was one.
	Forget(name string) bool
	// List is all of them.
	List() []*NamedStatement
}

// noProtocol is for sessions whose client speaks none.
type noProtocol struct{}

func (noProtocol) Find(string) (*NamedStatement, bool) { return nil, false }
func (noProtocol) Forget(string) bool                  { return false }
func (noProtocol) List() []*NamedStatement             { return nil }

// Named finds a statement that PREPARE made.
func (s *Session) Named(name string) (*NamedStatement, bool) {
	n, ok := s.named[name]
	return n, ok
}

// ForgetNamed removes a statement that PREPARE made, if there is one of the name.
func (s *Session) ForgetNamed(name string) {
	if n, ok := s.named[name]; ok {
		s.Give(account.Statement, n.bytes())
		delete(s.named, name)
	}
}

// namedBytes is what a statement that PREPARE made takes beside its texts.
const namedBytes = 1 << 10

// bytes is what is charged for it: its plan is not kept.
func (n *NamedStatement) bytes() int64 { return namedBytes + int64(len(n.Query)+len(n.Source)) }

func (s *Session) findNamed(name string) (*NamedStatement, error) {
	if n, ok := s.named[name]; ok {
		return n, nil
	}
	if n, ok := s.options.Statements.Find(name); ok {
		return n, nil
	}
	return nil, sqlerror.New("26000", "prepared statement %q does not exist", name)
}

// namedMax bounds the statements that PREPARE makes in a session.
const namedMax = 1 << 14

// prepareNamed is PREPARE.
func (st *Statement) prepareNamed(ctx context.Context, head *statement.Prepare) (*Rows, error) {
	s := st.session
	if _, err := s.findNamed(head.Name); err == nil {
		return nil, sqlerror.New("42P05", "prepared statement %q already exists", head.Name).WithHint("DEALLOCATE it first, or use another name.")
	}
	if len(s.named) >= namedMax {
		return nil, sqlerror.New("53400", "too many prepared statements in this session").WithHint("DEALLOCATE those that are no longer needed.")
	}
	n := &NamedStatement{
		Name: head.Name, Query: head.Query, Source: cmp.Or(st.written.Users, st.parsed.Text), FromSQL: true,
		Since: time.Now(), declared: len(head.Types),
		names: st.written.Parameters,
		Types: make([]string, len(head.Types)), OIDs: make([]uint32, len(head.Types)),
	}
	for i, t := range head.Types {
		name, oid, err := s.parameterType(t)
		if err != nil {
			return nil, err
		}
		n.Types[i], n.OIDs[i] = name, oid
	}
	if err := s.checkNamed(ctx, n, st.parsed.Text[:head.QueryAt]); err != nil {
		return nil, err
	}
	if err := s.Take(account.Statement, n.bytes()); err != nil {
		return nil, err
	}
	if !outcome.Commits(ctx) {
		s.Give(account.Statement, n.bytes())
		return nil, outcome.ErrUserRequest
	}
	if s.named == nil {
		s.named = map[string]*NamedStatement{}
	}
	s.named[n.Name] = n
	return done("PREPARE", 0), nil
}

// parameterType is the type that PREPARE declares, as DuckDB calls it and as PostgreSQL numbers it.
func (s *Session) parameterType(declared string) (name string, oid uint32, err error) {
	name = declared
	if other, ok := postgresTypes[strings.ToLower(declared)]; ok {
		name = other
	}
	s.yield()
	f, err := definition.TypeNamed(s.conn, name, declared)
	if err != nil {
		return "", 0, err
	}
	f.Type = ingest.Logical(f.Type)
	oid, _ = relation.Type(f)
	return name, oid, nil
}

// postgresTypes are names that DuckDB lacks, and whose values it takes for others'. A parameter may have them; no column may (columntype).
var postgresTypes = map[string]string{"jsonb": "json", "money": "decimal(19,2)", "name": "varchar", "citext": "varchar", "bpchar": "varchar", "regclass": "varchar"}

// exact tells types that a value keeps everything in. DuckDB's numeric without digits is numeric(18,3), PostgreSQL's any number.
func exact(name string) bool {
	lower := strings.ToLower(name)
	return lower != "" && lower != "numeric" && lower != "decimal" && lower != "dec"
}

// checkNamed plans the statement to see what is wrong with it and what types its parameters have. before is the text before it.
func (s *Session) checkNamed(ctx context.Context, n *NamedStatement, before string) error {
	padded := strings.Repeat(" ", utf8.RuneCountInString(before)) + n.Query
	declared := n.Types
	given, changed := dialect.ReplaceTokens(padded, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		n.parameters = max(n.parameters, i+1)
		if i < 0 || i >= len(declared) || !exact(declared[i]) {
			return "", false
		}
		return "CAST(" + token + " AS " + declared[i] + ")", true
	})
	n.parameters = max(n.parameters, len(declared))
	for len(n.Types) < n.parameters {
		n.Types, n.OIDs = append(n.Types, ""), append(n.OIDs, 0)
	}
	parsed, err := statement.Parse(given)
	if err != nil {
		return dialect.InOriginal(err, changed, given, padded)
	}
	switch parsed.Head.(type) {
	case *statement.Select, *statement.Insert, *statement.Update, *statement.Delete:
	default:
		word := strings.Fields(n.Query)[0]
		e := sqlerror.New("42601", "syntax error at or near %q", word).WithHint("PREPARE takes SELECT, INSERT, UPDATE, DELETE and VALUES.")
		e.At = utf8.RuneCountInString(before) + 1
		return e
	}
	planned, err := s.ProbeIn(ctx, given, DialectDuckDB)
	if err != nil {
		if n.open() && aboutTypes(err) {
			return nil // its values will say of what type they are
		}
		return dialect.InOriginal(err, changed, given, padded)
	}
	defer planned.Close()
	if planned.asText() {
		return nil // it was planned as if all parameters were text
	}
	for i, t := range planned.Parameters() {
		if i < n.parameters && n.Types[i] == "" {
			n.Types[i], n.OIDs[i] = familyNames[t].name, familyNames[t].oid
		}
	}
	return nil
}

// open tells whether there are parameters whose type is not exactly declared.
func (n *NamedStatement) open() bool {
	for _, t := range n.Types {
		if !exact(t) {
			return true
		}
	}
	return false
}

// aboutTypes: an error that may be due to a parameter of which nobody said what it is.
func aboutTypes(err error) bool {
	e, ok := err.(*Error)
	if !ok {
		return false
	}
	switch e.State {
	case "42883", "42804", "42846", "42P18", "22003", "22P02", "22007", "22023":
		return true
	}
	return false
}

// familyNames are the types that DuckDB deduces for parameters. A numeric's digits it does not tell, nor a timestamp's.
var familyNames = map[duckdb.ParameterType]struct {
	name string
	oid  uint32
}{
	duckdb.TypeBoolean: {"BOOLEAN", relation.OIDBool}, duckdb.TypeInt16: {"SMALLINT", relation.OIDInt2}, duckdb.TypeInt32: {"INTEGER", relation.OIDInt4}, duckdb.TypeInt64: {"BIGINT", relation.OIDInt8},
	duckdb.TypeFloat32: {"REAL", relation.OIDFloat4}, duckdb.TypeFloat64: {"DOUBLE", relation.OIDFloat8}, duckdb.TypeNumeric: {"", relation.OIDNumeric}, duckdb.TypeText: {"VARCHAR", relation.OIDText},
	duckdb.TypeBytes: {"BLOB", relation.OIDBytea}, duckdb.TypeDate: {"DATE", relation.OIDDate}, duckdb.TypeTime: {"TIME", relation.OIDTime}, duckdb.TypeTimestamp: {"", relation.OIDTimestamp},
	duckdb.TypeTimestampTZ: {"TIMESTAMPTZ", relation.OIDTimestampTZ}, duckdb.TypeInterval: {"INTERVAL", relation.OIDInterval}, duckdb.TypeUUID: {"UUID", relation.OIDUUID},
}

// prepareExecute plans the named statement for its arguments: what is described is what it gives for them. That there is none is an
// error of running it, as in PostgreSQL.
func (st *Statement) prepareExecute(ctx context.Context, head *statement.Execute) error {
	s := st.session
	if _, err := s.findNamed(head.Name); err != nil {
		st.run = func(context.Context, []any) (*Rows, error) { return nil, err }
		return nil
	}
	text, err := s.executed(ctx, head)
	if err != nil {
		return err
	}
	inner, err := s.PrepareIn(ctx, text, DialectDuckDB)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	st.inner, st.schema, st.origins = inner, inner.schema, inner.origins
	st.run = func(ctx context.Context, args []any) (*Rows, error) {
		if len(args) > 0 {
			return nil, sqlerror.New("42P02", "there is no parameter $1")
		}
		if _, err := s.findNamed(head.Name); err != nil {
			return nil, err
		}
		rows, err := inner.Execute(ctx, nil)
		return rows, dialect.WithoutPosition(err)
	}
	return nil
}

// executed is the text of a prepared statement with the arguments in place of its parameters.
func (s *Session) executed(ctx context.Context, head *statement.Execute) (string, error) {
	n, err := s.findNamed(head.Name)
	if err != nil {
		return "", err
	}
	wanted := max(n.parameters, len(n.Types)) // of a statement of the protocol's all types are listed
	if wanted == 0 {
		return n.Query, nil // PostgreSQL does not look at arguments that nobody wants
	}
	if len(head.Arguments) != wanted {
		e := sqlerror.New("42601", "wrong number of parameters for prepared statement %q", head.Name)
		e.DetailText = fmt.Sprintf("Expected %d parameters but got %d.", wanted, len(head.Arguments))
		return "", e
	}
	query, _, names, err := statement.Numbered(n.Query) // a statement of the protocol's is as its client wrote it
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		names = n.names
	}
	arguments, err := head.InOrder(names)
	if err != nil {
		return "", err
	}
	values, err := s.arguments(ctx, arguments, n)
	if err != nil {
		return "", err
	}
	text, _ := dialect.ReplaceTokens(query, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		if i < 0 || i >= len(values) {
			return "", false
		}
		return values[i], true
	})
	return text, nil
}

// arguments are those of EXECUTE as they stand in the statement that is run: constants of the parameters' types. What is not plainly one is
// asked for, all at once.
func (s *Session) arguments(ctx context.Context, expressions []string, n *NamedStatement) ([]string, error) {
	values := make([]string, len(expressions))
	var asked []int
	var list []string
	for i, expression := range expressions {
		a, err := readArgument(expression)
		if err != nil {
			return nil, err
		}
		t := n.Types[i]
		known := exact(t)
		cast := "CAST((" + expression + ") AS " + t + ")"
		switch {
		case a.number && known && integerTypes[n.OIDs[i]] && i >= n.declared && n.FromSQL, a.constant && !known:
			values[i] = "(" + expression + ")" // a bare constant is what chunks are pruned by
		case known && (a.null || a.text && n.OIDs[i] == relation.OIDText || a.number && integerTypes[n.OIDs[i]]):
			values[i] = cast
		case known:
			asked, list = append(asked, i), append(list, cast)
		default:
			asked, list = append(asked, i), append(list, "("+expression+"\n)")
		}
	}
	if len(asked) == 0 {
		return values, nil
	}
	constants, err := s.evaluate(ctx, list)
	for k, i := range asked {
		if err == nil {
			values[i] = constants[k]
		}
	}
	return values, err
}

// integerTypes take every number that PostgreSQL reads as an integer, or say in the statement that they do not.
var integerTypes = map[uint32]bool{relation.OIDInt4: true, relation.OIDInt8: true}

// givenArgument says what an argument of EXECUTE is.
type givenArgument struct{ constant, number, text, null bool }

func readArgument(expression string) (a givenArgument, err error) {
	dialect.ReplaceTokens(expression, func(token string, _ int) (string, bool) {
		if dialect.IsParameter(token) && err == nil {
			err = sqlerror.New("42P02", "there is no parameter %s", token)
		}
		return "", false
	})
	tree := dialect.TreeOf("SELECT " + expression)
	if tree == nil || err != nil {
		return a, err // DuckDB may understand it
	}
	targets := tree.Stmts[0].GetStmt().GetSelectStmt().GetTargetList()
	if len(targets) != 1 {
		return a, sqlerror.New("42601", "syntax error at or near %q", expression)
	}
	value := targets[0].GetResTarget().GetVal()
	if subqueries(value) {
		return a, sqlerror.New("0A000", "cannot use subquery in EXECUTE parameter")
	}
	if e := value.GetAExpr(); e != nil && e.Lexpr == nil && len(e.Name) == 1 && e.Name[0].GetString_().GetSval() == "-" {
		value = e.Rexpr
	}
	c := value.GetAConst()
	return givenArgument{constant: c != nil, number: c.GetIval() != nil, text: c.GetSval() != nil, null: c.GetIsnull()}, nil
}

func subqueries(n *pg.Node) bool {
	found := false
	if n != nil {
		dialect.EachNode(n.ProtoReflect(), func(m any) { _, link := m.(*pg.SubLink); found = found || link })
	}
	return found
}

// evaluate asks for the values of expressions, and writes each as a constant of its type.
func (s *Session) evaluate(ctx context.Context, expressions []string) ([]string, error) {
	var columns, names []string
	for i := range expressions {
		name := fmt.Sprintf("v%d", i)
		names = append(names, name)
		columns = append(columns, "CAST("+name+" AS VARCHAR), typeof("+name+"), "+name)
	}
	asked := "(SELECT " + strings.Join(expressions, ", ") + ") AS asked(" + strings.Join(names, ", ") + ")"
	rows, err := s.query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+asked, DialectDuckDB, nil)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	batch, err := rows.Next(ctx)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer batch.Release()
	if batch.NumRows() != 1 {
		return nil, sqlerror.New("21000", "an argument of EXECUTE is one value")
	}
	values := make([]string, len(expressions))
	for i := range values {
		value, name := "NULL", batch.Column(3*i+1).ValueStr(0)
		if bytes, ok, err := cast.BytesConstant(batch.Column(3*i+2), 0); err != nil {
			return nil, err
		} else if ok {
			values[i] = bytes
			continue
		}
		switch {
		case batch.Column(3 * i).IsNull(0):
		case name == "SMALLINT", name == "INTEGER", name == "BIGINT": // so that chunks are pruned by it
			value = batch.Column(3 * i).ValueStr(0)
		default:
			value = duckdb.QuoteLiteral(batch.Column(3 * i).ValueStr(0))
		}
		values[i] = "CAST(" + value + " AS " + strings.ReplaceAll(name, `"NULL"`, "VARCHAR") + ")"
	}
	return values, nil
}

// deallocate is DEALLOCATE.
func (s *Session) deallocate(head *statement.Deallocate) (*Rows, error) {
	if head.Name == "" {
		s.forgetStatements()
		return done("DEALLOCATE ALL", 0), nil
	}
	_, ours := s.named[head.Name]
	s.ForgetNamed(head.Name)
	if !s.options.Statements.Forget(head.Name) && !ours {
		return nil, sqlerror.New("26000", "prepared statement %q does not exist", head.Name)
	}
	return done("DEALLOCATE", 0), nil
}

func (s *Session) forgetStatements() {
	for name := range s.named {
		s.ForgetNamed(name)
	}
	s.options.Statements.Forget("")
}
