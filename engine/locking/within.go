package locking

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// Part is a query within a statement that locks rows (FU6).
type Part struct {
	*Query
	Rows *retained.Batches // that it gave

	from, to int                    // where it stands in the statement
	given    dialect.Numbers        // the statement's parameters that it has
	types    []duckdb.ParameterType // of these
	columns  *arrow.Schema          // as the query's writer named them
	conn     *duckdb.Connection     // nil: the scan is not registered
	scan     *duckdb.Scan           // of its rows; between executions its chunks change
	number   uint64
}

// Parts are those of a statement, in the order in which they stand there.
type Parts []*Part

// Within are the queries within a statement that lock rows, in the order in which they stand in what typed makes of it;
// nil: there are none.
func Within(st *statement.Statement, typed func() (*statement.Statement, error)) (Parts, error) {
	parts, err := within(st)
	if parts == nil || err != nil {
		return nil, err
	}
	if st, err = typed(); err != nil {
		return nil, err
	}
	return within(st)
}

func within(st *statement.Statement) (Parts, error) {
	switch st.Head.(type) {
	case *statement.Select, *statement.Insert, *statement.Update, *statement.Delete, *statement.Merge:
	default:
		return nil, nil
	}
	if st.Tree == nil || len(st.Tree.Stmts) != 1 || !strings.Contains(strings.ToLower(st.Text), "for") {
		return nil, nil
	}
	own, count := selectOf(st), 0
	for m := range tree.All(st.Tree.Stmts[0].GetStmt().ProtoReflect()) {
		s, ok := m.Interface().(*pg.SelectStmt)
		if !ok {
			continue
		}
		if s != own && len(s.LockingClause) > 0 {
			count++
		}
		if arms := slices.Concat(s.GetLarg().GetLockingClause(), s.GetRarg().GetLockingClause()); len(arms) > 0 {
			return nil, notWith(arms[0].GetLockingClause(), "UNION/INTERSECT/EXCEPT")
		}
	}
	if count == 0 {
		return nil, nil
	}
	parts := spans(st.Text, own == nil)
	if len(parts) != count {
		return nil, unread()
	}
	for i, p := range parts {
		if i > 0 && p.from < parts[i-1].to {
			return nil, sqlerror.New("0A000", "FOR UPDATE and FOR SHARE in a query within one "+
				"that has them too are not supported")
		}
		if err := p.parse(st); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// group is a pair of parentheses that is open.
type group struct {
	from  int
	locks bool
}

// spans finds the queries with clauses: what stands in a pair of parentheses, and, if it stores rows, the statement's
// own query.
func spans(text string, stores bool) (parts Parts) {
	open := []group{{from: -1}}
	stored := &Part{}
	into := false
	for at := 0; ; {
		t := lex.Client.Next(text, at)
		if at = t.End(); t.Ends() {
			break
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
			at = clauseEnd(text, at)
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

// parse reads a part as a statement of its own.
func (p *Part) parse(st *statement.Statement) error {
	text, given := dialect.Dense(st.Text[p.from:p.to])
	parsed, err := statement.Parse(text)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	if p.Query, err = Of(parsed); err != nil {
		return err
	}
	if p.Query == nil {
		return unread()
	}
	p.given = given
	outer, own := ctes(st.Tree), ctes(parsed.Tree)
	for m := range tree.All(parsed.Tree.ProtoReflect()) {
		r, ok := m.Interface().(*pg.RangeVar)
		if ok && r.Schemaname == "" && outer[r.Relname] > own[r.Relname] {
			return sqlerror.New("0A000", "%s of a query that reads the WITH query %q of the statement around it "+
				"is not supported", Command(parsed), r.Relname).WithHint("Put what it reads of that one into the query itself.")
		}
	}
	return nil
}

// ctes counts the names of WITH queries.
func ctes(t *pg.ParseResult) map[string]int {
	names := map[string]int{}
	for m := range tree.All(t.ProtoReflect()) {
		if c, ok := m.Interface().(*pg.CommonTableExpr); ok {
			names[c.Ctename]++
		}
	}
	return names
}

// Place is an error of planning the part by itself, with what to do.
func (p *Part) Place(err error) error {
	if e, ok := err.(*sqlerror.Error); ok && (e.State == "42703" || e.State == "42P01") {
		moved := *e
		moved.At = 0
		return moved.WithHint("A query with FOR UPDATE or FOR SHARE is run before the statement around it, " +
			"and cannot refer to that one's tables.")
	}
	return dialect.WithoutPosition(err)
}

// Register makes what the part gives known to a session's DuckDB as a scan; rows keeps it.
func (p *Part) Register(conn *duckdb.Connection, rows *retained.Batches, plan *Plan, columns *arrow.Schema,
	duck *duckdb.Statement) error {
	result, err := duck.Schema()
	if err != nil {
		return err
	}
	p.columns, p.types = planned.ClientNames(plan.Visible(columns), p.tree, false), duck.Parameters()
	fields := plan.Visible(result).Fields()
	for i := range fields {
		fields[i].Name = fmt.Sprint("c", i)
	}
	p.conn, p.Rows = conn, rows
	p.scan = &duckdb.Scan{
		Schema: arrow.NewSchema(fields, nil), Estimate: 1,
		Open: func(chunk int, wanted []int) (arrow.RecordBatch, error) {
			return duckdb.Project(rows.List[chunk], wanted), nil
		},
	}
	p.number = conn.Register(p.scan)
	return nil
}

// Run has each part run, in their order, and keep its rows, with the statement's arguments.
func (list Parts) Run(args []any, run func(p *Part, args []any) error) error {
	for _, p := range list {
		if err := run(p, p.given.Pick(args)); err != nil {
			return err
		}
		p.scan.Chunks = len(p.Rows.List)
		if p.scan.Chunks == 0 {
			continue
		}
		now := p.Rows.List[0].Schema()
		for i, f := range p.scan.Schema.Fields() {
			if now.NumFields() <= i || !arrow.TypeEqual(f.Type, now.Field(i).Type) {
				return planned.Outdated()
			}
		}
	}
	return nil
}

// Release lets go of the rows that the parts gave, until they run again.
func (list Parts) Release() {
	for _, p := range list {
		p.scan.Chunks = 0
		p.Rows.Release()
	}
}

// CloseFor closes the parts of a statement that an error has come of, and gives it.
func (list Parts) CloseFor(err error) error {
	if err != nil {
		list.Close()
	}
	return err
}

// Close forgets what the parts gave.
func (list Parts) Close() {
	for _, p := range list {
		if p.conn != nil {
			p.conn.Forget(p.number)
			p.Rows.Release()
			p.conn = nil
		}
	}
}

// Over is the statement over what the parts give, the parameters that are left in it, and the types of the others.
func (list Parts) Over(text string) (over string, left dialect.Numbers, types []duckdb.ParameterType) {
	e := edit.New(text)
	for _, p := range list {
		columns := make([]string, p.columns.NumFields())
		for i, f := range p.columns.Fields() {
			columns[i] = fmt.Sprint("c", i, " AS ", duckdb.QuoteIdentifier(f.Name))
		}
		e.Replace(p.from, p.to, "SELECT "+strings.Join(columns, ", ")+" FROM "+duckdb.ScanCall(p.number))
		types = p.given.Merge(types, p.types)
	}
	made, _ := e.Text()
	over, left = dialect.Dense(made)
	return over, left, types
}
