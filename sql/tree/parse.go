package tree

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/invariants"
)

// Parsed and Scanned notify tests of every text that PostgreSQL's parser, or its lexer alone, is given.
var Parsed, Scanned invariants.Probe[string]

// Parse is PostgreSQL's tree of a text, in which the numbers of samples may have DuckDB's PERCENT. It recurses as deep
// as the text nests: statement.Parse looks at that before.
func Parse(sql string) (*pg.ParseResult, error) {
	Parsed.Tell(sql)
	return pg.Parse(parsed(sql))
}

// JSON is the tree as text, with every member that has a value.
func JSON(sql string) (string, error) {
	Parsed.Tell(sql)
	return pg.ParseToJSON(parsed(sql))
}

// Scan gives the tokens of PostgreSQL's own lexer, comments among them, for readers of its keywords and operators.
func Scan(sql string) (*pg.ScanResult, error) {
	Scanned.Tell(sql)
	return pg.Scan(sql)
}
