package part

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Part is a piece of a statement that runs before it.
type Part struct {
	Statement any               // that it is, as its runner has prepared it
	Changes   bool              // it is an INSERT, UPDATE or DELETE; else it locks rows
	Rows      *retained.Batches // that it gave

	from, to int                    // where it stands in the statement
	given    dialect.Numbers        // the statement's parameters that it has
	types    []duckdb.ParameterType // of these
	columns  *arrow.Schema          // as its writer named them; nil: it gives none
	conn     *duckdb.Connection     // nil: the scan is not registered
	scan     *duckdb.Scan           // of its rows; between executions its chunks change
	number   uint64
	end      func() // lets go of how it is run; may be nil
}

// Parts are those of a statement.
type Parts struct {
	List []*Part

	text      string
	with      []entry
	recursive bool
	ran       bool
}

// Changes reports whether one of them changes rows.
func (l *Parts) Changes() bool {
	for _, p := range l.list() {
		if p.Changes {
			return true
		}
	}
	return false
}

// Command is what PostgreSQL calls a SELECT that has them.
func (l *Parts) Command() string {
	if l.Changes() {
		return "SELECT"
	}
	return "SELECT FOR UPDATE"
}

func (l *Parts) list() []*Part {
	if l == nil {
		return nil
	}
	return l.List
}

// Parse reads a part as a statement of its own, after those before it were registered (PT3).
func (l *Parts) Parse(p *Part) (*statement.Statement, error) {
	text := l.text[p.from:p.to]
	parsed, err := statement.Parse(text)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	seen := l.seenBy(p)
	if names := references(parsed.Tree, seen); len(names) > 0 {
		for _, e := range seen {
			if e.bare && slices.Contains(names, e.name) {
				return nil, returnsNothing(e.name)
			}
		}
		from := seen[0].start
		before := l.replaced(from, seen[len(seen)-1].end)
		if name := dialect.VolatileIn(before); name != "" {
			return nil, sqlerror.New("0A000", "a query with FOR UPDATE, or a change, that reads the WITH query %q, "+
				"where %s() is called, is not supported", names[0], name).
				WithHint("It would be called again for each reader. Store its values in a table first.")
		}
		head := "WITH "
		if l.recursive {
			head = "WITH RECURSIVE "
		}
		if first := lex.Client.Next(text, 0); first.Is("with") {
			text = head + before + ", " + text[first.End():]
		} else {
			text = head + before + " " + text
		}
	}
	text, p.given = dialect.Dense(text)
	parsed, err = statement.Parse(text)
	return parsed, dialect.WithoutPosition(err)
}

// Place is an error of preparing a part by itself, with what to do.
func (p *Part) Place(err error) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || p.Changes || e.State != "42703" && e.State != "42P01" {
		return dialect.WithoutPosition(err)
	}
	moved := *e
	moved.At = 0
	return moved.WithHint("A query with FOR UPDATE or FOR SHARE is run before the statement around it, " +
		"and cannot refer to that one's tables.")
}

// Register makes what the part gives known to a session's DuckDB as a scan; rows keeps it. result are the columns as
// DuckDB gives them. end is called when the part is not run any more.
func (p *Part) Register(conn *duckdb.Connection, rows *retained.Batches, columns, result *arrow.Schema,
	types []duckdb.ParameterType, end func()) {
	p.columns, p.types, p.end = columns, types, end
	var fields []arrow.Field
	if result != nil {
		fields = result.Fields()
	}
	for i := range fields {
		fields[i].Name = fmt.Sprint("c", i)
	}
	p.conn, p.Rows = conn, rows
	p.scan = rows.Scan(arrow.NewSchema(fields, nil))
	p.scan.Estimate = 1
	p.number = conn.Register(p.scan)
}

// Run has each part run and keep its rows (PT1), with the statement's arguments.
func (l *Parts) Run(args []any, run func(p *Part, args []any) error) error {
	for _, p := range l.list() {
		p.scan.Chunks = 0
		p.Rows.Release() // of a run that lost a race
		if err := run(p, p.given.Pick(args)); err != nil {
			return l.Explain(err)
		}
		p.scan.Chunks = len(p.Rows.List)
		if p.scan.Chunks == 0 {
			continue
		}
		now := p.Rows.List[0].Schema()
		for i, f := range normal.Schema(p.scan.Schema).Fields() {
			if now.NumFields() <= i || !arrow.TypeEqual(f.Type, now.Field(i).Type) {
				return revalidation.Outdated()
			}
		}
	}
	if l != nil {
		l.ran = true
	}
	return nil
}

// Explain is an error of a change as users see it (PT4).
func (l *Parts) Explain(err error) error {
	if l.Changes() && errors.Is(err, hugetable.ErrDeleted) && !errors.Is(err, catalog.ErrConflict) {
		return sqlerror.New("0A000", "to change a row twice in one statement is not supported").
			WithHint("Change each row once, or send the changes as statements of their own, in one transaction.")
	}
	return err
}

// Ended lets go of the rows that the parts gave, until they run again. It is an error if they have not run (PT1): the
// statement is none that can have some.
func (l *Parts) Ended(err error) error {
	for _, p := range l.list() {
		p.scan.Chunks = 0
		p.Rows.Release()
	}
	if ran := l.ran; err == nil && !ran {
		return sqlerror.New("XX000", "parts of the statement were not run")
	}
	l.ran = false
	return err
}

// CloseFor closes the parts of a statement that an error has come of, and gives it.
func (l *Parts) CloseFor(err error) error {
	if err != nil {
		l.Close()
	}
	return err
}

// Close forgets what the parts gave, and how they are run.
func (l *Parts) Close() {
	for _, p := range l.list() {
		if p.conn != nil {
			p.conn.Forget(p.number)
			p.Rows.Release()
			p.conn = nil
		}
		if p.end != nil {
			p.end()
			p.end = nil
		}
	}
}

// Over is the statement over what the parts give, the parameters that are left in it, and the types of the others.
func (l *Parts) Over() (over string, left dialect.Numbers, types []duckdb.ParameterType) {
	for _, p := range l.List {
		types = p.given.Merge(types, p.types)
	}
	over, left = dialect.Dense(l.replaced(0, len(l.text)))
	return over, left, types
}

// replaced is a piece of the text over what the parts in it give.
func (l *Parts) replaced(from, to int) string {
	e := edit.New(l.text[from:to])
	for _, p := range l.List {
		if p.from >= from && p.to <= to {
			e.Replace(p.from-from, p.to-from, p.query())
		}
	}
	text, _ := e.Text()
	return text
}

func (p *Part) query() string {
	if p.columns == nil {
		return "SELECT NULL WHERE false"
	}
	columns := make([]string, p.columns.NumFields())
	for i, f := range p.columns.Fields() {
		columns[i] = fmt.Sprint("c", i, " AS ", duckdb.QuoteIdentifier(f.Name))
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + duckdb.ScanCall(p.number)
}
