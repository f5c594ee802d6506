package names

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// SearchPath is where a session's DuckDB connection looks for bare names, and what that followed from. DuckDB, unlike
// PostgreSQL, takes no schema into its path that is not there. So the connection's path is a function of search_path
// and of the schemas that the statement sees, and is brought up to date before a statement is planned, when one of the
// two has changed.
type SearchPath struct {
	text string // as DuckDB has it
	is   Sought
}

// Sought is where a statement looks for names.
type Sought struct {
	Path     []string
	Contents *catalog.Contents // that it sees
	Own      *Own              // names of its block; nil: it has none

	seen *catalog.Contents // by Own
}

// Follow makes DuckDB look for names in the schemas of the path that are there. It costs some comparisons when nothing
// has changed.
func (p *SearchPath) Follow(want Sought, mirror *Mirror, tell func(text string) error) (err error) {
	database := duckdb.CatalogName
	shown := func(schema string) bool {
		if !mirror.Has(schema) {
			err = errors.Join(err, mirror.makeSchemas(want.Contents))
		}
		return mirror.Has(schema)
	}
	if want.Own != nil {
		want.seen, database, shown = want.Own.Seen, want.Own.Database(), want.Own.Has
	}
	is := &p.is
	if is.Contents == want.Contents && is.Own == want.Own && is.seen == want.seen && slices.Equal(is.Path, want.Path) {
		return nil
	}
	text := Path(database, want.Path, func(schema string) (string, bool) {
		found, ok := SchemaNamed(want.Contents, schema)
		return found, ok && shown(found)
	})
	if err != nil {
		return fmt.Errorf("follow the catalog's schemas: %w", err)
	}
	if text != p.text {
		if err := p.Tell(text, tell); err != nil {
			return err
		}
	}
	p.is = want
	return nil
}

// Tell has DuckDB look in a given path, whatever search_path is; after an error it is not known where it looks.
func (p *SearchPath) Tell(text string, tell func(text string) error) error {
	*p = SearchPath{}
	err := tell(text)
	if err == nil {
		p.text = text
	}
	return err
}
