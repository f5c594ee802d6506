package typing

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// asQueries is a tree in which a statement that changes a table is the queries that find its rows, that say what these
// become, and what is returned of them: of the same expressions, where they stand.
func asQueries(parsed *pg.ParseResult) *pg.ParseResult {
	if len(parsed.GetStmts()) == 0 {
		return parsed
	}
	s := unwrapped(parsed.Stmts[0].GetStmt())
	if d := definitionIn(parsed); d != nil {
		c := &changed{}
		if d.table != nil {
			c = changing(nil, d.table, nil)
		}
		return c.computes(asTargets(d.expressions...), nil).returns(nil)
	}
	if hidesTable(s) {
		return &pg.ParseResult{}
	}
	switch {
	case s.GetUpdateStmt() != nil:
		u := s.GetUpdateStmt()
		return changing(u.WithClause, u.Relation, u.FromClause).
			computes(u.TargetList, u.WhereClause).returns(u.ReturningList)
	case s.GetDeleteStmt() != nil:
		d := s.GetDeleteStmt()
		return changing(d.WithClause, d.Relation, d.UsingClause).computes(nil, d.WhereClause).returns(d.ReturningList)
	case s.GetMergeStmt() != nil:
		m := s.GetMergeStmt()
		var list []*pg.Node
		for _, n := range m.MergeWhenClauses {
			when := n.GetMergeWhenClause()
			list = append(list, asTargets(when.Condition)...)
			list = append(list, asTargets(when.Values...)...)
			if len(when.Values) == 0 {
				list = append(list, when.TargetList...)
			}
		}
		return changing(m.WithClause, m.Relation, []*pg.Node{m.SourceRelation}).
			computes(list, m.JoinCondition).returns(m.ReturningList)
	case s.GetInsertStmt() != nil:
		i := s.GetInsertStmt()
		if i.OnConflictClause == nil && i.WithClause == nil && len(i.ReturningList) == 0 {
			return parsed
		}
		return inserting(i)
	}
	return parsed
}

// hidesTable reports whether one of a statement's WITH queries has the name of the table that it changes: the binder
// takes the one for the other.
func hidesTable(s *pg.Node) bool {
	u, d, i, m := s.GetUpdateStmt(), s.GetDeleteStmt(), s.GetInsertStmt(), s.GetMergeStmt()
	for _, with := range []*pg.WithClause{
		u.GetWithClause(), d.GetWithClause(), i.GetWithClause(), m.GetWithClause(),
	} {
		for _, c := range with.GetCtes() {
			name := c.GetCommonTableExpr().GetCtename()
			for _, table := range []*pg.RangeVar{u.GetRelation(), d.GetRelation(), i.GetRelation(), m.GetRelation()} {
				if table.GetSchemaname() == "" && lex.Same(table.GetRelname(), name) {
					return true
				}
			}
		}
	}
	return false
}

// unwrapped is the statement that is prepared or explained.
func unwrapped(s *pg.Node) *pg.Node {
	switch {
	case s.GetPrepareStmt() != nil:
		return s.GetPrepareStmt().Query
	case s.GetExplainStmt() != nil:
		return s.GetExplainStmt().Query
	}
	return s
}

// changed is a statement of which queries are made.
type changed struct {
	with *pg.WithClause
	from []*pg.Node
	made pg.ParseResult
}

func changing(with *pg.WithClause, table *pg.RangeVar, beside []*pg.Node) *changed {
	return &changed{with: with, from: append([]*pg.Node{{Node: &pg.Node_RangeVar{RangeVar: table}}}, beside...)}
}

// inserting is an INSERT, whose query stays; a row that is in the way of a new one is changed, and the new one is
// excluded then.
func inserting(i *pg.InsertStmt) *pg.ParseResult {
	c := changing(i.WithClause, i.Relation, nil)
	c.inserts(i.SelectStmt)
	returned := c.from
	if on := i.OnConflictClause; on != nil {
		excluded := &pg.RangeVar{
			Catalogname: i.Relation.Catalogname, Schemaname: i.Relation.Schemaname, Relname: i.Relation.Relname,
			Location: i.Relation.Location, Inh: true, Alias: &pg.Alias{Aliasname: "excluded"},
		}
		c.from = []*pg.Node{c.from[0], {Node: &pg.Node_RangeVar{RangeVar: excluded}}}
		c.computes(on.TargetList, on.WhereClause)
		c.from = returned
	}
	return c.returns(i.ReturningList)
}

// inserts adds the query of the rows that are inserted, within which WITH's queries are seen.
func (c *changed) inserts(rows *pg.Node) {
	if rows == nil {
		return
	}
	if c.with != nil {
		from := []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{Subquery: rows}}}}
		query := &pg.SelectStmt{FromClause: from, WithClause: c.with}
		rows = &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: query}}
	}
	c.add(&pg.Node{Node: &pg.Node_InsertStmt{InsertStmt: &pg.InsertStmt{SelectStmt: rows}}})
}

// computes adds the query that computes what a row becomes.
func (c *changed) computes(list []*pg.Node, where *pg.Node) *changed {
	query := &pg.SelectStmt{FromClause: c.from, TargetList: list, WhereClause: where, WithClause: c.with}
	into := &pg.CreateTableAsStmt{Query: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: query}}}
	c.add(&pg.Node{Node: &pg.Node_CreateTableAsStmt{CreateTableAsStmt: into}})
	return c
}

// returns adds the query of what is shown of the rows.
func (c *changed) returns(list []*pg.Node) *pg.ParseResult {
	if len(list) > 0 {
		query := &pg.SelectStmt{FromClause: c.from, TargetList: list, WithClause: c.with}
		c.add(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: query}})
	}
	return &c.made
}

func (c *changed) add(s *pg.Node) { c.made.Stmts = append(c.made.Stmts, &pg.RawStmt{Stmt: s}) }

// asTargets are expressions as columns that have a name.
func asTargets(list ...*pg.Node) (targets []*pg.Node) {
	for _, x := range list {
		if x != nil {
			target := &pg.ResTarget{Name: "of", Val: x}
			targets = append(targets, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: target}})
		}
	}
	return targets
}
