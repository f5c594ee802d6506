package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Text is compared by its bytes. These collations mean nothing else, under the names that PostgreSQL's and DuckDB's
// tools give them; all others would have to be kept with the column, and nothing above DuckDB's own tables would know
// of them.
var plainCollations = []string{"C", "POSIX", "default", "ucs_basic", "binary"}

// IsPlainCollation reports whether a collation is how text is compared anyway.
func IsPlainCollation(schema, name string) bool {
	if schema != "" && !strings.EqualFold(schema, "pg_catalog") {
		return false
	}
	for _, plain := range plainCollations {
		if strings.EqualFold(name, plain) {
			return true
		}
	}
	return false
}

// CollationAdvice is what to do about one that is not.
const CollationAdvice = `Text is compared by its bytes, as COLLATE "C" has it. Write COLLATE where the column is compared or ordered, or store lower(…).`

// collation reads the name behind COLLATE in a column's definition.
func (c *cursor) collation(column *Column) error {
	mark := *c
	name, err := c.name()
	if err != nil {
		return err
	}
	column.Collated = true
	if IsPlainCollation(name.Schema, name.Name) && name.Database == "" {
		return nil
	}
	*c = mark
	return c.refuse("COLLATE "+name.String()+" of a column", CollationAdvice)
}

// Collation is the first collation that a text names and that is not plain; ok is false when there is none.
func Collation(sql string) (name string, ok bool) {
	for t := range lex.Client.Tokens(sql) {
		if !t.Is("collate") {
			continue
		}
		c := newCursor(sql[t.End():])
		n, err := c.name()
		if err == nil && (n.Database != "" || !IsPlainCollation(n.Schema, n.Name)) {
			return n.String(), true
		}
	}
	return "", false
}
