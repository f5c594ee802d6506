package snapshot

import (
	"github.com/csmsql/csmsql/catalog"
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
}

// Is tells whether a name in the statement is the table with its rows' numbers.
func (n *Numbers) Is(database, schema, table string) bool {
	return n != nil && database == "" && schema == n.Schema && table == n.Version.Table().Name.Name
}

// Table is what the statement calls the table.
func (n *Numbers) Table() string {
	return duckdb.QuoteIdentifier(n.Schema) + "." + duckdb.QuoteIdentifier(n.Version.Table().Name.Name)
}
