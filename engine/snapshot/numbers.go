package snapshot

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// Numbers says by which names a statement asks for a table's rows and their numbers.
type Numbers struct {
	Version *catalog.TableVersion
	// Schema, and the table's own name, are what the table is called with one column more, Column, which has the
	// numbers.
	Schema, Column string
	// Describe are the names of the columns that a query gives.
	Describe func(query string) ([]string, error)
	// Skip are rows that are left out as if they were deleted, by chunk. It may be set before each execution.
	Skip map[int]*positions.Set
}

// Numbering are the tables that have the numbers of their rows in a statement; nil: none has.
type Numbering []*Numbers

// Find is the table that a name in the statement means with its rows' numbers; nil: it means none of them.
func (n Numbering) Find(database, schema, table string) *Numbers {
	return n.first(func(t *Numbers) bool {
		return database == "" && schema == t.Schema && table == t.Version.Table().Name.Name
	})
}

// Skipped are the rows that are left out of the table with that column; nil: none ever is.
func (n Numbering) Skipped(column string) func(chunk int) *positions.Set {
	t := n.first(func(t *Numbers) bool { return t.Column == column })
	if t == nil {
		return nil
	}
	return func(chunk int) *positions.Set { return t.Skip[chunk] }
}

func (n Numbering) first(is func(*Numbers) bool) *Numbers {
	if i := slices.IndexFunc(n, is); i >= 0 {
		return n[i]
	}
	return nil
}

// Table is what the statement calls the table.
func (n *Numbers) Table() string {
	return duckdb.QuoteIdentifier(n.Schema) + "." + duckdb.QuoteIdentifier(n.Version.Table().Name.Name)
}
