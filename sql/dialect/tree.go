package dialect

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/statement"
)

// TreeMax bounds the texts whose trees are looked at: a tree costs about a microsecond per byte and only serves hints.
const TreeMax = 64 << 10

// TreeOf goes through statement.Parse, which keeps deep texts from PostgreSQL's recursive parser.
func TreeOf(text string) *pg.ParseResult {
	if len(text) > TreeMax {
		return nil
	}
	parsed, err := statement.Parse(text)
	if err != nil {
		return nil
	}
	return parsed.Tree
}
