package locking

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/rowlock"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Query is a SELECT that locks rows.
type Query struct {
	Plain string // without its clauses, and blanks in their place

	sel  *pg.SelectStmt
	tree *pg.ParseResult
}

// names of clauses, as PostgreSQL's errors have them.
var names = map[pg.LockClauseStrength]string{
	pg.LockClauseStrength_LCS_FORKEYSHARE:    "FOR KEY SHARE",
	pg.LockClauseStrength_LCS_FORSHARE:       "FOR SHARE",
	pg.LockClauseStrength_LCS_FORNOKEYUPDATE: "FOR NO KEY UPDATE",
	pg.LockClauseStrength_LCS_FORUPDATE:      "FOR UPDATE",
}

func selectOf(st *statement.Statement) *pg.SelectStmt {
	if st.Tree == nil || len(st.Tree.Stmts) != 1 {
		return nil
	}
	return st.Tree.Stmts[0].GetStmt().GetSelectStmt()
}

// Command is what PostgreSQL calls a statement that locks rows; empty: it is none.
func Command(st *statement.Statement) string {
	strongest := pg.LockClauseStrength_LOCK_CLAUSE_STRENGTH_UNDEFINED
	for _, n := range selectOf(st).GetLockingClause() {
		strongest = max(strongest, n.GetLockingClause().GetStrength())
	}
	if name := names[strongest]; name != "" {
		return "SELECT " + name
	}
	return ""
}

// Plain is a query that locks nothing, to be run as those that do.
func Plain(st *statement.Statement) *Query {
	return &Query{Plain: st.Text, sel: selectOf(st), tree: st.Tree}
}

// Of reads a statement; nil: it locks nothing.
func Of(st *statement.Statement) (*Query, error) {
	if Command(st) == "" {
		return nil, nil
	}
	q := &Query{sel: selectOf(st), tree: st.Tree}
	for _, n := range q.sel.LockingClause {
		if err := q.refuse(n.GetLockingClause()); err != nil {
			return nil, err
		}
	}
	var ok bool
	if q.Plain, ok = blank(st.Text); !ok {
		return nil, sqlerror.New("0A000", "%s of a query in parentheses is not supported", Command(st)).
			WithHint("Write the query without parentheses around it.")
	}
	return q, nil
}

// Explained is the query that EXPLAIN shows of one that locks rows, and what is said of the locks. ANALYZE would have
// to lock them.
func Explained(st *statement.Statement, analyze bool) (*statement.Statement, []string, error) {
	q, err := Of(st)
	if q == nil || err != nil {
		return st, nil, err
	}
	if analyze {
		return nil, nil, sqlerror.New("0A000", "EXPLAIN ANALYZE of %s is not supported", Command(st)).
			WithHint("EXPLAIN shows its plan; EXPLAIN ANALYZE of the query without the clause runs it.")
	}
	lines := []string{"Locks: the rows that are returned, by " + strings.TrimPrefix(Command(st), "SELECT ")}
	plain, err := statement.Parse(q.Plain)
	return plain, lines, err
}

// refuse is the error of a clause that its query cannot have, in PostgreSQL's words. Aggregate functions are found when
// the query is planned (Refused).
func (q *Query) refuse(c *pg.LockingClause) error {
	s, with, name := q.sel, "", names[c.Strength]
	switch {
	case s.Op > pg.SetOperation_SETOP_NONE:
		with = "UNION/INTERSECT/EXCEPT"
	case len(s.ValuesLists) > 0:
		return sqlerror.New("0A000", "%s cannot be applied to VALUES", name)
	case len(s.DistinctClause) > 0:
		with = "DISTINCT clause"
	case len(s.GroupClause) > 0:
		with = "GROUP BY clause"
	case s.HavingClause != nil:
		with = "HAVING clause"
	case calls(append(s.TargetList, s.SortClause...), isWindow):
		with = "window functions"
	case in(s.ProtoReflect(), callsSetConfig):
		return sqlerror.New("0A000", "%s with set_config() is not supported", name).
			WithHint("Call it in a SELECT of its own.")
	case calls(s.TargetList, returnsSet):
		with = "set-returning functions in the target list"
	default:
		return nil
	}
	return notWith(c, with)
}

// InArms is the error of a query of which an arm locks rows; nil: none does.
func InArms(s *pg.SelectStmt) error {
	arms := slices.Concat(s.GetLarg().GetLockingClause(), s.GetRarg().GetLockingClause())
	if len(arms) == 0 {
		return nil
	}
	return notWith(arms[0].GetLockingClause(), "UNION/INTERSECT/EXCEPT")
}

func notWith(c *pg.LockingClause, what string) error {
	return sqlerror.New("0A000", "%s is not allowed with %s", names[c.Strength], what)
}

// blank writes blanks in the place of the clauses of a text; not ok: they are not where the outermost query's are.
func blank(text string) (plain string, ok bool) {
	out := []byte(text)
	depth := 0
	for at := 0; ; {
		t := lex.Client.Next(text, at)
		if at = t.End(); t.Ends() {
			return string(out), ok
		}
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is("for"):
			at = ClauseEnd(text, at)
			for i := t.Start; i < at; i++ {
				out[i] = ' '
			}
			ok = true
		}
	}
}

// ClauseEnd is where a clause ends whose FOR ends at a place. PostgreSQL's parser has read it before.
func ClauseEnd(text string, at int) int {
	next := func() lex.Token { return lex.Client.Next(text, at) }
	accept := func(words ...string) bool {
		t := next()
		if t.IsAny(words...) {
			at = t.End()
			return true
		}
		return false
	}
	for accept("no", "key", "update", "share") {
	}
	if accept("of") {
		for {
			at = next().End()
			if !accept(".", ",") {
				break
			}
		}
	}
	if accept("skip") {
		accept("locked")
	} else {
		accept("nowait")
	}
	return at
}

// mode is how a clause locks (FU4).
func mode(strength pg.LockClauseStrength) rowlock.Mode {
	if strength <= pg.LockClauseStrength_LCS_FORSHARE {
		return rowlock.Shared
	}
	return rowlock.Locked
}
