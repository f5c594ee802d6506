package temporary

import (
	"context"
	"strings"

	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
)

// ON COMMIT DROP and ON COMMIT DELETE ROWS, which DuckDB does not know. It keeps them as a comment of the table, so that
// they come and go with the table, in its transaction; nothing else comments temporary tables.
//
//	CREATE TEMP TABLE t (…) ON COMMIT DROP ─► OnCommit: (…), "drop" ─► DuckDB ─► Mark
//	COMMIT ─► Commit: DROP TABLE t ─► DuckDB's COMMIT

const marked = "on commit "

// OnCommit is the text of a statement that makes a temporary table, with blanks in the place of its ON COMMIT …, and
// what that says: "drop", "delete", or nothing.
func OnCommit(text string, head any) (rest, action string) {
	query := false
	switch head := head.(type) {
	case *statement.CreateTable:
	case *statement.CreateTableAs:
		query = head.Query != ""
	default:
		return text, ""
	}
	depth, tokens := 0, lex.Client.Text(text)
	for t := range tokens.Tokens() {
		switch {
		case t.IsAny("(", "["):
			depth++
		case t.IsAny(")", "]"):
			depth--
		case depth > 0:
		case query && t.Is("as"):
			return text, ""
		case t.Is("on") && tokens.Next(t.End()).Is("commit"):
			verb := tokens.Next(tokens.Next(t.End()).End())
			rows := tokens.Next(verb.End())
			end := verb.End()
			switch {
			case verb.Is("drop"):
				action = "drop"
			case verb.Is("delete") && rows.Is("rows"):
				action, end = "delete", rows.End()
			default: // PRESERVE ROWS, which DuckDB knows, or an error of its
				return text, ""
			}
			return text[:t.Start] + strings.Repeat(" ", end-t.Start) + text[end:], action
		}
	}
	return text, ""
}

// Mark notes what is to be done with a table when transactions commit. own are the names that there were before it was
// made: with IF NOT EXISTS the table of that name is an older one. It reports whether there is something.
func Mark(conn *duckdb.Connection, text string, head any, own snapshot.Temporary) (is bool, err error) {
	_, action := OnCommit(text, head)
	var name statement.Name
	exists := false
	switch head := head.(type) {
	case *statement.CreateTable:
		name, exists = head.Name, head.IfNotExists
	case *statement.CreateTableAs:
		name, exists = head.Name, head.IfNotExists
	}
	if action == "" || exists && own.Has(name.Name) {
		return false, nil
	}
	return true, conn.Exec("COMMENT ON TABLE " + Qualified(name.Name) + " IS '" + marked + action + "'")
}

// Commit drops and empties tables that are to be, in the transaction that commits.
func Commit(ctx context.Context, conn *duckdb.Connection) error {
	list, err := conn.Texts(ctx, `SELECT CASE comment WHEN '`+marked+`drop' THEN 'DROP TABLE' ELSE 'DELETE FROM' END ||
		' temp.main."' || replace(table_name, '"', '""') || '"'
		FROM system.main.duckdb_tables() WHERE temporary AND comment IN ('`+marked+`drop', '`+marked+`delete')`)
	if err != nil {
		return err
	}
	return inSomeOrder(conn, list)
}
