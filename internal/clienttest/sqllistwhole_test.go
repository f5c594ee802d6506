package clienttest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/internal/sqllist"
)

// The sections in which names of each kind are looked for, by how their headings begin.
var kinds = []string{"Types", "Functions", "Operators", "Settings"}

// walkedNames are the names of each kind that PostgreSQL and DuckDB have: DuckDB's as it lists them, PostgreSQL's from
// a file that testdata/postgres/extract.sh wrote.
func walkedNames(t *testing.T) map[string][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgconn.Connect(ctx, shared.dsn())
	require.NoError(t, err)
	defer conn.Close(ctx)
	names := map[string][]string{}
	for kind, sql := range map[string]string{
		"Types":     "SELECT DISTINCT lower(type_name) FROM duckdb_types()",
		"Functions": "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_name SIMILAR TO '[A-Za-z_].*'",
		"Operators": "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT function_name SIMILAR TO '[A-Za-z_].*'",
		"Settings":  "SELECT lower(name) FROM duckdb_settings()",
	} {
		results, err := conn.Exec(ctx, sql).ReadAll()
		require.NoError(t, err, sql)
		for _, row := range results[0].Rows {
			names[kind] = append(names[kind], string(row[0]))
		}
		require.Greater(t, len(names[kind]), 20, kind)
		text, err := os.ReadFile("testdata/postgres/" + strings.ToLower(kind) + ".txt")
		require.NoError(t, err)
		names[kind] = append(names[kind], strings.Fields(string(text))...)
		slices.Sort(names[kind])
		names[kind] = slices.Compact(names[kind])
	}
	return names
}

// owner is the row that speaks of a name: the one that writes it out, or else the first one with a pattern that it matches.
func owner(document *sqllist.Document, kind, name string) (found *sqllist.Row) {
	for _, row := range document.Rows {
		if !strings.HasPrefix(row.Section, kind) {
			continue
		}
		covers, exactly := row.Covers(name)
		if exactly {
			return row
		}
		if covers && found == nil {
			found = row
		}
	}
	return found
}

// matching are the walked names that the row's patterns speak of.
func matching(document *sqllist.Document, row *sqllist.Row, walked map[string][]string) (names []string) {
	for _, kind := range kinds {
		if strings.Contains(row.Example, "{name}") && strings.HasPrefix(row.Section, kind) && strings.Contains(row.What, "*`") {
			for _, name := range walked[kind] {
				if owner(document, kind, name) == row {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// TestSQLListIsWhole: every statement, type, function, operator and setting that PostgreSQL or DuckDB has is on a line of docs/sql.md.
func TestSQLListIsWhole(t *testing.T) {
	document := readSQLList(t)
	for kind, names := range walkedNames(t) {
		for _, name := range names {
			if owner(document, kind, name) == nil {
				t.Errorf("%s has no line for %s under %q", sqlList, name, "## "+kind+"…")
			}
		}
	}
	var text strings.Builder
	seen := map[string]bool{}
	for _, row := range document.Rows {
		for _, one := range split(row.Example) {
			text.WriteString(strings.ToUpper(one) + "\n")
			if tree, err := pg.Parse(one); err == nil {
				note(seen, tree)
			}
		}
	}
	for _, want := range postgresStatements() {
		if !seen[want] {
			t.Errorf("%s has no example of PostgreSQL's %s", sqlList, want)
		}
	}
	for _, verb := range duckStatements {
		if !strings.Contains("\n"+text.String(), "\n"+verb+" ") {
			t.Errorf("%s has no example of DuckDB's %s", sqlList, verb)
		}
	}
}

// duckStatements begin the statements that DuckDB knows and PostgreSQL does not.
var duckStatements = []string{
	"ATTACH", "CALL", "COPY FROM DATABASE", "CREATE MACRO", "CREATE OR REPLACE TABLE", "CREATE SECRET", "CREATE TEMP MACRO", "DESCRIBE", "DETACH", "DROP MACRO",
	"EXPORT DATABASE", "FROM", "IMPORT DATABASE", "INSERT OR REPLACE", "INSTALL", "PIVOT", "PRAGMA", "SET VARIABLE", "SHOW", "SUMMARIZE", "UNPIVOT",
	"UPDATE EXTENSIONS", "USE",
}

// note marks the statement's kind, and what ALTER TABLE and DROP are about.
func note(seen map[string]bool, tree *pg.ParseResult) {
	for _, raw := range tree.Stmts {
		node := raw.Stmt.ProtoReflect()
		field := node.WhichOneof(node.Descriptor().Oneofs().Get(0))
		seen[string(field.Name())] = true
		if drop := raw.Stmt.GetDropStmt(); drop != nil {
			seen["DROP "+drop.RemoveType.String()] = true
		}
		for _, command := range raw.Stmt.GetAlterTableStmt().GetCmds() {
			seen["ALTER TABLE "+command.GetAlterTableCmd().GetSubtype().String()] = true
		}
	}
}

// internalNodes are nodes that end in _stmt and are no statement that a client can send.
var internalNodes = []string{
	"raw_stmt", "planned_stmt", "plassign_stmt", // of PostgreSQL's inside
	"return_stmt",           // in the bodies of functions
	"set_operation_stmt",    // of the analysed tree
	"replica_identity_stmt", // a part of ALTER TABLE
}

// internalCommands are commands of ALTER TABLE that its grammar does not make: PostgreSQL makes them of others while it runs them.
var internalCommands = []string{
	"ALTER_TABLE_TYPE_UNDEFINED", "AT_AddColumnToView", "AT_CookedColumnDefault", "AT_CheckNotNull", "AT_AddIndex", "AT_ReAddIndex", "AT_ReAddConstraint", "AT_ReAddDomainConstraint",
	"AT_AddIndexConstraint", "AT_ReAddComment", "AT_ReplaceRelOptions", "AT_ReAddStatistics", "AT_SetAttNotNull",
}

// otherObjects have no DROP of the common form: they have statements of their own, or none.
var otherObjects = []string{
	"OBJECT_TYPE_UNDEFINED", "OBJECT_AMOP", "OBJECT_AMPROC", "OBJECT_ATTRIBUTE", "OBJECT_COLUMN", "OBJECT_DATABASE", "OBJECT_DEFAULT", "OBJECT_DEFACL", "OBJECT_DOMCONSTRAINT",
	"OBJECT_LARGEOBJECT", "OBJECT_PARAMETER_ACL", "OBJECT_PUBLICATION_NAMESPACE", "OBJECT_PUBLICATION_REL", "OBJECT_ROLE", "OBJECT_SUBSCRIPTION", "OBJECT_TABCONSTRAINT",
	"OBJECT_TABLESPACE", "OBJECT_USER_MAPPING",
}

// postgresStatements are what PostgreSQL's grammar makes: kinds of statements, commands of ALTER TABLE, objects of DROP.
func postgresStatements() (want []string) {
	fields := (&pg.Node{}).ProtoReflect().Descriptor().Oneofs().Get(0).Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); strings.HasSuffix(name, "_stmt") && !slices.Contains(internalNodes, name) {
			want = append(want, name)
		}
	}
	values := func(prefix string, of protoreflect.EnumDescriptor, except []string) {
		for i := range of.Values().Len() {
			if name := string(of.Values().Get(i).Name()); !slices.Contains(except, name) {
				want = append(want, prefix+name)
			}
		}
	}
	values("ALTER TABLE ", pg.AlterTableType(0).Descriptor(), internalCommands)
	values("DROP ", pg.ObjectType(0).Descriptor(), otherObjects)
	return want
}
