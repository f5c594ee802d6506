package locking

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// entry is one of the FROM clause.
type entry struct {
	name     string // by which the query knows it
	relation *pg.RangeVar
	sampled  bool
	nullable bool   // it is on that side of an outer join
	inside   bool   // of a join with an alias: the query does not see its name
	other    string // what it is if it is no relation, as PostgreSQL calls it
}

// entries are those of the FROM clause, those in joins too, and the joins that have names.
func (q *Query) entries() (list []entry) {
	for _, n := range q.sel.FromClause {
		list = append(list, entriesIn(n, entry{})...)
	}
	return list
}

func entriesIn(n *pg.Node, e entry) []entry {
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		e.relation, e.name = x.RangeVar, x.RangeVar.Relname
		if a := x.RangeVar.Alias; a != nil {
			e.name = a.Aliasname
		}
	case *pg.Node_RangeTableSample:
		e.sampled = true
		return entriesIn(x.RangeTableSample.Relation, e)
	case *pg.Node_RangeSubselect:
		e.name, e.other = x.RangeSubselect.GetAlias().GetAliasname(), "a subquery"
		if len(x.RangeSubselect.GetSubquery().GetSelectStmt().GetValuesLists()) > 0 {
			e.other = "VALUES"
		}
	case *pg.Node_RangeFunction:
		e.name, e.other = x.RangeFunction.GetAlias().GetAliasname(), "a function"
	case *pg.Node_RangeTableFunc:
		e.name, e.other = x.RangeTableFunc.GetAlias().GetAliasname(), "a table function"
	case *pg.Node_JoinExpr:
		return entriesInJoin(x.JoinExpr, e)
	default:
		e.other = "this"
	}
	return []entry{e}
}

func entriesInJoin(j *pg.JoinExpr, e entry) (list []entry) {
	if a := j.Alias; a != nil {
		list = append(list, entry{name: a.Aliasname, other: "a join"})
		e.inside = true
	}
	left, right := e, e
	left.nullable = e.nullable || j.Jointype == pg.JoinType_JOIN_RIGHT || j.Jointype == pg.JoinType_JOIN_FULL
	right.nullable = e.nullable || j.Jointype == pg.JoinType_JOIN_LEFT || j.Jointype == pg.JoinType_JOIN_FULL
	return append(append(list, entriesIn(j.Larg, left)...), entriesIn(j.Rarg, right)...)
}

// isCTE reports whether a name is one of the query's WITH.
func (q *Query) isCTE(r *pg.RangeVar) bool {
	return r.Schemaname == "" && slices.ContainsFunc(q.sel.GetWithClause().GetCtes(), func(n *pg.Node) bool {
		return n.GetCommonTableExpr().GetCtename() == r.Relname
	})
}

// wanted is an entry that clauses lock.
type wanted struct {
	entry
	strength pg.LockClauseStrength
	policy   pg.LockWaitPolicy
	named    bool // by OF
}

// wanted are the entries that the clauses are about. Of several clauses about one the strongest counts, and the one
// that waits least.
func (q *Query) wanted() ([]*wanted, error) {
	list := q.entries()
	all := make([]*wanted, len(list))
	for i := range list {
		all[i] = &wanted{entry: list[i]}
	}
	for _, n := range q.sel.LockingClause {
		c := n.GetLockingClause()
		if len(c.LockedRels) == 0 {
			for _, w := range all {
				w.take(c)
			}
		}
		for _, r := range c.LockedRels {
			w, err := named(all, names[c.Strength], r.GetRangeVar())
			if err != nil {
				return nil, err
			}
			w.named = true
			w.take(c)
		}
	}
	return slices.DeleteFunc(all, func(w *wanted) bool {
		return w.strength == pg.LockClauseStrength_LOCK_CLAUSE_STRENGTH_UNDEFINED
	}), nil
}

func (w *wanted) take(c *pg.LockingClause) {
	w.strength, w.policy = max(w.strength, c.Strength), max(w.policy, c.WaitPolicy)
}

func named(all []*wanted, clause string, r *pg.RangeVar) (*wanted, error) {
	if r.GetSchemaname() != "" || r.GetCatalogname() != "" {
		return nil, sqlerror.New("42601", "%s must specify unqualified relation names", clause)
	}
	for _, w := range all {
		if w.name == r.GetRelname() {
			return w, nil
		}
	}
	return nil, sqlerror.New("42P01", "relation %q in %s clause not found in FROM clause", r.GetRelname(), clause)
}

// calls reports whether expressions of a query call a function of a kind, not counting queries in them.
func calls(list []*pg.Node, is func(*pg.FuncCall) bool) bool {
	for _, n := range list {
		if in(n.ProtoReflect(), is) {
			return true
		}
	}
	return false
}

func in(m protoreflect.Message, is func(*pg.FuncCall) bool) bool {
	switch x := m.Interface().(type) {
	case *pg.SubLink:
		return false
	case *pg.FuncCall:
		if is(x) {
			return true
		}
	}
	for child := range tree.Children(m) {
		if in(child, is) {
			return true
		}
	}
	return false
}

func callsSetConfig(f *pg.FuncCall) bool { return called(f) == "set_config" }

func called(f *pg.FuncCall) string {
	if len(f.Funcname) == 0 {
		return ""
	}
	return f.Funcname[len(f.Funcname)-1].GetString_().GetSval()
}

func isWindow(f *pg.FuncCall) bool { return f.Over != nil }

// sets are functions that give a row for each of several values.
var sets = map[string]bool{
	"unnest": true, "generate_series": true, "generate_subscripts": true, "regexp_split_to_table": true,
	"string_to_table": true, "regexp_matches": true, "json_array_elements": true, "jsonb_array_elements": true,
	"json_each": true, "jsonb_each": true, "json_object_keys": true, "jsonb_object_keys": true,
}

func returnsSet(f *pg.FuncCall) bool { return sets[called(f)] }
