package engine

import (
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// duckPath is where a session's DuckDB connection looks for bare names, and what that followed from. DuckDB, unlike PostgreSQL, takes no
// schema into its path that is not there. So the connection's path is a function of search_path and of the schemas that the statement
// sees, and is brought up to date before a statement is planned, when one of the two has changed (followSearchPath).
type duckPath struct {
	text     string // as DuckDB was told
	path     []string
	contents *catalog.Contents
	names    *names.Own
	shown    *catalog.Contents // by names
}

// followSearchPath makes DuckDB look for bare names where the session does for a statement that sees contents: in the schemas of search_path
// that are there, then among PostgreSQL's session functions. It costs some comparisons when nothing has changed.
// Preconditions: DuckDB's names follow contents, or something newer.
func (s *Session) followSearchPath(contents *catalog.Contents) error {
	want := duckPath{path: s.settings.SearchPath, contents: contents}
	if s.block != nil && s.block.names != nil {
		want.names, want.shown = s.block.names, s.block.names.Seen
	}
	is := &s.looksIn
	if is.contents == want.contents && is.names == want.names && is.shown == want.shown && slices.Equal(is.path, want.path) {
		return nil
	}
	database, shown := duckdb.CatalogName, s.engine.mirror.Has
	if want.names != nil {
		database, shown = want.names.Database(), want.names.Has
	}
	want.text = names.Path(database, want.path, func(schema string) (string, bool) {
		found, ok := names.SchemaNamed(contents, schema)
		return found, ok && shown(found)
	})
	if want.text != is.text {
		s.yield()
		if err := s.lookIn(want.text); err != nil {
			return err
		}
	}
	*is = want
	return nil
}

// lookInShared makes DuckDB look for names in the database that all sessions share, until a statement says which schemas it sees there.
func (s *Session) lookInShared() error {
	return s.lookIn(names.Path(duckdb.CatalogName, s.settings.SearchPath, func(schema string) (string, bool) { return schema, s.engine.mirror.Has(schema) }))
}

func (s *Session) lookIn(text string) error {
	s.looksIn = duckPath{}
	if err := s.conn.Exec("SET search_path = " + duckdb.QuoteLiteral(text)); err != nil {
		return err
	}
	s.looksIn.text = text
	return nil
}
