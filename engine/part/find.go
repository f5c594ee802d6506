package part

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/engine/locking"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// entry is a query of the statement's WITH.
type entry struct {
	name       string
	start, end int  // with its name
	from, to   int  // the query
	bare       bool // it is a change that returns nothing
}

// Find are a statement's parts, in what typed makes of it; nil: it has none.
func Find(st *statement.Statement, typed func() (*statement.Statement, error)) (*Parts, error) {
	parts, err := find(st)
	if parts == nil || err != nil {
		return nil, err
	}
	if st, err = typed(); err != nil {
		return nil, err
	}
	return find(st)
}

func find(st *statement.Statement) (*Parts, error) {
	switch st.Head.(type) {
	case *statement.Select, *statement.Insert, *statement.Update, *statement.Delete, *statement.Merge:
	default:
		return nil, nil
	}
	if st.Tree == nil || len(st.Tree.Stmts) != 1 || !mentions(st.Text) {
		return nil, nil
	}
	node := st.Tree.Stmts[0].GetStmt()
	found, err := count(node)
	if err != nil || found.locking+len(found.changes) == 0 {
		return nil, err
	}
	if _, merges := st.Head.(*statement.Merge); merges && len(found.changes) > 0 {
		return nil, sqlerror.New("0A000", "MERGE with a change in WITH is not supported").
			WithHint("Run the change by itself, in the same transaction.")
	}
	l := &Parts{text: st.Text}
	l.readWith()
	for i, e := range l.with {
		l.with[i].bare = slices.Contains(found.bare, e.name)
		if slices.Contains(found.changes, e.name) {
			l.List = append(l.List, &Part{Changes: true, from: e.from, to: e.to})
		}
	}
	if len(l.List) != len(found.changes) {
		return nil, unread()
	}
	locks := spans(st.Text, node.GetSelectStmt() == nil, l.List)
	if len(locks) != found.locking {
		return nil, unread()
	}
	for i, p := range locks {
		if i > 0 && p.from < locks[i-1].to {
			return nil, sqlerror.New("0A000", "FOR UPDATE and FOR SHARE in a query within one "+
				"that has them too are not supported")
		}
	}
	l.List = append(l.List, locks...)
	slices.SortFunc(l.List, func(a, b *Part) int { return a.from - b.from })
	return l, l.check(st.Tree)
}

// mentions reports whether a text may have a part.
func mentions(text string) bool {
	return lex.Mentions(text, "for") || lex.Mentions(text, "with") &&
		(lex.Mentions(text, "insert") || lex.Mentions(text, "update") || lex.Mentions(text, "delete"))
}

func unread() error {
	return sqlerror.New("0A000", "FOR UPDATE, FOR SHARE, or a change in WITH, of a statement that is written like this "+
		"are not supported").WithHint("Write WITH name AS (DELETE … RETURNING …), and (SELECT … FROM t … FOR UPDATE).")
}

// kinds are how many queries of a statement lock rows, not counting itself and what is in changes, and the names of
// the changes in its WITH.
type kinds struct {
	locking int
	changes []string
	bare    []string // changes without RETURNING
}

func count(node *pg.Node) (found kinds, err error) {
	own := node.GetSelectStmt()
	var top *pg.WithClause
	switch {
	case own != nil:
		top = own.WithClause
	case node.GetInsertStmt() != nil:
		top = node.GetInsertStmt().WithClause
	case node.GetUpdateStmt() != nil:
		top = node.GetUpdateStmt().WithClause
	case node.GetDeleteStmt() != nil:
		top = node.GetDeleteStmt().WithClause
	case node.GetMergeStmt() != nil:
		top = node.GetMergeStmt().WithClause
	}
	for _, n := range top.GetCtes() {
		if changes, returns := change(n.GetCommonTableExpr().GetCtequery()); changes && !returns {
			found.bare = append(found.bare, n.GetCommonTableExpr().Ctename)
		}
	}
	var visit func(m protoreflect.Message)
	visit = func(m protoreflect.Message) {
		switch x := m.Interface().(type) {
		case *pg.CommonTableExpr:
			if changes, _ := change(x.Ctequery); !changes {
				break
			}
			if !slices.ContainsFunc(top.GetCtes(), func(n *pg.Node) bool { return n.GetCommonTableExpr() == x }) {
				err = sqlerror.New("0A000", "WITH clause containing a data-modifying statement must be at the "+
					"top level")
			}
			found.changes = append(found.changes, x.Ctename)
			return // what is in it is its own
		case *pg.RangeVar:
			if x.Schemaname == "" && slices.Contains(found.bare, x.Relname) {
				err = returnsNothing(x.Relname)
			}
		case *pg.SelectStmt:
			if x != own && len(x.LockingClause) > 0 {
				found.locking++
			}
			if wrong := locking.InArms(x); wrong != nil {
				err = wrong
			}
		}
		for child := range tree.Children(m) {
			visit(child)
		}
	}
	visit(node.ProtoReflect())
	return found, err
}

func returnsNothing(name string) error {
	return sqlerror.New("0A000", "WITH query %q does not have a RETURNING clause", name)
}

// change reports whether a query of WITH changes rows, and returns some.
func change(n *pg.Node) (changes, returns bool) {
	switch {
	case n.GetInsertStmt() != nil:
		return true, len(n.GetInsertStmt().ReturningList) > 0
	case n.GetUpdateStmt() != nil:
		return true, len(n.GetUpdateStmt().ReturningList) > 0
	case n.GetDeleteStmt() != nil:
		return true, len(n.GetDeleteStmt().ReturningList) > 0
	}
	return false, false
}

// readWith finds the queries of the statement's WITH. PostgreSQL's parser has read it before.
func (l *Parts) readWith() {
	at := 0
	next := func() lex.Token {
		t := lex.Client.Next(l.text, at)
		at = t.End()
		return t
	}
	if !next().Is("with") {
		return
	}
	t := next()
	if l.recursive = t.Is("recursive"); l.recursive {
		t = next()
	}
	for ; !t.Ends(); t = next() {
		name, ok := t.Name()
		if !ok {
			return
		}
		e := entry{name: name, start: t.Start}
		for t = next(); !t.Is("as"); t = next() {
			if t.Ends() {
				return
			}
		}
		for t = next(); !t.Is("("); t = next() {
			if t.Ends() {
				return
			}
		}
		e.from = at
		for depth := 1; depth > 0; {
			switch t = next(); {
			case t.Ends():
				return
			case t.Is("("):
				depth++
			case t.Is(")"):
				depth--
			}
		}
		e.to, e.end = t.Start, at
		l.with = append(l.with, e)
		if t = next(); !t.Is(",") {
			return
		}
	}
}

// group is a pair of parentheses that is open.
type group struct {
	from  int
	locks bool
}

// spans finds the queries that lock rows: what stands in a pair of parentheses, and, if the statement stores rows, its
// own query. Those in changes are theirs.
func spans(text string, stores bool, changes []*Part) (parts []*Part) {
	open := []group{{from: -1}}
	stored := &Part{}
	into := false
	for at := 0; ; {
		t := lex.Client.Next(text, at)
		if at = t.End(); t.Ends() {
			break
		}
		if i := slices.IndexFunc(changes, func(p *Part) bool { return p.from <= t.Start && t.Start < p.to }); i >= 0 {
			at = changes[i].to
			continue
		}
		last := &open[len(open)-1]
		switch root := len(open) == 1; {
		case t.Is("("):
			open = append(open, group{from: at})
		case t.Is(")") && !root:
			if last.locks {
				parts = append(parts, &Part{from: last.from, to: t.Start})
			}
			open = open[:len(open)-1]
		case t.Is("for") && lex.Client.Next(text, at).IsAny("update", "share", "no", "key"):
			last.locks = true
			at = locking.ClauseEnd(text, at)
			stored.to = len(strings.TrimRight(text, "; \t\r\n"))
		case root && t.Is("into"):
			into = true
		case root && into && last.from < 0 && t.IsAny("select", "with", "table", "values"):
			last.from = t.Start
		case root && last.locks && t.IsAny("on", "returning"):
			stored.to = min(stored.to, t.Start)
		}
	}
	if root := open[0]; stores && root.locks && root.from >= 0 {
		stored.from = root.from
		parts = append(parts, stored)
	}
	slices.SortFunc(parts, func(a, b *Part) int { return a.from - b.from })
	return parts
}

// seenBy are the queries of the statement's WITH that a part may read (PT3).
func (l *Parts) seenBy(p *Part) []entry {
	if i := slices.IndexFunc(l.with, func(e entry) bool { return e.start <= p.from && p.to <= e.end }); i >= 0 {
		return l.with[:i]
	}
	return l.with
}

// check is the error of a part that reads a query of a WITH that it cannot be given: of another query around it, or
// its own.
func (l *Parts) check(whole *pg.ParseResult) error {
	around := map[string]int{}
	for _, name := range ctes(whole) {
		around[name]++
	}
	for _, p := range l.List {
		parsed, err := tree.Parse(l.text[p.from:p.to])
		if err != nil {
			return unread()
		}
		left := map[string]int{}
		for name, n := range around {
			left[name] = n
		}
		for _, name := range ctes(parsed) {
			left[name]--
		}
		seen := l.with // or not to be seen: a name means a table then
		if l.recursive {
			seen = l.seenBy(p)
		}
		for _, e := range seen {
			left[e.name]--
		}
		for m := range tree.All(parsed.ProtoReflect()) {
			r, ok := m.Interface().(*pg.RangeVar)
			if ok && r.Schemaname == "" && left[r.Relname] > 0 && !slices.Contains(ctes(parsed), r.Relname) {
				return sqlerror.New("0A000", "a query with FOR UPDATE, or a change, that reads the WITH query %q of "+
					"the statement around it is not supported", r.Relname).
					WithHint("Put what it reads of that one into the query itself.")
			}
		}
	}
	return nil
}

// ctes are the names of all queries of WITH.
func ctes(t *pg.ParseResult) (names []string) {
	for m := range tree.All(t.ProtoReflect()) {
		if c, ok := m.Interface().(*pg.CommonTableExpr); ok {
			names = append(names, c.Ctename)
		}
	}
	return names
}

// references are those of entries that a statement reads.
func references(t *pg.ParseResult, entries []entry) (names []string) {
	own := ctes(t)
	for m := range tree.All(t.ProtoReflect()) {
		r, ok := m.Interface().(*pg.RangeVar)
		if ok && r.Schemaname == "" && !slices.Contains(own, r.Relname) &&
			slices.ContainsFunc(entries, func(e entry) bool { return e.name == r.Relname }) {
			names = append(names, r.Relname)
		}
	}
	return names
}
