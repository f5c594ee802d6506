package temporary

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Names asks DuckDB for the names of a session's temporary tables and views.
func Names(ctx context.Context, conn *duckdb.Connection) (snapshot.Temporary, error) {
	names, err := conn.Texts(ctx, `SELECT table_name FROM system.main.duckdb_tables()
		WHERE temporary AND table_name NOT IN `+pgcatalog.OwnTables+`
		UNION ALL SELECT view_name FROM system.main.duckdb_views() WHERE temporary AND NOT internal`)
	if err != nil {
		return nil, err
	}
	return setOf(names), nil
}

func setOf(names []string) snapshot.Temporary {
	own := make(snapshot.Temporary, len(names))
	for _, name := range names {
		own[strings.ToLower(name)] = true
	}
	return own
}

// Unlisted asks DuckDB for the names of a session's temporary sequences, types or macros.
func Unlisted(ctx context.Context, conn *duckdb.Connection, kind statement.Object) (snapshot.Temporary, error) {
	text := "SELECT sequence_name FROM system.main.duckdb_sequences() WHERE temporary"
	switch kind {
	case statement.Function, statement.Macro:
		text = "SELECT function_name FROM system.main.duckdb_functions() WHERE database_name = 'temp' AND " +
			"schema_name = 'main' AND NOT internal AND function_type IN ('macro', 'table_macro')"
	case statement.Type:
		text = "SELECT type_name FROM system.main.duckdb_types() WHERE database_name = 'temp' AND NOT internal"
	}
	names, err := conn.Texts(ctx, text)
	return setOf(names), err
}

// Uses are the temporary tables and views that have to do with types of the users', each with what DuckDB says of them
// behind it.
func Uses(ctx context.Context, conn *duckdb.Connection) ([]string, error) {
	return conn.Texts(ctx, "SELECT unnest([table_name, data_type]) FROM system.main.duckdb_columns() "+
		"WHERE database_name = 'temp' AND contains(data_type, $1) UNION ALL SELECT unnest([view_name, sql]) "+
		"FROM system.main.duckdb_views() WHERE temporary AND NOT internal AND contains(sql, $1)", enumeration.MarkHead)
}

// DropOf is a DROP SEQUENCE or a DROP TYPE, in text, of a temporary one as DuckDB runs it.
func DropOf(head *statement.Drop, text string) *statement.Private {
	name := head.Names[0]
	at := edit.Offset(text, name.At)
	return &statement.Private{Verb: "drop", Kind: string(head.Object), Dropped: &name, DroppedAt: at}
}

// ownObjects are the statements that drop what a session made for itself, what may need others first.
var ownObjects = `SELECT 'DROP ' || kind || ' temp.main."' || replace(name, '"', '""') || '"' FROM (
	SELECT 1 AS place, 'VIEW' AS kind, view_name AS name, view_oid AS made FROM system.main.duckdb_views()
		WHERE temporary AND NOT internal
	UNION ALL SELECT 2, 'TABLE', table_name, table_oid FROM system.main.duckdb_tables()
		WHERE temporary AND table_name NOT IN ` + pgcatalog.OwnTables + `
	UNION ALL SELECT 3, 'SEQUENCE', sequence_name, 0 FROM system.main.duckdb_sequences() WHERE temporary
	UNION ALL SELECT DISTINCT 3, CASE function_type WHEN 'table_macro' THEN 'MACRO TABLE' ELSE 'MACRO' END, function_name, 0
		FROM system.main.duckdb_functions()
		WHERE database_name = 'temp' AND schema_name = 'main' AND NOT internal AND function_type IN ('macro', 'table_macro')
	UNION ALL SELECT 4, 'TYPE', type_name, 0 FROM system.main.duckdb_types()
		WHERE database_name = 'temp' AND schema_name = 'main' AND NOT internal
) ORDER BY place ASC, made DESC`

// DropAll drops what the session made for itself: tables, views, sequences, macros and types. A table to which another
// one's keys refer cannot be dropped before that one, so that it is tried again after the others. before is called when
// there is a list.
func DropAll(conn *duckdb.Connection, before func()) error {
	drops, err := conn.Texts(context.Background(), ownObjects)
	if err != nil {
		return err
	}
	before()
	return inSomeOrder(conn, drops)
}

// inSomeOrder runs statements of which some may have to come before others.
func inSomeOrder(conn *duckdb.Connection, list []string) error {
	for len(list) > 0 {
		var left []string
		var failed error
		for _, sql := range list {
			if err := conn.Exec(sql); err != nil {
				left, failed = append(left, sql), err
			}
		}
		if len(left) == len(list) {
			return failed
		}
		list = left
	}
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

// name is what a statement is called by: its verb, and the word behind it where that one says what it is about.
func name(verb, text string) string {
	if verb == "merge" {
		return "MERGE into a temporary table"
	}
	name, words := strings.ToUpper(verb), statement.Words(text)
	if len(words) > 1 && strings.EqualFold(words[0].Name, verb) {
		if about := strings.ToUpper(words[1].Name); about == "DATABASE" || about == "VARIABLE" {
			name += " " + about
		}
	}
	return name
}

// Refused is the error of a statement whose verb is not there, or that DuckDB takes for another one, or that is a part
// of another one or has such; nil of others.
func Refused(verb, text string, head any, parts bool) error {
	if parts {
		return sqlerror.New("0A000", "a change of a temporary table with FOR UPDATE, or a change in WITH, "+
			"is not supported")
	}
	list, others := "", ""
	switch head := head.(type) {
	case *statement.Update:
		list, others = head.Returning, head.From
		if slices.ContainsFunc(head.Set, func(a statement.Assignment) bool { return a.Row != nil }) {
			return sqlerror.New("0A000",
				"assigning a query's row to several columns of a temporary table is not supported").
				WithHint("Use UPDATE … FROM, or one assignment for each column.")
		}
	case *statement.Delete:
		list, others = head.Returning, head.Using
	}
	if others != "" && len(statement.Stars(list)) > 0 {
		return sqlerror.New("0A000", "RETURNING * with FROM or USING is not supported for temporary tables").
			WithHint("It means the columns of all tables of the statement: list those of the temporary one.")
	}
	if hint, refused := refusedVerbs[verb]; refused {
		return sqlerror.New("0A000", "%s is not supported", name(verb, text)).WithHint(hint)
	}
	if verb == "pragma" || verb == "call" {
		return sqlerror.New("42501", "%s is not allowed here", strings.ToUpper(verb)).
			WithHint("Use SET for settings and SELECT for table functions.")
	}
	return nil
}

// tags are what a session may do to its own temporary objects, with their command tags.
var tags = map[duckdb.Kind]string{
	duckdb.KindCreate: "CREATE TABLE", duckdb.KindDrop: "DROP TABLE",
	duckdb.KindInsert: "INSERT 0 %d", duckdb.KindUpdate: "UPDATE %d", duckdb.KindDelete: "DELETE %d",
}

// Tag is the command tag of a statement that DuckDB knows as of a kind, with %d for the number of rows; an error if
// what it touches is not temporary.
func Tag(kind duckdb.Kind, text string, head any) (string, error) {
	tag, ok := tags[kind]
	private, is := head.(*statement.Private)
	if !ok || !isAbout(head) {
		what := "this statement"
		if is && private.Verb != "" {
			what = name(private.Verb, text)
		}
		return "", sqlerror.New("0A000", "%s is not supported", what).
			WithHint("Tables are changed with INSERT, TRUNCATE and " +
				"CREATE TABLE AS; temporary tables with everything that DuckDB knows.")
	}
	if as, ok := head.(*statement.CreateTableAs); ok {
		if tag = "SELECT %d"; as.NoData {
			tag = "CREATE TABLE AS"
		}
		return tag, nil
	}
	if is && private.Kind != "" {
		tag = strings.Replace(tag, "TABLE", strings.ToUpper(private.Kind), 1)
	} else if strings.Contains(strings.ToLower(text[:min(len(text), 40)]), "view") {
		tag = strings.Replace(tag, "TABLE", "VIEW", 1)
	}
	return tag, nil
}

// isAbout: what DuckDB would make or change must be temporary; everything else of its own would be lost
// with the process and seen by all sessions.
func isAbout(head any) bool {
	switch head := head.(type) {
	case *statement.CreateTable:
		return head.Temporary
	case *statement.CreateTableAs:
		return head.Temporary
	case *statement.CreateView:
		return head.Temporary
	case *statement.Insert, *statement.Update, *statement.Delete, *statement.Drop:
		return true // prepared only when the target is temporary
	case *statement.Private:
		return slices.Contains([]string{"create", "update", "delete", "drop", "insert"}, head.Verb)
	}
	return false
}

// Text is a statement's text as DuckDB takes it.
func Text(conn *duckdb.Connection, text string, of any) (string, edit.List, error) {
	text, _ = OnCommit(text, of)
	switch head := of.(type) {
	case *statement.Insert:
		return insertion(conn, text, head)
	case *statement.Update:
		return update(conn, text, head)
	case *statement.Private:
		return dropped(text, head)
	}
	return text, nil, nil
}

// dropped is a text in which what a DROP names is the session's own: DuckDB would look for it among what all sessions
// share, too, where the engine keeps functions that all of them call.
func dropped(text string, head *statement.Private) (string, edit.List, error) {
	if head.Dropped == nil {
		return text, nil, nil
	}
	switch name := head.Dropped; {
	case name.Schema == "":
		text, made := dialect.Inserted(text, head.DroppedAt, snapshot.TemporarySchema+".")
		return text, made, nil
	case name.Database == "" && strings.EqualFold(name.Schema, "temp"), strings.EqualFold(name.Database, "temp"):
		return text, nil, nil
	default:
		e := sqlerror.New("42704", "%q does not exist", name.String()).
			WithHint("Macros, sequences, types and indexes are temporary: leave the schema out.")
		e.At = name.At
		return "", nil, e
	}
}

// Count reads the count that DuckDB returns as a row.
func Count(rows *duckdb.Rows) (n int64) {
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

// RefuseSequences is the error of DISCARD SEQUENCES, which makes currval() forget, in a session that has some: they are
// DuckDB's, and it does not.
func RefuseSequences(ctx context.Context, conn *duckdb.Connection) error {
	names, err := conn.Texts(ctx, "SELECT sequence_name FROM system.main.duckdb_sequences() WHERE temporary")
	if err != nil || len(names) == 0 {
		return err
	}
	have := strings.Join(names, ", ")
	return sqlerror.New("0A000", "DISCARD SEQUENCES is not supported while the session has sequences: %s", have).
		WithHint("DROP SEQUENCE drops one, DISCARD TEMP all of them.")
}

// Explain rewords an error of DuckDB, which knows tables as views and says that they cannot be updated.
func Explain(err error) error {
	e, ok := err.(*sqlerror.Error)
	if !ok {
		return err
	}
	if at := strings.Index(e.Message, "Referenced update column "); at >= 0 {
		name, _, _ := strings.Cut(e.Message[at+len("Referenced update column "):], " not found in table!")
		return sqlerror.New("42703", "column %q does not exist", name)
	}
	if _, name, found := strings.Cut(e.Message, "Multiple assignments to same column "); found {
		return sqlerror.New("42601", "multiple assignments to same column %s", name)
	}
	for _, words := range []string{"Can only update base table", "Can only delete from base table", "is not a table"} {
		if strings.Contains(e.Message, words) {
			return sqlerror.New("0A000",
				"UPDATE and DELETE of lent tables are not supported: sealed chunks never change").
				WithHint("CREATE OR REPLACE TABLE t AS SELECT … FROM t writes a new version.")
		}
	}
	return err
}
