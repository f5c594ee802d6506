package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// ownNames shows a block's own tables and views, and no longer what it dropped, to its own DuckDB connection.
//
//	                      committed                              block of one session, uncommitted
//	mirror.conn ─► csmsql.public.t  (all sessions)     s.conn ─► csm_block_7.public.t, csm_block_7.public.mine
//	                                                   search_path = csm_block_7.public, …
//
// Names of the shared database cannot be changed in the block's DuckDB transaction: that would conflict with the mirror, which
// changes them whenever anybody commits. And DuckDB has no schemas among its temporary objects. So the block gets a database, made
// within its DuckDB transaction, which shows everything that the block sees. Nobody else ever sees a name in it: ROLLBACK takes the
// database away, and before COMMIT it is emptied. It is made when a statement first needs it, for most blocks that make tables only
// fill them and ask them in PostgreSQL's words.
//
// A name of three parts, csmsql.public.mine, names the shared database; in a text that DuckDB alone reads it is rewritten.
type ownNames struct {
	shown shownNames
	seen  *catalog.Contents // what is shown
}

// showOwnNames makes DuckDB's names those of v, a block's own if it has any.
// Preconditions: nothing streams from the DuckDB connection.
func (s *Session) showOwnNames(v *visible) error {
	b := s.block
	if b == nil || b.names == nil && !b.restarted && len(b.redefined()) == 0 {
		return nil
	}
	if b.names != nil && b.names.seen == v.contents {
		return nil
	}
	if s.engine.views.readCatalogs(v.contents) {
		if err := s.engine.mirror.makeCatalogs(); err != nil {
			return err
		}
	}
	before := s.visible
	s.visible = v
	defer func() { s.visible = before }()
	if b.names == nil {
		if err := s.openOwnNames(b); err != nil {
			return err
		}
	}
	if err := b.names.shown.follow(v.contents); err != nil {
		return fmt.Errorf("engine: show a block's names: %w", err)
	}
	b.names.seen = v.contents
	return s.followSearchPath(v.contents)
}

// followNames shows DuckDB the block's own names if the statement needs them, or has them already.
func (q *query) followNames(tree *pg.ParseResult, scans []plan.Scan, v *visible) error {
	s := q.session
	if s.block == nil || s.block.names == nil && !s.namesMatter(tree, scans, v) {
		return nil
	}
	s.yield()
	return s.showOwnNames(v)
}

func (s *Session) openOwnNames(b *block) error {
	if err := s.beginDuck(b); err != nil {
		return err
	}
	name := fmt.Sprintf("csm_block_%d", s.engine.blocks.Add(1))
	if err := s.conn.Exec("ATTACH ':memory:' AS " + name); err != nil {
		return fmt.Errorf("engine: show a block's names: %w", err)
	}
	b.names = &ownNames{shown: newShownNames(name, s.conn.Exec, &s.engine.views)}
	b.names.shown.leftOut = s.engine.mirror.shown.leftOut
	b.names.shown.schemas[systemSchema] = true
	if err := showSystem(s.conn.Exec, name); err != nil {
		return err
	}
	return pgcatalog.ShowNames(s.conn.Exec, name)
}

// withOwnDatabase puts the block's database where a text that only DuckDB reads names the shared one.
func (s *Session) withOwnDatabase(text string) (string, edit.List) {
	if s.block == nil || s.block.names == nil {
		return text, nil
	}
	if from := showTablesFrom.FindStringSubmatch(text); from != nil && s.block.names.has(unquoted(from[1])) {
		return "SELECT name FROM (SELECT schema_name, table_name AS name FROM duckdb_tables() UNION ALL SELECT schema_name, view_name FROM duckdb_views()) WHERE lower(schema_name) = lower(" +
			duckdb.QuoteLiteral(unquoted(from[1])) + ") ORDER BY name ASC", nil
	}
	return inDatabase(text, s.block.names.shown.database)
}

// showTablesFrom is the statement that DuckDB answers for databases by the names that it has for them, not those that we show.
var showTablesFrom = regexp.MustCompile(`(?i)^\s*SHOW\s+TABLES\s+FROM\s+(?:csmsql\s*\.\s*)?("(?:[^"]|"")+"|[a-z_][a-z0-9_]*)\s*;?\s*$`)

func unquoted(identifier string) string {
	if strings.HasPrefix(identifier, `"`) {
		return strings.ReplaceAll(identifier[1:len(identifier)-1], `""`, `"`)
	}
	return strings.ToLower(identifier)
}

// inDatabase puts another database where names of three parts or more name the shared one.
func inDatabase(text, database string) (string, edit.List) {
	if database == duckdb.CatalogName || !strings.Contains(strings.ToLower(text), duckdb.CatalogName) {
		return text, nil
	}
	scanned, err := pg.Scan(text)
	if err != nil {
		return text, nil
	}
	whole := map[int]bool{} // offsets of names of three parts or more
	tokens := scanned.Tokens
	for i := range tokens {
		if i+4 < len(tokens) && tokens[i+1].Token == pg.Token_ASCII_46 && tokens[i+3].Token == pg.Token_ASCII_46 && (i == 0 || tokens[i-1].Token != pg.Token_ASCII_46) &&
			!pgcatalog.Owns(text[tokens[i+2].Start:tokens[i+2].End]) {
			whole[int(tokens[i].Start)] = true
		}
	}
	return dialect.ReplaceTokens(text, func(token string, offset int) (string, bool) {
		return database, whole[offset] && strings.EqualFold(strings.Trim(token, `"`), duckdb.CatalogName)
	})
}

func (n *ownNames) has(schema string) bool { return n.shown.schemas[schema] }

// clear takes all names away, so that a committing DuckDB transaction does not show them to others.
func (n *ownNames) clear() {
	for schema := range n.shown.schemas {
		_ = n.shown.exec("DROP SCHEMA IF EXISTS " + n.shown.schema(schema) + " CASCADE") // the names are harmless: csm_table finds no table of theirs
	}
}

// closeOwnNames forgets the names of a block whose DuckDB transaction is over; a rolled back one took its database with it.
func (s *Session) closeOwnNames(b *block) {
	name := b.names.shown.database
	b.names = nil
	err := errors.Join(s.lookInShared(), pgcatalog.ShowNames(s.conn.Exec, ""))
	if err == nil {
		err = s.conn.Exec("DETACH DATABASE IF EXISTS " + name)
	}
	if err != nil {
		s.engine.config.Log.Warn("a transaction's names stay behind in DuckDB", "database", name, "error", err)
	}
}

// namesMatter tells whether DuckDB resolves names of a statement for which it could make a difference that the block redefined some:
// scans are those that are spliced in already.
func (s *Session) namesMatter(tree *pg.ParseResult, scans []plan.Scan, v *visible) bool {
	b := s.block
	redefined := b.redefined()
	if len(redefined) == 0 && !b.restarted {
		return false
	}
	if tree == nil {
		return true
	}
	spliced := make(map[int]bool, len(scans))
	for _, scan := range scans {
		spliced[scan.Start] = true
	}
	matters := func(name string) bool { // a view may read what was redefined
		if b.restarted { // the shared names are those of a later time
			return true
		}
		same := func(n catalog.TableName) bool { return strings.EqualFold(n.Name, name) }
		return slices.ContainsFunc(redefined, same) || slices.ContainsFunc(v.contents.Views(), func(w *catalog.View) bool { return same(w.Name) })
	}
	found := false
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		switch node := node.(type) {
		case *pg.RangeVar:
			found = found || !spliced[int(node.Location)] && matters(node.Relname)
		case *pg.RangeFunction:
			found = found || !innocent(node)
		}
	})
	return found
}

// redefined are the names that the block made, dropped or replaced.
func (b *block) redefined() []catalog.TableName {
	if b.tx == nil {
		return nil
	}
	return b.tx.Redefined()
}

// innocent table functions look at no names. Others may: query_table('mine'), pragma_table_info('mine').
func innocent(f *pg.RangeFunction) bool {
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
