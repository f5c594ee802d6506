package bind

import (
	"errors"
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Catalog answers which base table a name in a FROM clause means. It is asked once per mention, with the parts as the
// text has them (quotes removed, case kept); parts that were not written are empty.
type Catalog interface {
	// Table returns nil for whatever it does not know: the item is open then.
	Table(catalog, schema, name string) *Table
}

// CatalogFunc makes a function a [Catalog].
type CatalogFunc func(catalog, schema, name string) *Table

// Table calls the function.
func (f CatalogFunc) Table(catalog, schema, name string) *Table { return f(catalog, schema, name) }

// Table is what is known of a base table.
type Table struct {
	Schema, Name string
	Columns      []string // all names, in their order; the caller keeps them
	Of           any      // what else the catalog knows of it, for readers of the bound tree
}

// Statement is a bound text.
type Statement struct {
	Top     []*Query // of the statements, one each at most
	Queries []*Query // all, by ID: what is around comes before what is inside
	Items   []*Item  // by ID, in the order in which names are looked up

	at      map[*pg.ColumnRef]int32 // in refs
	refs    []Ref
	queries map[*pg.SelectStmt]*Query
}

// Ref is what a column reference of the tree means.
func (s *Statement) Ref(ref *pg.ColumnRef) Ref {
	if i, known := s.at[ref]; known {
		return s.refs[i]
	}
	return Ref{}
}

// Query is the query that a SELECT of the tree is; nil if it was not in the tree.
func (s *Statement) Query(stmt *pg.SelectStmt) *Query { return s.queries[stmt] }

// Query is a SELECT, a VALUES list or a set operation.
type Query struct {
	ID      int
	Stmt    *pg.SelectStmt // nil: an item that stands where no FROM clause is
	Around  *Query         // whose names it may use; nil: none
	Lateral bool           // it stands in the FROM clause of Around, and sees what comes before it
	Stored  bool           // its rows do not go to the client but into a table, a file or a view's definition

	With        []*CTE
	Left, Right *Query // of a set operation
	From        []*From
	Items       []*Item // all entries of the FROM clause, those in joins too

	Outputs []Output
	Open    bool // there are others, or not all of these, or not in this order
	// Dialect: DuckDB reads the FROM clause otherwise than PostgreSQL's parser, as another kind of join.
	Dialect bool

	ctes    *CTE    // that it sees, the newest first
	defines *CTE    // it is the query of this one, which may name itself
	merges  []merge // by USING and NATURAL
	vague   bool    // there are merged columns that are not known
	aliases []int   // places in the select list with a name of their own, as far as it was walked
	prefers meaning // of a name that both a column and an entry of the select list have, in the clause under way
}

// meaning is what DuckDB prefers where a bare name means a column and an entry of the select list.
type meaning uint8

const (
	columns meaning = iota // in the select list, WHERE, GROUP BY and WINDOW
	entries                // ORDER BY that name
	either                 // elsewhere: not certain
)

// Output is a column that a query puts out.
type Output struct {
	Name   string // empty: DuckDB makes one up
	Column Column // of the query's own FROM clause, if the output is nothing but that; else its Item is nil
	Target int    // its place in the select list; a star's columns share one
}

// CTE is an entry of a WITH clause.
type CTE struct {
	Name      string
	Node      *pg.CommonTableExpr
	Query     *Query // nil while a recursive one is bound, and for a statement that is no query
	Recursive bool   // of a WITH RECURSIVE: it may name itself
	Refs      []*Item
	// First is the query that one which names itself begins with: it says what columns there are, and of what types.
	First *Query

	names   []string // that the text gives to columns
	columns []string
	open    bool
	next    *CTE
}

// Hides is the CTE of the same name that this one hides; nil: none.
func (c *CTE) Hides() *CTE { return c.next.find(c.Name) }

// Item is an entry of a FROM clause.
type Item struct {
	ID      int
	In      *Query
	Alias   string // empty: none
	Columns []string
	Open    bool // it has other columns, or not all of these, or other names
	Hidden  bool // behind the alias of a join: its columns have no name any more
	Sampled bool // under TABLESAMPLE
	Renamed bool // the text gives names to columns of it: t AS x(a, b)

	Table   *Table   // a base table
	Query   *Query   // of a derived table, and of a CTE that is known
	CTE     *CTE     // that is named
	Sources []Column // of a join that has an alias, by column

	Function *pg.RangeFunction // of one that gives rows: the item is open, whatever names the text gives to columns

	// Of a base table:
	Name     Name   // in the text
	Keyword  int    // where TABLE or ONLY before the name begins; -1: nowhere
	Whole    bool   // the keyword is TABLE: the name is a query of its own
	Aliased  bool   // the text has the alias
	Cuts     []Span // schemas before the name in references, which an alias would make meaningless
	location int32

	doubled bool // two columns have one name: one of them is called otherwise
	unnamed bool // columns have names that DuckDB made up
}

// HasNames reports whether the text can name each column: DuckDB makes up no name, and none is given twice.
func (it *Item) HasNames() bool { return !it.Open && !it.doubled && !it.unnamed }

// Column is a column of an item; Item nil: none.
type Column struct {
	Item  *Item
	Index int
}

// Source follows a column into what the item stands for: the column of its query that it shows as it is. ok is false at
// a base table and where the query computes it.
func (c Column) Source() (source Column, ok bool) {
	switch it := c.Item; {
	case it == nil:
	case it.Sources != nil:
		source = it.Sources[c.Index]
	case it.Query != nil && !it.Query.Open && c.Index < len(it.Query.Outputs):
		source = it.Query.Outputs[c.Index].Column
	}
	return source, source.Item != nil
}

// Base follows a column to the base table whose column it shows as it is; its Item is nil if there is none.
func (c Column) Base() Column {
	for c.Item != nil && c.Item.Table == nil {
		c, _ = c.Source()
	}
	return c
}

// From is an entry of a FROM clause: one item, or a join.
type From struct {
	First, Last int   // its items are Query.Items[First:Last]
	Item        *Item // of what is no join
	Join        *pg.JoinExpr
	Left, Right *From       // of a join
	Using       [][2]Column // what USING and NATURAL compare, left and right
	Compared    []Column    // every column of the join that a name in USING may mean
	Sample      *pg.RangeTableSample
	Node        *pg.Node // of an item that has no rule here: a function, an XMLTABLE
}

// merge is what USING or NATURAL make of two columns. A bare name means the kept one.
type merge struct {
	hidden, kept Column
	both         bool // of a full join: neither
}

// Ref is what a reference means.
type Ref struct {
	Certain bool
	Query   *Query // whose FROM clause or select list has what is meant
	Column  Column // of Query; Item nil: Target is meant
	Target  int    // a name that the select list gives
	May     []May  // if not certain (bind.N2)
}

// May is something that a reference may mean or contain.
type May struct {
	Column        // Index -1: the whole item
	Query  *Query // with a nil Item: Target is a place in its select list
	Target int
}

// ErrForeign: a tree was given with a text that it is not of.
var ErrForeign = errors.New("the parse tree does not belong to this statement text")

// ForeignError says which name could not be found where the tree says it stands. It wraps [ErrForeign].
type ForeignError struct {
	Name     string // the table's name according to the tree
	Position int    // byte offset in the text
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%v: no name %q at byte %d", ErrForeign, e.Name, e.Position)
}

// Unwrap lets errors.Is find [ErrForeign].
func (e *ForeignError) Unwrap() error { return ErrForeign }
