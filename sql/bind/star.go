package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// WithoutExclude blanks out what DuckDB has behind a star and PostgreSQL's parser does not take, as in SELECT * EXCLUDE
// (a, b), so that a tree can be made of the text. Places in the two texts are the same: Bind takes the original one,
// beside the tree of this, and reads there what is excluded. ok is false if there is nothing of the kind, or anything
// else behind the star (REPLACE, RENAME).
func WithoutExclude(sql string) (blanked string, ok bool) {
	out := []byte(sql)
	before := lex.Token{}
	for t := range lex.PostgreSQL.Tokens(sql) {
		if t.Is("*") && (before.IsAny("select", "distinct", "all", ",", ".")) {
			if names, end := excluded(sql, t.End()); len(names) > 0 {
				for i := t.End(); i < end; i++ {
					out[i] = ' '
				}
				ok = true
			}
		}
		before = t
	}
	return string(out), ok
}

// excluded reads EXCLUDE (a, b) or EXCLUDE a behind a star, and returns where it ends. Names with a table are not
// taken.
func excluded(sql string, at int) (names []string, end int) {
	t := lex.PostgreSQL.Next(sql, at)
	if !t.Is("exclude") {
		return nil, at
	}
	t = lex.PostgreSQL.Next(sql, t.End())
	list := t.Is("(")
	for {
		if list {
			t = lex.PostgreSQL.Next(sql, t.End())
		}
		name, ok := t.Name()
		if !ok || t.Kind == lex.String || strings.HasPrefix(strings.ToLower(t.Text), "u&") {
			return nil, at
		}
		names = append(names, name)
		next := lex.PostgreSQL.Next(sql, t.End())
		switch {
		case next.Is("."):
			return nil, at
		case !list:
			return names, t.End()
		case next.Is(")"):
			return names, next.End()
		case !next.Is(","):
			return nil, at
		}
		t = next
	}
}

// excludedFrom are the names that a star of the text leaves out.
func (b *binder) excludedFrom(ref *pg.ColumnRef) []string {
	at := int(ref.Location)
	if len(ref.Fields) > 1 {
		n, ok := NameAt(b.sql, at)
		if !ok {
			return nil
		}
		at = skipBlank(b.sql, skipBlank(b.sql, n.End)+1) // behind the point
	}
	if at < 0 || at >= len(b.sql) || b.sql[at] != '*' {
		return nil
	}
	names, _ := excluded(b.sql, at+1)
	return names
}
