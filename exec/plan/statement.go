package plan

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Statement is a parsed text, for all that plan it. Its names are bound, and its tables are found, once: when either is
// asked for first. Not safe for concurrent use.
type Statement struct {
	Text string
	Tree *pg.ParseResult // of Text

	resolver Resolver
	names    *bind.Statement
	items    []*bind.Item // by scan
	scans    []Scan
	err      error
}

// Read makes a statement of a text. tree is what it was parsed into; the two must belong together, for all positions
// refer to the text. Whatever is mixed up is an error when the statement is asked for something ([ErrStatement]); no
// error is about what the user wrote.
func Read(text string, tree *pg.ParseResult, resolver Resolver) *Statement {
	return &Statement{Text: text, Tree: tree, resolver: resolver}
}

// Scans finds every base table that the statement reads, by Start. Statements that are no query (INSERT … SELECT,
// CREATE TABLE AS, COPY (query), EXPLAIN) give the scans of the query inside. The caller must not change them.
func (s *Statement) Scans() ([]Scan, error) {
	s.bind()
	return s.scans, s.err
}

// Names is what the names in the text mean; nil if there was an error.
func (s *Statement) Names() *bind.Statement {
	s.bind()
	return s.names
}

// Item is the mention of a table that a scan is for.
func (s *Statement) Item(scan int) *bind.Item { return s.items[scan] }

// ReadsOnly reports whether the statement reads the tables that it has scans of, and nothing else.
func (s *Statement) ReadsOnly() bool {
	s.bind()
	return s.err == nil && !slices.ContainsFunc(s.names.Items, func(it *bind.Item) bool {
		return it.Sampled || it.Table == nil && it.CTE == nil && it.Query == nil && it.Sources == nil
	})
}

func (s *Statement) bind() {
	if s.names != nil || s.err != nil {
		return
	}
	if s.Tree == nil || s.resolver == nil {
		s.err = ErrStatement
		return
	}
	a, err := analyze(s.Text, s.Tree, s.resolver)
	if err != nil {
		s.err = err
		return
	}
	s.names, s.scans = a.bound, a.scans()
	s.items = make([]*bind.Item, len(s.scans))
	for i, o := range a.occurrences {
		s.items[i] = o.item
	}
}
