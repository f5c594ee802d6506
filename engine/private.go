package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// temporaryNames asks DuckDB. Whoever cannot be told must not go on: a statement would mean the table that all sessions
// share and that is called the same.
func (s *Session) temporaryNames(ctx context.Context) (snapshot.Temporary, error) {
	if !s.temporary {
		return nil, nil
	}
	s.yield()
	names, err := s.conn.Texts(ctx, `SELECT table_name FROM system.main.duckdb_tables() WHERE temporary AND table_name NOT IN `+pgcatalog.OwnTables+`
		UNION ALL SELECT view_name FROM system.main.duckdb_views() WHERE temporary AND NOT internal`)
	if err != nil {
		return nil, err
	}
	own := make(snapshot.Temporary, len(names))
	for _, name := range names {
		own[strings.ToLower(name)] = true
	}
	return own, nil
}

// changedTemporary notes that the session has, or had, temporary objects.
func (s *Session) changedTemporary() {
	s.temporary = true
	if s.block != nil {
		s.block.temporary++
	}
}

// ownObjects are the statements that drop what a session made for itself, what may need others first.
const ownObjects = `SELECT 'DROP ' || kind || ' temp.main."' || replace(name, '"', '""') || '"' FROM (
	SELECT 1 AS place, 'VIEW' AS kind, view_name AS name, view_oid AS made FROM system.main.duckdb_views() WHERE temporary AND NOT internal
	UNION ALL SELECT 2, 'TABLE', table_name, table_oid FROM system.main.duckdb_tables() WHERE temporary AND table_name NOT IN ` + pgcatalog.OwnTables + `
	UNION ALL SELECT 3, 'SEQUENCE', sequence_name, 0 FROM system.main.duckdb_sequences() WHERE temporary
	UNION ALL SELECT DISTINCT 3, CASE function_type WHEN 'table_macro' THEN 'MACRO TABLE' ELSE 'MACRO' END, function_name, 0 FROM system.main.duckdb_functions()
		WHERE database_name = 'temp' AND schema_name = 'main' AND NOT internal AND function_type IN ('macro', 'table_macro')
	UNION ALL SELECT 4, 'TYPE', type_name, 0 FROM system.main.duckdb_types() WHERE database_name = 'temp' AND schema_name = 'main' AND NOT internal
) ORDER BY place ASC, made DESC`

// dropTemporary drops what the session made for itself: tables, views, sequences, macros and types. A table to which another one's keys
// refer cannot be dropped before that one, so that it is tried again after the others.
func (s *Session) dropTemporary() error {
	if !s.temporary {
		return nil
	}
	s.yield()
	drops, err := s.conn.Texts(context.Background(), ownObjects)
	if err != nil {
		return err
	}
	s.changedTemporary()
	for len(drops) > 0 {
		var left []string
		var failed error
		for _, sql := range drops {
			if err := s.conn.Exec(sql); err != nil {
				left, failed = append(left, sql), err
			}
		}
		if len(left) == len(drops) {
			return failed
		}
		drops = left
	}
	s.temporary = false
	return nil
}

// refusedVerbs begin statements of DuckDB's that are not there, with what to do instead.
var refusedVerbs = map[string]string{
	"attach": "There is one database; CREATE SCHEMA makes a namespace.", "detach": "There is one database.",
	"use":     "SET search_path says where names are looked up.",
	"install": "There are no extensions but those that are built in.", "load": "There are no extensions but those that are built in.",
	"export": "COPY the tables one by one.", "import": "COPY the tables one by one.",
	"merge": "Use UPDATE, DELETE and INSERT in one transaction.",
	"set":   "Keep the value in a temporary table, or send it as a parameter.", "reset": "Only settings are reset.",
}

// statementName is what a statement is called by: its verb, and the word behind it where that one says what it is about.
func statementName(verb, text string) string {
	name, words := strings.ToUpper(verb), statement.Words(text)
	if len(words) > 1 && strings.EqualFold(words[0].Name, verb) && slices.Contains([]string{"DATABASE", "VARIABLE"}, strings.ToUpper(words[1].Name)) {
		name += " " + strings.ToUpper(words[1].Name)
	}
	return name
}

// privateName is what a statement about temporary objects is called by.
func (st *Statement) privateName() string {
	if head, ok := st.parsed.Head.(*statement.Private); ok && head.Verb != "" {
		return statementName(head.Verb, st.parsed.Text)
	}
	return "this statement"
}

// preparePrivate readies a statement about temporary objects, which DuckDB keeps.
func (st *Statement) preparePrivate(ctx context.Context, head *statement.Private) error {
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.runPrivate(ctx, args) }
	if hint, refused := refusedVerbs[head.Verb]; refused {
		return sqlerror.New("0A000", "%s is not supported", statementName(head.Verb, st.parsed.Text)).WithHint(hint)
	}
	switch head.Verb {
	case "pragma", "call":
		return sqlerror.New("42501", "%s is not allowed here", strings.ToUpper(head.Verb)).WithHint("Use SET for settings and SELECT for table functions.")
	case "insert", "update", "delete", "create":
	default:
		return nil
	}
	if !strings.Contains(st.parsed.Text, "$") && returningOf(st.parsed.Head) == nil {
		return nil
	}
	return st.describePrivate(ctx)
}

// describePrivate asks DuckDB what parameters a statement about a temporary table has, and what it returns.
func (st *Statement) describePrivate(ctx context.Context) error {
	v, err := st.session.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	duck, err := st.privateStatement(ctx, v)
	if err != nil {
		return err
	}
	defer duck.Close()
	st.params = duck.Parameters()
	if st.returning = returningOf(st.parsed.Head); st.returning == nil {
		return nil
	}
	schema, err := duck.Schema()
	if err != nil {
		return err
	}
	st.schema = conform.Schema(schema)
	return nil
}

// privateStatement is the statement as DuckDB is given it.
func (st *Statement) privateStatement(ctx context.Context, v *snapshot.View) (*duckdb.Statement, error) {
	s := st.session
	s.yield()
	v.Reads.Everything() // DuckDB looks its names up
	if err := s.showOwnNames(v); err != nil {
		return nil, err
	}
	text, explain, err := st.privateText(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := s.describeForViews(nil, nil, v); err != nil {
		return nil, err
	}
	s.visible = v
	duck, err := s.conn.Prepare(text)
	s.visible = nil
	if err != nil {
		return nil, st.explainPrivate(explain(err))
	}
	return duck, nil
}

// privateText writes the statement for DuckDB, and says how errors of DuckDB's about it become errors about the user's text.
func (st *Statement) privateText(ctx context.Context, v *snapshot.View) (text string, explain func(error) error, err error) {
	s := st.session
	text, moved, err := st.droppedOwn()
	if err != nil {
		return "", nil, err
	}
	if head, ok := st.parsed.Head.(*statement.CreateTable); ok {
		if text, moved, err = definition.Limited(text, head); err != nil {
			return "", nil, err
		}
	}
	head, isView := st.parsed.Head.(*statement.CreateView)
	if isView {
		bound, made, err := st.session.viewTexts(v).TemporaryView(ctx, head, st.parsed.Text)
		if err != nil && !dialect.IsParsers(err) { // a syntax error is told with its place below
			return "", nil, err
		} else if err == nil {
			text, moved = bound, made
		}
	}
	explain = func(err error) error { return dialect.FromDuckDB(err, text, st.parsed.Text, moved) }
	before, query := "", text
	if head, ok := st.parsed.Head.(*statement.CreateTableAs); ok && strings.HasSuffix(text, head.Query) { // PostgreSQL has no CREATE OR REPLACE TABLE
		before, query = text[:len(text)-len(head.Query)], head.Query
	}
	words, catalogs, err := dialect.Words(query, st.treeOf(query))
	if err != nil || words == query {
		return dialect.Operators(text), explain, err
	}
	if catalogs {
		s.catalogViews = s.catalogViews || isView
		if err := s.describeTables(v); err != nil {
			return "", nil, err
		}
	}
	text = dialect.Operators(before + words)
	return text, func(err error) error { return dialect.WithoutPosition(dialect.FromDuckDB(err, text, text, nil)) }, nil
}

// droppedOwn is the statement's text, in which what a DROP names is the session's own: DuckDB would look for it among what all sessions
// share, too, where the engine keeps functions that all of them call.
func (st *Statement) droppedOwn() (string, edit.List, error) {
	text := st.parsed.Text
	head, ok := st.parsed.Head.(*statement.Private)
	if !ok || head.Dropped == nil {
		return text, nil, nil
	}
	switch name := head.Dropped; {
	case name.Schema == "":
		text, made := dialect.Inserted(text, head.DroppedAt, snapshot.TemporarySchema+".")
		return text, made, nil
	case name.Database == "" && strings.EqualFold(name.Schema, "temp"), strings.EqualFold(name.Database, "temp"):
		return text, nil, nil
	default:
		e := sqlerror.New("42704", "%q does not exist", name.String()).WithHint("Macros, sequences, types and indexes are temporary: leave the schema out.")
		e.At = name.At
		return "", nil, e
	}
}

// privateKinds are what a session may do to its own temporary objects, with their command tags.
var privateKinds = map[duckdb.Kind]string{
	duckdb.KindCreate: "CREATE TABLE", duckdb.KindDrop: "DROP TABLE",
	duckdb.KindInsert: "INSERT 0 %d", duckdb.KindUpdate: "UPDATE %d", duckdb.KindDelete: "DELETE %d",
}

// runPrivate lets DuckDB run the statement if all it touches is temporary. It runs in a transaction of DuckDB's, so that what it made of rows
// that turn out not to be trustworthy (E3) can be taken back.
func (st *Statement) runPrivate(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	if s.block != nil {
		return st.runPrivateInBlock(ctx, args)
	}
	s.beginImplicit()
	rows, err := st.runPrivateInBlock(ctx, args)
	if err != nil {
		s.rollback()
		return nil, err
	}
	return rows, s.commit(ctx)
}

func (st *Statement) runPrivateInBlock(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	faults := s.engine.reader.Faults()
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	s.yield()
	if err := s.beginDuck(s.block); err != nil {
		return nil, err
	}
	duck, err := st.privateStatement(ctx, v)
	if err != nil {
		return nil, err
	}
	defer duck.Close()
	tag, ok := privateKinds[duck.Kind()]
	if !ok || !st.isAboutTemporary() {
		return nil, sqlerror.New("0A000", "%s is not supported", st.privateName()).WithHint("Tables are changed with INSERT, TRUNCATE and CREATE TABLE AS; temporary tables with everything that DuckDB knows.")
	}
	if err := duck.Bind(args); err != nil {
		return nil, dialect.FromDuckDB(err, st.parsed.Text, st.parsed.Text, nil)
	}
	rows, err := duck.Execute(ctx)
	if err != nil {
		return nil, v.Lease.ErrorOr(dialect.FromDuckDB(v.Read.Blame(ctx, err), st.parsed.Text, st.parsed.Text, nil), v.Read)
	}
	defer rows.Close()
	s.changedTemporary()
	if st.returning != nil {
		out, err := st.privateReturned(rows, tag)
		if err != nil {
			return nil, err
		}
		if err := s.engine.trustworthy(ctx, faults, v.Read, v.Lease); err != nil {
			out.close() // nothing of it counts
			return nil, err
		}
		return out, nil
	}
	changed := privateCount(rows)
	if err := s.engine.trustworthy(ctx, faults, v.Read, v.Lease); err != nil {
		return nil, err
	}
	if strings.Contains(tag, "%d") {
		tag = fmt.Sprintf(tag, changed)
	}
	if head, ok := st.parsed.Head.(*statement.Private); ok && head.Kind != "" {
		tag = strings.Replace(tag, "TABLE", strings.ToUpper(head.Kind), 1)
	} else if strings.Contains(strings.ToLower(st.parsed.Text[:min(len(st.parsed.Text), 40)]), "view") {
		tag = strings.Replace(tag, "TABLE", "VIEW", 1)
	}
	return done(tag, changed), nil
}

// privateReturned are the rows that a change of a temporary table returns.
func (st *Statement) privateReturned(rows *duckdb.Rows, tag string) (*Rows, error) {
	out := st.session.keeper()
	for {
		batch, err := rows.Next()
		if isEnd(err) {
			return out.result(st.schema, fmt.Sprintf(tag, out.rows), out.rows), nil
		}
		if err == nil {
			err = out.keep(batch)
			batch.Release()
		}
		if err != nil {
			out.release()
			return nil, dialect.WithoutPosition(dialect.FromDuckDB(err, st.parsed.Text, st.parsed.Text, nil))
		}
	}
}

// privateCount reads the count that DuckDB returns as a row.
func privateCount(rows *duckdb.Rows) (n int64) {
	for {
		batch, err := rows.Next()
		if err != nil {
			return n
		}
		if batch.NumCols() == 1 && batch.Column(0).DataType().ID() == arrow.INT64 && batch.NumRows() == 1 {
			fmt.Sscan(batch.Column(0).ValueStr(0), &n)
		}
		batch.Release()
	}
}

// isAboutTemporary: what DuckDB would make or change must be temporary; everything else of its own would be lost
// with the process and seen by all sessions.
func (st *Statement) isAboutTemporary() bool {
	switch head := st.parsed.Head.(type) {
	case *statement.CreateTable:
		return head.Temporary
	case *statement.CreateTableAs:
		return head.Temporary
	case *statement.CreateView:
		return head.Temporary
	case *statement.Insert, *statement.Update, *statement.Delete, *statement.Drop:
		return true // prepared only when the target is temporary
	case *statement.Private:
		return head.Verb == "create" || head.Verb == "update" || head.Verb == "delete" || head.Verb == "drop" || head.Verb == "insert"
	}
	return false
}

// explainPrivate: DuckDB knows tables as views and says that they cannot be updated.
func (st *Statement) explainPrivate(err error) error {
	e, ok := err.(*Error)
	if ok && (strings.Contains(e.Message, "Can only update base table") || strings.Contains(e.Message, "Can only delete from base table") || strings.Contains(e.Message, "is not a table")) {
		return sqlerror.New("0A000", "UPDATE and DELETE of lent tables are not supported: sealed chunks never change").WithHint("CREATE OR REPLACE TABLE t AS SELECT … FROM t writes a new version.")
	}
	return st.preferSyntaxError(err)
}
