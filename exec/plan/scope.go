package plan

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// analyzer walks one statement. It lives for one call of [Scans] and is not safe for concurrent use.
type analyzer struct {
	folder
	resolver    Resolver
	occurrences []*occurrence
	matches     []match                     // scratch of lookup
	track       *tracker                    // what the conjunct under way refers to, nil outside conjuncts
	selects     map[*pg.SelectStmt]selected // sub-selects that were walked
	err         error
}

// slot is the fate of one dictionary column of one occurrence. It travels with the column through sub-selects and CTEs.
type slot struct {
	column int
	used   bool
	unsafe bool
}

func (s *slot) spoil() {
	if s != nil {
		s.used, s.unsafe = true, true
	}
}

// occurrence is a scan under construction.
type occurrence struct {
	Scan
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

// maxTreeName: PostgreSQL's parser cuts identifiers to this many bytes, DuckDB does not. What the tree says about
// longer names
// is not what DuckDB will see.
const maxTreeName = 63

func newOccurrence(r *Relation) *occurrence {
	o := &occurrence{guesses: 1, read: make([]bool, len(r.Columns))}
	o.Relation, o.TableRows = r, r.Rows
	for i := range r.Columns {
		if r.Columns[i].Dictionary && len(r.Columns[i].Name) < maxTreeName {
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

// output is one column that a FROM item or a select list offers to whoever may name it.
type output struct {
	name   string
	slot   *slot // whose ENUM it would be, nil if it is none of ours
	item   *item // the item of a select alias that is nothing but a column, else nil
	column int
}

// item is one entry of a FROM clause.
type item struct {
	alias    string
	schema   string // with catalog: how a base table without alias may be qualified in references
	catalog  string
	occ      *occurrence // base table, else nil
	columns  []output
	open     bool // has columns that we do not know
	nullable bool // on a side of an outer join that fills with NULLs: WHERE does not surely filter it
}

// spoil makes every dictionary column that the item offers unsafe, and all of its columns read.
func (it *item) spoil() {
	for _, c := range it.columns {
		c.slot.spoil()
	}
	it.readAll()
}

func (it *item) readAll() {
	if it.occ != nil {
		it.occ.all = true
	}
}

// frame is the scope of one SELECT. The chain of parents is where names are looked for further out.
type frame struct {
	parent  *frame
	lateral bool // parent is the FROM clause that this SELECT stands in, not an enclosing expression
	ctes    *cte
	items   []*item
	aliases []output // explicit names of the select list, as far as it has been walked
	merged  bool     // a USING or NATURAL join has merged columns
	opaque  bool     // DuckDB reads this FROM clause differently from PostgreSQL: no predicates from it
}

func (f *frame) spoil() {
	for _, it := range f.items {
		it.spoil()
	}
}

// cte is one WITH entry in scope; the newest comes first.
type cte struct {
	name    string
	columns []output
	open    bool
	next    *cte
}

func (c *cte) find(name string) *cte {
	for ; c != nil; c = c.next {
		if lex.Same(c.name, name) {
			return c
		}
	}
	return nil
}

// match is one thing that a column reference could mean.
type match struct {
	output
	frame *frame
	from  *item // nil for a select alias
}

// tracker notes what a conjunct refers to.
type tracker struct {
	item   *item // the one item, if there is only one
	many   bool
	opaque bool // a sub-query, or a reference that is not certain
}

func (t *tracker) note(it *item) {
	switch {
	case t.item == nil:
		t.item = it
	case t.item != it:
		t.many = true
	}
}

// lookup collects everything that an unqualified name could mean into a.matches and says whether the innermost meaning
// is certain to be the only one.
func (a *analyzer) lookup(f *frame, name string) (sure bool) {
	a.matches = a.matches[:0]
	sure = len(name) < maxTreeName
	for ; f != nil; f = f.parent {
		before := len(a.matches)
		open := a.lookupIn(f, name)
		if len(a.matches) > before && sure {
			return len(a.matches) == before+1
		}
		sure = sure && !open && !f.lateral
	}
	return false
}

func (a *analyzer) lookupIn(f *frame, name string) (open bool) {
	before := len(a.matches)
	for _, it := range f.items {
		open = open || it.open
		for i := range it.columns {
			if lex.Same(it.columns[i].name, name) {
				a.matches = append(a.matches, match{it.columns[i], f, it})
			}
		}
	}
	for _, alias := range f.aliases {
		if lex.Same(alias.name, name) && !sameColumn(a.matches[before:], alias) {
			a.matches = append(a.matches, match{alias, f, nil})
		}
	}
	return open
}

// sameColumn: the alias only repeats a column that the name means anyway (SELECT a AS a … WHERE a = 1).
func sameColumn(matches []match, alias output) bool {
	return alias.item != nil && len(matches) == 1 && matches[0].from == alias.item && matches[0].column == alias.column
}

// lookupQualified is lookup for alias.name.
func (a *analyzer) lookupQualified(f *frame, alias, name string) (sure bool) {
	a.matches = a.matches[:0]
	sure = len(name) < maxTreeName && len(alias) < maxTreeName
	for ; f != nil; f = f.parent {
		named, open := 0, false
		for _, it := range f.items {
			if !lex.Same(it.alias, alias) {
				open = open || it.open && it.alias == ""
				continue
			}
			named++
			open = open || it.open
			for i := range it.columns {
				if lex.Same(it.columns[i].name, name) {
					a.matches = append(a.matches, match{it.columns[i], f, it})
				}
			}
		}
		if named > 0 && sure && !open {
			return named == 1 && len(a.matches) == 1
		}
		sure = sure && !open && !f.lateral
	}
	return false
}

// column is the use of a column reference in an expression: the slot whose ENUM it would yield, after noting the
// reading. If
// it is not certain what is meant, everything that might be is spoilt.
func (a *analyzer) column(f *frame, ref *pg.ColumnRef) *slot {
	m, ok := a.resolve(f, ref)
	if !ok {
		a.spoilMatches()
		if a.track != nil {
			a.track.opaque = true
		}
		return nil
	}
	if a.track != nil {
		if m.from == nil || m.frame != f {
			a.track.opaque = true
		} else {
			a.track.note(m.from)
		}
	}
	m.note()
	return m.slot
}

func (m match) note() {
	if m.slot != nil {
		m.slot.used = true
	}
	if m.from != nil && m.from.occ != nil {
		m.from.occ.read[m.output.column] = true
	}
}

func (a *analyzer) spoilMatches() {
	for _, m := range a.matches {
		m.note()
		m.slot.spoil()
	}
}

// resolve says what a reference means if that is certain; otherwise a.matches holds what it may mean.
func (a *analyzer) resolve(f *frame, ref *pg.ColumnRef) (match, bool) {
	var parts [4]string
	count := len(ref.Fields)
	a.matches = a.matches[:0]
	if count == 0 || count > len(parts) {
		a.spoilNamed(f, ref)
		return match{}, false
	}
	for i, n := range ref.Fields {
		if n.GetAStar() != nil {
			a.star(f, ref)
			return match{}, false
		}
		parts[i] = n.GetString_().GetSval()
	}
	sure := false
	switch count {
	case 1:
		sure = a.lookup(f, parts[0])
	case 2:
		sure = a.lookupQualified(f, parts[0], parts[1])
	default:
		sure = a.lookupSchema(f, ref, parts[:count])
	}
	if len(a.matches) == 0 {
		a.spoilNamed(f, ref)
		return match{}, false
	}
	return a.matches[0], sure
}

// lookupSchema is lookup for schema.table.column. The splice gives the table an alias, behind which the schema is no
// longer
// visible, so the qualification is noted as to be cut.
func (a *analyzer) lookupSchema(f *frame, ref *pg.ColumnRef, parts []string) (sure bool) {
	table, column := parts[len(parts)-2], parts[len(parts)-1]
	sure = a.lookupQualified(f, table, column)
	if len(a.matches) == 0 {
		return false
	}
	it := a.matches[0].from
	if !sure || it == nil || it.occ == nil || !it.occ.AddAlias {
		return false
	}
	if schema := parts[len(parts)-3]; it.schema != "" && !lex.Same(it.schema, schema) {
		return false
	}
	text, ok := nameAt(a.sql, int(ref.Location))
	if !ok || len(text.parts) != len(parts) {
		return false
	}
	cut := Span{text.Start, text.starts[len(parts)-2]}
	if !slices.Contains(it.occ.Cuts, cut) { // a reference may be resolved more than once
		it.occ.Cuts = append(it.occ.Cuts, cut)
	}
	return true
}

// spoilNamed handles a reference that is no column we know: the whole row of an item, a field of a struct column, or
// somebody else's name. Whatever carries one of its parts as a name is spoilt.
func (a *analyzer) spoilNamed(f *frame, ref *pg.ColumnRef) {
	for _, n := range ref.Fields {
		part := n.GetString_().GetSval()
		for fr := f; fr != nil && part != ""; fr = fr.parent {
			for _, it := range fr.items {
				if lex.Same(it.alias, part) {
					it.spoil()
				}
			}
			a.matches = a.matches[:0]
			a.lookupIn(fr, part)
			a.spoilMatches()
		}
	}
	a.matches = a.matches[:0]
}

// star is a * inside an expression: count(t.*), COLUMNS(*), a row. Everything it covers is spoilt.
func (a *analyzer) star(f *frame, ref *pg.ColumnRef) {
	alias := starAlias(ref)
	for fr := f; fr != nil; fr = fr.parent {
		for _, it := range fr.items {
			if alias == "" || lex.Same(it.alias, alias) {
				it.spoil()
			}
		}
	}
	a.matches = a.matches[:0]
}

// starAlias is t of t.* and of schema.t.*, "" of a bare star.
func starAlias(ref *pg.ColumnRef) string {
	if len(ref.Fields) < 2 {
		return ""
	}
	return ref.Fields[len(ref.Fields)-2].GetString_().GetSval()
}
