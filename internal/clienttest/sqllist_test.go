package clienttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/sqllist"
	"github.com/csmsql/csmsql/wire/pgformat"
)

var rewrite = flag.Bool("rewrite", false, "write what comes of each example into docs/sql.md")

const (
	sqlList    = "../../docs/sql.md"
	optionList = "../../docs/sqloptions.md"
	duckList   = "../../docs/sqlduckdb.md"
	// everyOption ends the headings of optionList, which are those of sqlList.
	everyOption = ": every option"
)

var sqlLists = []string{sqlList, optionList, duckList}

func readSQLList(t *testing.T) *sqllist.Document { return readList(t, sqlList) }

func readList(t *testing.T, path string) *sqllist.Document {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	document, err := sqllist.Parse(string(text))
	require.NoError(t, err)
	require.NotEmpty(t, document.Setup)
	return document
}

// postgresOnly are sections whose words mean what they mean in PostgreSQL: DuckDB is not asked.
var postgresOnly = []string{"COPY", "Transactions", "Prepared statements and cursors", "Session", "Looking after things", "Settings: PostgreSQL's", "Settings: csmsql's"}

// TestSQLList tries every line of docs/sql.md and docs/sqloptions.md: csmsql gives what the line says; DuckDB's own tables give the same, or
// what the line says of DuckDB.
func TestSQLList(t *testing.T) {
	known := walkedNames(t)
	for _, path := range sqlLists {
		t.Run(filepath.Base(path), func(t *testing.T) {
			l := &listTest{path: path, document: readList(t, path), known: known, native: openDuckDB(t)}
			l.room = newRoom(t, shared.dsn(), l.document.Setup)
			l.room.files = newFiles(t, shared.files())
			for _, row := range l.document.Rows {
				l.try(t, row)
			}
			l.rewrite(t)
		})
	}
}

// listTest is one of the documents while its lines are tried.
type listTest struct {
	path     string
	document *sqllist.Document
	known    map[string][]string
	native   *ownDuckDB
	room     *room
}

func (l *listTest) rewrite(t *testing.T) {
	if *rewrite {
		require.NoError(t, os.WriteFile(l.path, []byte(l.document.String()), 0o644))
	}
}

func (l *listTest) try(t *testing.T, row *sqllist.Row) {
	patterns := matching(l.document, row, l.known)
	examples := row.Examples(patterns)
	if len(examples) == 0 {
		t.Errorf("%s:%d: {name} stands for nothing", l.path, row.Line)
	}
	for i := range examples {
		example := examples[i]
		got := l.room.try(t, example.SQL, row.Data)
		if i == len(examples)-1 || strings.Contains(example.SQL, ";") { // of the others, one statement each, nothing is left
			l.room.leave(t, example.SQL, got)
		}
		if *rewrite && i == 0 {
			took(row, example, got)
			examples = row.Examples(patterns)
			example = examples[0]
		}
		if !sameRows(example.SQL, got.text, example.Answer) || row.Verdict == sqllist.Refused && !got.refused {
			t.Errorf("%s:%d: %s\n\twant %s: %s\n\tgot  %s", l.path, row.Line, example.SQL, row.Verdict, example.Answer, got.text)
		}
		if i > 0 || row.Verdict == sqllist.Refused || slices.Contains(postgresOnly, strings.TrimSuffix(row.Section, everyOption)) {
			continue
		}
		if theirs := l.native.try(t, l.document.Setup, example.SQL); got.rows || theirs.refused {
			compare(t, l.path, row, "DuckDB", got, theirs, &row.DuckDB)
		}
	}
}

// TestSQLListInPostgres asks PostgreSQL: it gives what csmsql gives, or what the line says of PostgreSQL.
func TestSQLListInPostgres(t *testing.T) {
	dsn := startPostgres(t)
	for _, path := range []string{sqlList, optionList} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			l := &listTest{path: path, document: readList(t, path)}
			theirs := newRoom(t, dsn, l.document.Setup)
			for _, row := range l.document.Rows {
				if row.Verdict == sqllist.Refused {
					continue
				}
				example := row.Examples(nil)[0]
				got := theirs.try(t, example.SQL, row.Data)
				theirs.leave(t, example.SQL, got)
				ours := tried{text: example.Answer, refused: errorAnswer.MatchString(example.Answer)}
				compare(t, path, row, "PostgreSQL", ours, got, &row.PostgreSQL)
			}
			l.rewrite(t)
		})
	}
}

// unknowing are the beginnings of SQLSTATEs by which a system says that it does not know a statement.
var unknowing = []string{"42", "0A", "3F", "XX"}

// errorAnswer is an error as the document writes it.
var errorAnswer = regexp.MustCompile(`^[0-9A-Z]{5}: `)

// rowSeparator stands between the rows of an answer.
const rowSeparator = "; "

// outcome is the answer by which systems are compared: of errors, the SQLSTATE.
func (a tried) outcome() string {
	if a.refused {
		return "error " + a.text[:5]
	}
	return a.text
}

var orderBy = regexp.MustCompile(`(?i)\border\s+by\b`)

// sameRows compares two answers to sql. Rows that it does not order come in any order: of EXCEPT ALL in that of a hash table that several threads
// fill.
func sameRows(sql, got, want string) bool {
	if got == want || orderBy.MatchString(sql) {
		return got == want
	}
	sorted := func(answer string) []string {
		rows := strings.Split(answer, rowSeparator)
		slices.Sort(rows)
		return rows
	}
	return slices.Equal(sorted(got), sorted(want))
}

func TestSameRows(t *testing.T) {
	for _, c := range []struct {
		sql, got, want string
		same           bool
	}{
		{"SELECT a FROM t", "t; f", "f; t", true},
		{"SELECT a FROM t ORDER BY a", "t; f", "f; t", false},
		{"SELECT a FROM t order\n by a", "f; t", "f; t", true},
		{"SELECT a FROM t", "t; t; f", "f; f; t", false},
		{"SELECT a FROM t", "t; f; f", "f; t", false},
	} {
		require.Equal(t, c.same, sameRows(c.sql, c.got, c.want), "%s: %s, %s", c.sql, c.got, c.want)
	}
}

// compare holds another system's answer against what the row says of it. An error counts where it is about the values or the state
// of things; one that says that the system does not know the words counts as no answer.
func compare(t *testing.T, path string, row *sqllist.Row, system string, ours, theirs tried, said *string) {
	t.Helper()
	same, got := ours.outcome(), theirs.outcome()
	if theirs.refused && slices.Contains(unknowing, theirs.text[:2]) {
		got = same
	}
	want := same
	if *said != "" {
		want = *said
	}
	if sameRows(row.Example, got, same) {
		got = same
	}
	if *rewrite {
		*said = ""
		if got != same {
			*said = got
		}
		row.Verdict = sqllist.Kept
		if row.PostgreSQL+row.DuckDB != "" {
			row.Verdict = sqllist.Differs
		}
		return
	}
	if got != want {
		t.Errorf("%s:%d: %s\n\t%s is said to give %s\n\tit gives %s", path, row.Line, row.Example, system, want, got)
	}
	if row.Verdict == sqllist.Kept && *said != "" {
		t.Errorf("%s:%d: %s: what is kept has one answer", path, row.Line, row.Example)
	}
}

// took puts what came into the row. An error by which csmsql says that it does not know the words is a refusal, another one may be right.
func took(row *sqllist.Row, example sqllist.Example, got tried) {
	if got.refused && !errorAnswer.MatchString(row.Answer) {
		if row.Verdict = sqllist.Kept; slices.Contains(unknowing, got.text[:2]) {
			row.Verdict = sqllist.Refused
		}
	}
	if row.Verdict == sqllist.Refused {
		row.PostgreSQL, row.DuckDB = "", ""
	}
	if sameRows(example.SQL, got.text, example.Answer) {
		return // also where the answer has the name by chance: of every name it is this one
	}
	row.Answer = got.text
	if example.Name != "" {
		row.Answer = regexp.MustCompile(`(?i)`+regexp.QuoteMeta(example.Name)).ReplaceAllLiteralString(got.text, "{name}")
	}
	if !got.refused && row.PostgreSQL+row.DuckDB == "" {
		row.Verdict = sqllist.Kept
	}
}

// tried is what came of an example, as the document writes it.
type tried struct {
	text    string
	hint    string // an error's
	refused bool
	rows    bool // it is rows
}

// room is a connection whose search path is a schema of its own.
type room struct {
	conn  *pgconn.PgConn
	dsn   string
	setup string
	files *files // nil: examples have none
}

func newRoom(t *testing.T, dsn, setup string) *room {
	t.Helper()
	r := &room{dsn: dsn, setup: setup}
	r.open(t)
	t.Cleanup(func() { r.conn.Close(context.Background()) })
	return r
}

func (r *room) open(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	r.conn, err = pgconn.Connect(ctx, r.dsn)
	require.NoError(t, err)
	for _, sql := range []string{
		"DROP SCHEMA IF EXISTS sql_list CASCADE", "DROP SCHEMA IF EXISTS extra_schema CASCADE", "DROP SCHEMA IF EXISTS extra_two CASCADE",
		"CREATE SCHEMA sql_list", "SET search_path = sql_list", r.setup,
	} {
		_, err := r.conn.Exec(ctx, sql).ReadAll()
		require.NoError(t, err, sql)
	}
}

// try runs an example. It ends at its first error.
func (r *room) try(t *testing.T, sql, data string) (got tried) {
	t.Helper()
	return r.files.run(t, sql, func(sql string) tried { return r.tryHere(t, sql, data) })
}

func (r *room) tryHere(t *testing.T, sql, data string) (got tried) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, one := range split(sql) {
		if got = tryStatement(ctx, r.conn, one, data); got.refused {
			break
		}
	}
	return got
}

// leave makes the room as new after an example.
func (r *room) leave(t *testing.T, sql string, got tried) {
	t.Helper()
	if leavesSomething(sql, got.refused) {
		require.NoError(t, r.conn.Close(t.Context()))
		r.open(t)
	}
}

// leavesSomething reports whether statements may have left something, in their tables or in the session. All may but
// queries, and single statements that were refused; and these, too, if they have a word by which they could.
func leavesSomething(sql string, refused bool) bool {
	statements := split(sql)
	queries := !slices.ContainsFunc(statements, func(one string) bool { return !beginsQuery.MatchString(one) })
	return leaving.MatchString(sql) || !queries && (!refused || len(statements) > 1)
}

var (
	beginsQuery = regexp.MustCompile(`(?i)^\s*\(*\s*(select|values|table|from|with|show|describe|explain)\b`)
	leaving     = regexp.MustCompile(`(?i)\b(into|insert|update|delete|merge|analyze|nextval|setval|setseed|set_config` +
		`|setvariable|create|copy|\w*rejects\w*|\w*lock\w*|\w*notify)\b`)
)

var (
	toStdout  = regexp.MustCompile(`(?is)^copy\b.*\bto\s+stdout\b`)
	fromStdin = regexp.MustCompile(`(?is)^copy\b.*\bfrom\s+stdin\b`)
)

func tryStatement(ctx context.Context, conn *pgconn.PgConn, sql, data string) tried {
	var rows []string
	var tag pgconn.CommandTag
	var err error
	hasRows := false
	switch {
	case toStdout.MatchString(sql):
		var out strings.Builder
		tag, err = conn.CopyTo(ctx, &out, sql)
		rows, hasRows = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), true
		if err == nil {
			return tried{text: shown(strings.Join(rows, "\n"))}
		}
	case fromStdin.MatchString(sql):
		lines := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(data) + "\n"
		tag, err = conn.CopyFrom(ctx, strings.NewReader(lines), sql)
	default:
		var results []*pgconn.Result
		results, err = conn.Exec(ctx, sql).ReadAll()
		for _, r := range results {
			tag, hasRows = r.CommandTag, r.CommandTag.Select() || len(r.Rows) > 0
			for _, row := range r.Rows {
				rows = append(rows, rowText(row))
			}
		}
	}
	return outcomeText(rows, hasRows, tag.String(), err)
}

func rowText(row [][]byte) string {
	cells := make([]string, len(row))
	for i, cell := range row {
		if cells[i] = "NULL"; cell != nil {
			cells[i] = string(cell)
		}
	}
	return strings.Join(cells, ", ")
}

func outcomeText(rows []string, hasRows bool, tag string, err error) tried {
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		return tried{text: shown(refused.Code + ": " + refused.Message), hint: refused.Hint, refused: true}
	case err != nil:
		return tried{text: shown("broken: " + err.Error()), refused: true}
	case hasRows && len(rows) == 0:
		return tried{text: "no rows", rows: true}
	case hasRows:
		return tried{text: shown(strings.Join(rows, rowSeparator)), rows: true}
	}
	return tried{text: tag}
}

// shown is text as it stands in a cell of a table.
func shown(text string) string {
	var out strings.Builder
	for i, letter := range []rune(strings.TrimSpace(strings.ReplaceAll(text, "`", "'"))) {
		switch {
		case i == 200:
			return out.String() + "…"
		case letter == '\n':
			out.WriteString(`\n`)
		case letter == '\t':
			out.WriteString(`\t`)
		case unicode.IsPrint(letter) && letter != unicode.ReplacementChar:
			out.WriteRune(letter)
		default:
			fmt.Fprintf(&out, `\x%02x`, min(letter, 0xff))
		}
	}
	return out.String()
}

// ownDuckDB is DuckDB with its own tables.
type ownDuckDB struct {
	db    *duckdb.Database
	conn  *duckdb.Connection // of one example, because temporary objects are a connection's
	files *files
}

func openDuckDB(t *testing.T) *ownDuckDB {
	t.Helper()
	db, err := duckdb.Open(duckdb.Options{MemoryBytes: 1 << 28, Threads: 1, Files: duckdb.FileAccess{All: true}})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return &ownDuckDB{db: db, files: newFiles(t, t.TempDir())}
}

// try runs an example. A statement without rows has no tag.
func (d *ownDuckDB) try(t *testing.T, setup, sql string) tried {
	t.Helper()
	return d.files.run(t, sql, func(sql string) tried { return d.tryHere(t, setup, sql) })
}

func (d *ownDuckDB) tryHere(t *testing.T, setup, sql string) tried {
	t.Helper()
	var err error
	d.conn, err = d.db.Connect(nil)
	require.NoError(t, err)
	defer d.conn.Close()
	for _, reset := range []string{"DROP SCHEMA IF EXISTS sql_list CASCADE", "CREATE SCHEMA sql_list", "USE sql_list", setup} {
		if err := d.conn.Exec(reset); err != nil {
			return refusal(err)
		}
	}
	statements := split(sql)
	for _, one := range statements[:len(statements)-1] {
		if err := d.conn.Exec(one); err != nil {
			return refusal(err)
		}
	}
	rows, err := d.query(statements[len(statements)-1])
	if err != nil {
		return refusal(err)
	}
	return outcomeText(rows, true, "", nil)
}

func refusal(err error) tried {
	state := "XX000"
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		state = s.SQLState()
	}
	return tried{text: state + ": " + err.Error(), refused: true}
}

func (d *ownDuckDB) query(sql string) (lines []string, err error) {
	prepared, err := d.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	rows, err := prepared.Execute(context.Background())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var types []pgformat.Type
	for _, field := range rows.Schema().Fields() {
		types = append(types, pgformat.TypeOf(field))
	}
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		columns, err := pgformat.NewColumns(types, nil, nil)
		if err == nil {
			err = columns.Bind(batch)
		}
		if err != nil {
			batch.Release()
			return nil, fmt.Errorf("pgformat: %w", err)
		}
		for i := range int(batch.NumRows()) {
			row := make([][]byte, columns.Len())
			for c := range row {
				if !columns.Null(c, i) {
					row[c] = columns.AppendValue([]byte{}, c, i)
				}
			}
			lines = append(lines, rowText(row))
		}
		columns.Unbind()
		batch.Release()
	}
}
