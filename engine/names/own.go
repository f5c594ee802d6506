package names

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// Own shows a block's own tables and views, and no longer what it dropped, to its own DuckDB connection.
//
//	                      committed                              block of one session, uncommitted
//	mirror.conn ─► csmsql.public.t  (all sessions)     s.conn ─► csm_block_7.public.t, csm_block_7.public.mine
//	                                                   search_path = csm_block_7.public, …
//
// Names of the shared database cannot be changed in the block's DuckDB transaction: that would conflict with the
// mirror, which changes them whenever a session commits. And DuckDB has no schemas among its temporary objects. So the
// block gets a database, made within its DuckDB transaction, which shows everything that the block sees. No other
// session ever sees a name in it: ROLLBACK takes the database away, and before COMMIT it is emptied. It is made when a
// statement first needs it, for most blocks that make tables only fill them and ask them in PostgreSQL's words.
//
// A name of three parts, csmsql.public.mine, names the shared database; in a text that DuckDB alone reads it is
// rewritten.
type Own struct {
	shown shownNames
	Seen  *catalog.Contents // what is shown
}

// Has reports whether the schema is shown.
func (n *Own) Has(schema string) bool { return n.shown.schemas[schema] }

// Clear takes all names away, so that a committing DuckDB transaction does not show them to others.
func (n *Own) Clear() {
	for schema := range n.shown.schemas {
		_ = n.shown.exec("DROP SCHEMA IF EXISTS " + n.shown.schema(schema) + " CASCADE") // the names are harmless: csm_table finds no table of theirs
	}
}

// inDatabase puts another database where names of three parts or more name the shared one.
func inDatabase(text, database string) (string, edit.List) {
	if database == duckdb.CatalogName || !strings.Contains(strings.ToLower(text), duckdb.CatalogName) {
		return text, nil
	}
	scanned, err := tree.Scan(text)
	if err != nil {
		return text, nil
	}
	whole := map[int]bool{} // offsets of names of three parts or more
	tokens := scanned.Tokens
	for i := range tokens {
		if i+4 < len(tokens) && tokens[i+1].Token == pg.Token_ASCII_46 && tokens[i+3].Token == pg.Token_ASCII_46 &&
			(i == 0 || tokens[i-1].Token != pg.Token_ASCII_46) {
			whole[int(tokens[i].Start)] = true
		}
	}
	return dialect.ReplaceTokens(text, func(token string, offset int) (string, bool) {
		return database, whole[offset] && strings.EqualFold(strings.Trim(token, `"`), duckdb.CatalogName)
	})
}

// showTablesFrom is the statement that DuckDB answers for databases by the names that it has for them, not those that
// we show.
var showTablesFrom = regexp.MustCompile(`(?i)^\s*SHOW\s+TABLES\s+FROM\s+(?:csmsql\s*\.\s*)?("(?:[^"]|"")+"|[a-z_][a-z0-9_]*)\s*;?\s*$`)

func unquoted(identifier string) string {
	if strings.HasPrefix(identifier, `"`) {
		return strings.ReplaceAll(identifier[1:len(identifier)-1], `""`, `"`)
	}
	return strings.ToLower(identifier)
}

// HasOthers reports whether a statement reads relations besides those that are known where they stand.
func HasOthers(parsed *pg.ParseResult, known func(at int) bool) bool {
	for m := range tree.All(parsed.ProtoReflect()) {
		switch n := m.Interface().(type) {
		case *pg.RangeVar:
			if !known(int(n.Location)) {
				return true
			}
		case *pg.RangeFunction:
			if !Unaffected(n) {
				return true
			}
		}
	}
	return false
}

// Unaffected reports whether a table function looks at no names. Others may: query_table('mine'),
// pragma_table_info('mine').
func Unaffected(f *pg.RangeFunction) bool {
	for _, item := range f.Functions {
		call := item.GetList().GetItems()
		if len(call) == 0 {
			return false
		}
		names := call[0].GetFuncCall().GetFuncname()
		if len(names) == 0 {
			return false
		}
		switch names[len(names)-1].GetString_().GetSval() {
		case "range", "generate_series", "unnest", "csm_scan":
		default:
			return false
		}
	}
	return true
}

// Path are those schemas of path that there are, for DuckDB to look for names in.
func Path(database string, path []string, has func(schema string) (found string, ok bool)) string {
	parts := make([]string, 0, len(path))
	for _, schema := range path {
		if found, ok := has(schema); ok {
			parts = append(parts, database+"."+duckdb.QuoteIdentifier(found))
		}
	}
	return strings.Join(parts, ",")
}

// SchemaNamed finds a schema as tables are found: as written, or else without regard to case.
func SchemaNamed(contents *catalog.Contents, name string) (found string, ok bool) {
	if contents.HasSchema(name) {
		return name, true
	}
	for _, schema := range contents.Schemas() {
		if strings.EqualFold(schema, name) {
			return schema, true
		}
	}
	return "", false
}

// NewOwn shows names in a database that the connection has made.
func NewOwn(database string, exec func(sql string) error, shared *Mirror) (*Own, error) {
	n := &Own{shown: newShownNames(database, exec, &shared.words)}
	n.shown.leftOut = shared.shown.leftOut
	n.shown.schemas[SystemSchema] = true
	if err := showSystem(exec, database, shared.system); err != nil {
		return n, err
	}
	return n, pgcatalog.ShowNames(exec, database)
}

// Database is what DuckDB calls the names' database.
func (n *Own) Database() string { return n.shown.database }

// Shows reports whether contents are what is shown.
func (n *Own) Shows(contents *catalog.Contents) bool { return n.Seen == contents }

// Follow brings the names to contents. csm_table must resolve contents' tables meanwhile.
func (n *Own) Follow(contents *catalog.Contents) error {
	if err := n.shown.follow(contents); err != nil {
		return err
	}
	n.Seen = contents
	return nil
}

// InText puts the names' database where a text that only DuckDB reads names the shared one.
func (n *Own) InText(text string) (string, edit.List) {
	if from := showTablesFrom.FindStringSubmatch(text); from != nil && n.Has(unquoted(from[1])) {
		return "SELECT name FROM (SELECT schema_name, table_name AS name FROM duckdb_tables() UNION ALL SELECT schema_name, view_name" +
			" FROM duckdb_views()) WHERE lower(schema_name) = lower(" + duckdb.QuoteLiteral(unquoted(from[1])) + ") ORDER BY name ASC", nil
	}
	return inDatabase(text, n.shown.database)
}
