package statement

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// Name is a possibly qualified name, folded; empty parts were not written.
type Name struct {
	Database, Schema, Name string
	At                     int // position in characters from 1
}

func (n Name) String() string {
	s := n.Name
	if n.Schema != "" {
		s = n.Schema + "." + s
	}
	if n.Database != "" {
		s = n.Database + "." + s
	}
	return s
}

// Statement is one statement. Head says what it is; its dynamic type is one of the pointer types of this package. Tree
// is nil where Syntax is not; an INSERT of many rows, or of constants, has neither.
type Statement struct {
	Text      string
	Head      any
	Tree      *pg.ParseResult // PostgreSQL's tree
	Syntax    error           // why PostgreSQL's parser rejects the text
	Constants bool            // an INSERT of nothing but constants (bulk.BU1)

	read *lex.Text // the text; nil: nothing is known of its tokens
}

// Read is the statement's text, with the tokens that were found of it.
func (s *Statement) Read() *lex.Text {
	if s.read == nil {
		s.read = lex.Client.Text(s.Text)
	}
	return s.read
}

// Empty is a text without a statement: spaces, comments, semicolons.
type Empty struct{}

// Select is anything that only reads and returns rows: SELECT, VALUES, WITH …, FROM …, DESCRIBE, SUMMARIZE, PIVOT …
// Constant: it has no tree, and names nothing.
type Select struct{ Constant bool }

// Explain is EXPLAIN of Inner, which is text. Options are what was written in parentheses.
type Explain struct {
	Analyze bool
	Inner   string
	Options []Option
}

// CreateTable has the columns' types and defaults as text. A temporary table's columns may not be there: DuckDB, which
// makes it, may understand more than this package.
type CreateTable struct {
	Name                              Name
	IfNotExists, OrReplace, Temporary bool
	Columns                           []Column
	Constraints                       []Constraint
	Likes                             []Like // whose columns are not among Columns
	With                              string // the text of WITH (…), if any
	Clone                             *Name  // of what it is a clone; nil: it is none
	Domain                            bool   // it is CREATE DOMAIN: what is said of values is said of the one column
	// DefinitionsEnd is the byte of the parenthesis behind a temporary table's columns; 0: they were not understood.
	DefinitionsEnd int
}

// Column of a CREATE TABLE.
type Column struct {
	Name, Type, Default string
	NotNull             bool
	Identity            *Identity // nil: it is none
	Generated           string    // the expression of GENERATED ALWAYS AS (…) STORED
	Collated            bool      // COLLATE with the order that all text has (IsPlainCollation) was written
	At                  int       // position of the name in characters from 1
}

// CreateTableAs is CREATE TABLE … AS Query.
type CreateTableAs struct {
	Name                              Name
	IfNotExists, OrReplace, Temporary bool
	Columns                           []string
	Query                             string
	NoData                            bool
	With                              string // the text of WITH (…), if any
	Materialized                      bool   // it is CREATE MATERIALIZED VIEW
}

// Refresh is REFRESH MATERIALIZED VIEW.
type Refresh struct {
	Name                 Name
	Concurrently, NoData bool
}

// Insert puts the rows of Query into a table. Columns is nil when none were written.
type Insert struct {
	Name      Name
	Alias     string
	Columns   []string
	ColumnsAt []int // where they stand, in characters from 1
	ByName    bool
	// Query is With and the query itself, the one text that may not be a piece of the user's (S1). Empty for DEFAULT
	// VALUES.
	Query string
	With  string
	// Defaults are the places of the word DEFAULT in the rows of a VALUES list.
	Defaults []DefaultValue
	// Conflict is ON CONFLICT, nil if there is none.
	Conflict *Conflict
	// Overriding is SYSTEM or USER, in capitals; empty: not written.
	Overriding string
	// Returning is the list behind RETURNING.
	Returning string

	read *lex.Text // the whole text, in which the query stands at byte at, without With; nil: not known
	at   int
}

// Conflict says what becomes of a row of an INSERT whose key is there already.
type Conflict struct {
	// Columns are those of the keys that are meant, or Constraint names the key; neither: all keys are.
	Columns    []string
	ColumnsAt  []int // where they stand, in characters from 1
	Constraint string
	At         int // where what names the key stands; that of ON CONFLICT if nothing does
	// Update is DO UPDATE, with what is set, of rows for which the condition holds.
	Update bool
	Set    []Assignment
	Where  string
}

// DefaultValue says that a row of VALUES asks for a column's default: the word stands at byte At of Insert.Query, as
// the value of the Column-th column, from 0.
type DefaultValue struct{ At, Column int }

// Update changes the rows of a table. With is the text of the WITH clause before it, if any; the texts of From, Where
// and Returning are what is behind those words.
type Update struct {
	With        string
	Name        Name
	Alias       string
	Set         []Assignment
	From, Where string
	Returning   string
}

// Assignment gives a column the value of an expression, or its default.
type Assignment struct {
	Column, Value string
	At            int // position of the column in characters from 1
	Default       bool
	// Row: Value is a query in parentheses whose row gives several columns values, of which Field is this one, from 0.
	Row   *RowQuery
	Field int
}

// RowQuery gives values to so many columns.
type RowQuery struct{ Fields int }

// Delete removes rows of a table.
type Delete struct {
	With         string
	Name         Name
	Alias        string
	Using, Where string
	Returning    string
}

// Copy moves rows between a table or query and a file or the client.
type Copy struct {
	Name      Name // empty for COPY (query) TO
	Columns   []string
	ColumnsAt []int // where they stand, in characters from 1
	Query     string
	From      bool
	Client    bool   // STDIN or STDOUT
	File      string // otherwise
	Options   []Option
}

// Option of a COPY or EXPLAIN, name in lower case. A value that is a string is given without its quotes.
type Option struct{ Name, Value string }

// Object is what DROP drops.
type Object string

// The objects that the product knows.
const (
	Table  Object = "table"
	View   Object = "view"
	Schema Object = "schema"

	MaterializedView Object = "materialized view"

	Sequence Object = "sequence"
	Type     Object = "type"
	Domain   Object = "domain"
)

// MayBeOwn reports whether a session may have such an object under a name of a temporary table.
func (o Object) MayBeOwn() bool { return o == Table || o == View }

// IsUnlisted reports whether a session may have objects of the kind to itself that are no relations.
func (o Object) IsUnlisted() bool { return o == Sequence || o == Type || o == Function || o == Macro }

// Drop removes objects of one kind.
type Drop struct {
	Object            Object
	Names             []Name
	IfExists, Cascade bool
	Signatures        [][]string // of functions: the types of their parameters; nil: none are said
}

// Truncate empties tables, and with Restart restarts the sequences of their columns.
type Truncate struct {
	Names   []Name
	Cascade bool // and what refers to them
	Restart bool
}

// CreateSchema makes a schema.
type CreateSchema struct {
	Database    string // if written
	Name        string
	IfNotExists bool
}

// CreateView names a query.
type CreateView struct {
	Name                              Name
	OrReplace, IfNotExists, Temporary bool
	Columns                           []string
	Query                             string
}

// Rename gives a table, view or schema another name.
type Rename struct {
	Object   Object
	Name     Name
	IfExists bool
	To       string
}

// AddConstraint is ALTER TABLE … ADD PRIMARY KEY and the like.
type AddConstraint struct {
	Name        Name
	IfExists    bool
	Constraints []Constraint
}

// DropConstraint is ALTER TABLE … DROP CONSTRAINT.
type DropConstraint struct {
	Name       Name
	IfExists   bool
	Constraint string
	Missing    bool // IF EXISTS of the constraint
	Cascade    bool
}

// SetPlacement says on which nodes a table's rows are to lie, and moves them there.
type SetPlacement struct {
	Name      Name
	IfExists  bool
	Placement string
}

// SetStorage is ALTER TABLE … SET (name = value, …), or RESET (name, …); the names are not checked.
type SetStorage struct {
	Name     Name
	IfExists bool
	Options  []Option
	Reset    []string
}

// Reload rebuilds lost rows of a table from where they came.
type Reload struct {
	Name     Name
	IfExists bool
}

// NoOp is a statement that PostgreSQL needs and we do not: it succeeds with its command tag and does nothing.
// Tables are those that it is about, if it names any; Verbose asks what there is to say of each.
type NoOp struct {
	Tag              string
	Verbose, Analyze bool
	Tables           []Maintained
}

// Maintained is a table of VACUUM or ANALYZE with the columns that were written.
type Maintained struct {
	Name      Name
	Columns   []string
	ColumnsAt []int // in characters from 1
}

// SetConstraints is SET CONSTRAINTS ALL.
type SetConstraints struct{ Deferred bool }

// Begin starts a transaction.
type Begin struct{ Modes }

// Modes are what BEGIN, SET TRANSACTION and SET SESSION CHARACTERISTICS say of transactions. Isolation is the level
// that was asked for, in lower case; of two words that contradict each other the later one counts, as in PostgreSQL.
type Modes struct {
	ReadOnly, ReadWrite       bool
	Deferrable, NotDeferrable bool
	Isolation                 string
}

// Commit and Rollback end transactions; Chain begins the next one at once, with the same modes.
type (
	Commit   struct{ Chain bool }
	Rollback struct{ Chain bool }
)

// Savepoint marks a place in a transaction, RollbackTo goes back to it, Release forgets it.
type (
	Savepoint  struct{ Name string }
	RollbackTo struct{ Name string }
	Release    struct{ Name string }
)

// Set changes a session's setting; Default is RESET or SET … TO DEFAULT. Values are words without their quotes, folded
// if they had none.
type Set struct {
	Name    string
	Values  []string
	Default bool
	Reset   bool // written as RESET
	Local   bool // until the end of the transaction
}

// SetModes is SET TRANSACTION or, with Session, SET SESSION CHARACTERISTICS AS TRANSACTION.
type SetModes struct {
	Modes
	Session bool
}

// Show asks for a setting.
type Show struct{ Name string }

// Prepare names Query, which stands at byte QueryAt of the text. Types are those of its first parameters, as text.
type Prepare struct {
	Name    string
	Types   []string
	Query   string
	QueryAt int
}

// Execute runs a prepared statement. Arguments are expressions.
type Execute struct {
	Name      string
	Arguments []string
	Names     []string // of the arguments that are given by name; it may be shorter
}

// Deallocate forgets a prepared statement, all of them if Name is empty; Discard resets the session (All is always
// set); DiscardTemporary drops its temporary objects, DiscardSequences forgets what it knows of sequences.
type (
	Deallocate       struct{ Name string }
	Discard          struct{ All bool }
	DiscardTemporary struct{}
	DiscardSequences struct{}
	Unlisten         struct{ Channel string }
	Listen           struct{ Channel string }
)

// Private is a statement about temporary or session objects, or about DuckDB itself, that DuckDB runs as it stands if
// the session may do it: CREATE TEMP SEQUENCE, DROP MACRO, PRAGMA, …
type Private struct {
	Verb string
	// Kind is what a CREATE or DROP is about, as a word in lower case: macro, sequence; empty of other verbs.
	Kind string
	// Dropped is what a DROP names, and DroppedAt where that begins in the text, in bytes; nil of other verbs, and of
	// what has no such name.
	Dropped   *Name
	DroppedAt int
}
