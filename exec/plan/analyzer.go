package plan

import (
	"errors"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Span is a range of bytes [Start, End) of the statement's text.
type Span = bind.Span

// analyzer walks one bound statement. It lives until the scans are found and is not safe for concurrent use.
type analyzer struct {
	folder
	bound       *bind.Statement
	occurrences []*occurrence
	of          []*occurrence // by bind.Item.ID; nil: no base table of ours
	nullable    []bool        // by bind.Item.ID: WHERE does not surely filter it: an outer join's filled side, a sample
	queries     []queryState  // by bind.Query.ID
	track       *tracker      // what the conjunct under way refers to, nil outside conjuncts
	shared      map[sharedKey][]Predicate
}

// queryState is what was found of a query.
type queryState struct {
	outputs []*slot // the slot whose ENUM each would be
	targets []*slot // by place in the select list
	passes  passing // which conditions on its outputs hold for its rows
}

// slot is the fate of one dictionary column of one occurrence. It travels with the column through sub-selects and CTEs.
type slot struct {
	column int
	used   bool
	unsafe bool
}

func (s *slot) disqualify() {
	if s != nil {
		s.used, s.unsafe = true, true
	}
}

// occurrence is a scan under construction.
type occurrence struct {
	Scan
	item    *bind.Item
	joins   []pendingJoin
	slots   []slot  // one per dictionary column, in table order
	guesses float64 // selectivity of the conditions that have no Predicate
	all     bool    // every column may be read
	read    []bool  // by column
}

func (o *occurrence) slot(column int) *slot {
	for i := range o.slots {
		if o.slots[i].column == column {
			return &o.slots[i]
		}
	}
	return nil
}

// analyze binds the names of a text and finds its base tables.
func analyze(sql string, tree *pg.ParseResult, resolver Resolver) (*analyzer, error) {
	bound, err := bind.Bind(sql, tree, Catalog(resolver))
	if err != nil {
		var foreign *bind.ForeignError
		if errors.As(err, &foreign) {
			return nil, &StatementError{Name: foreign.Name, Position: foreign.Position}
		}
		return nil, err
	}
	a := &analyzer{folder: folder{sql}, bound: bound, of: make([]*occurrence, len(bound.Items)),
		nullable: make([]bool, len(bound.Items)), queries: make([]queryState, len(bound.Queries))}
	for _, it := range bound.Items {
		if it.Table != nil {
			a.of[it.ID] = newOccurrence(it)
			a.occurrences = append(a.occurrences, a.of[it.ID])
		}
	}
	return a, nil
}

// Catalog is a resolver for package bind.
func Catalog(r Resolver) bind.Catalog {
	return bind.CatalogFunc(func(catalog, schema, table string) *bind.Table {
		return r.Relation(catalog, schema, table).bindTable()
	})
}

func (r *Relation) bindTable() *bind.Table {
	if r == nil {
		return nil
	}
	t := &bind.Table{Schema: r.Schema, Name: r.Name, Columns: make([]string, len(r.Columns)), Of: r}
	for i := range r.Columns {
		t.Columns[i] = r.Columns[i].Name
	}
	return t
}

func newOccurrence(it *bind.Item) *occurrence {
	r := it.Table.Of.(*Relation)
	o := &occurrence{item: it, guesses: 1, read: make([]bool, len(r.Columns))}
	o.Relation, o.TableRows = r, r.Rows
	o.Span, o.Alias, o.AddAlias, o.Cuts = it.Name.Span, it.Alias, !it.Aliased, it.Cuts
	if it.Keyword >= 0 { // which takes no function call behind it
		o.Start = it.Keyword
		if it.Whole {
			o.Prefix = "SELECT * FROM "
		}
	}
	for i := range r.Columns {
		if r.Columns[i].Dictionary && len(r.Columns[i].Name) < bind.MaxTreeName {
			o.slots = append(o.slots, slot{column: i})
		}
	}
	return o
}

func (o *occurrence) finish() Scan {
	s := o.Scan
	for _, c := range o.slots {
		if c.used && !c.unsafe {
			s.EnumSafe = append(s.EnumSafe, s.Relation.Columns[c.column].Name)
		}
	}
	for i, c := range s.Relation.Columns {
		if o.all || o.read[i] {
			s.Columns = append(s.Columns, c.Name)
		}
	}
	s.Rows = estimate(s.Relation, s.Predicates, s.AnyOf, o.guesses)
	return s
}

// slotOf is the slot whose ENUM a column would be, nil if there is none.
func (a *analyzer) slotOf(c bind.Column) *slot {
	it := c.Item
	switch {
	case it == nil:
	case a.of[it.ID] != nil:
		return a.of[it.ID].slot(c.Index)
	case it.Sources != nil:
		return a.slotOf(it.Sources[c.Index])
	case it.Query != nil:
		if list := a.queries[it.Query.ID].outputs; c.Index < len(list) {
			return list[c.Index]
		}
	}
	return nil
}

// disqualify makes every dictionary column that an item offers unsafe, and all of its columns read.
func (a *analyzer) disqualify(it *bind.Item) {
	for i := range it.Columns {
		a.slotOf(bind.Column{Item: it, Index: i}).disqualify()
	}
	a.readAll(it)
}

func (a *analyzer) disqualifyAll(items []*bind.Item) {
	for _, it := range items {
		a.disqualify(it)
	}
}

func (a *analyzer) readAll(it *bind.Item) {
	if o := a.of[it.ID]; o != nil {
		o.all = true
	}
	for _, c := range it.Sources {
		a.note(c)
	}
}

// note notes that a column is read.
func (a *analyzer) note(c bind.Column) {
	for c.Item != nil && c.Item.Sources != nil {
		c = c.Item.Sources[c.Index]
	}
	if c.Item != nil && a.of[c.Item.ID] != nil {
		a.of[c.Item.ID].read[c.Index] = true
	}
}

// tracker notes what a conjunct refers to.
type tracker struct {
	item   *bind.Item // the one item, if there is only one
	many   bool
	opaque bool // a sub-query, or a reference that is not certain
}

func (t *tracker) note(it *bind.Item) {
	switch {
	case t.item == nil:
		t.item = it
	case t.item != it:
		t.many = true
	}
}

// column is the use of a column reference in an expression: the slot whose ENUM it would yield, after noting the
// reading. If it is not certain what is meant, everything that might be is disqualified.
func (a *analyzer) column(q *bind.Query, ref *pg.ColumnRef) *slot {
	r := a.bound.Ref(ref)
	if !r.Certain {
		a.disqualifyMay(r.May)
		a.opaque()
		return nil
	}
	if r.Column.Item == nil {
		a.opaque()
		return a.targetSlot(r.Query, r.Target).use()
	}
	if a.track != nil {
		if r.Query != q {
			a.track.opaque = true
		} else {
			a.track.note(r.Column.Item)
		}
	}
	a.note(r.Column)
	return a.slotOf(r.Column).use()
}

func (s *slot) use() *slot {
	if s != nil {
		s.used = true
	}
	return s
}

// targetSlot is the slot whose ENUM an entry of a select list would be; nil in a set operation, which unifies types.
func (a *analyzer) targetSlot(q *bind.Query, target int) *slot {
	if list := a.queries[q.ID].targets; target < len(list) {
		return list[target]
	}
	return nil
}

func (a *analyzer) disqualifyMay(may []bind.May) {
	for _, m := range may {
		switch {
		case m.Item == nil:
			a.targetSlot(m.Query, m.Target).disqualify()
		case m.Index < 0:
			a.disqualify(m.Item)
		default:
			a.note(m.Column)
			a.slotOf(m.Column).disqualify()
		}
	}
}
