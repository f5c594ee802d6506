package clienttest

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/grammar"
	"github.com/csmsql/csmsql/internal/sqllist"
	"github.com/csmsql/csmsql/sql/lex"
)

// split is a text's statements, as the frontend finds them.
func split(sql string) (statements []string) {
	for _, one := range lex.Split(lex.Client.Text(sql)) {
		statements = append(statements, one.SQL)
	}
	return statements
}

// uses is one statement of an example, and what it uses.
type uses struct {
	row        *sqllist.Row
	statements []string
	at         int // of statements
	options    grammar.Set
	node       string // the kind of statement
	refused    bool   // as one that is not supported: other errors show that it was understood
}

// notSupported are the beginnings of answers that say so.
var notSupported = []string{"0A", "42601", "42883", "42P10"}

// examplesOfOptions are all statements of the examples that PostgreSQL's parser understands.
func examplesOfOptions(t *testing.T) (found []uses) {
	t.Helper()
	for _, path := range []string{sqlList, optionList} {
		for _, row := range readList(t, path).Rows {
			if strings.Contains(row.Example, "{name}") { // which are lists of names
				continue
			}
			statements := split(row.Example)
			unsupported := row.Verdict == sqllist.Refused &&
				slices.ContainsFunc(notSupported, func(state string) bool { return strings.HasPrefix(row.Answer, state) })
			for i, one := range statements {
				if options, nodes, err := grammar.Of(one); err == nil && len(nodes) == 1 {
					refused := unsupported && i == len(statements)-1
					found = append(found, uses{row: row, statements: statements, at: i, options: options, node: nodes[0], refused: refused})
				}
			}
		}
	}
	return found
}

// TestOptionsAreWhole: every option of PostgreSQL's grammar is in an example, except those of statements that are
// refused as a whole.
func TestOptionsAreWhole(t *testing.T) {
	examples := examplesOfOptions(t)
	accepted := map[string]bool{}
	for _, e := range examples {
		accepted[e.node] = accepted[e.node] || !e.refused
	}
	tried, reached := grammar.Set{}, map[string]bool{} // reached: nodes, and whether a statement that is accepted has them
	for _, e := range examples {
		maps.Copy(tried, e.options)
		for o := range e.options {
			reached[o.Node()] = reached[o.Node()] || accepted[e.node]
		}
	}
	for _, o := range grammar.Walk() {
		if matters, seen := reached[o.Node()]; !tried[o] && (matters || !seen) {
			t.Errorf("%s: %s has no example", optionList, o)
		}
	}
}

// TestOptionsHaveEffect leaves out of every example what can be left out: something else must come, in one example at least, unless
// the option is on the list of those that ask for what is done anyway.
func TestOptionsHaveEffect(t *testing.T) {
	effect, none := grammar.Set{}, map[grammar.Option]string{}
	room := newRoom(t, shared.dsn(), readSQLList(t).Setup)
	for _, e := range examplesOfOptions(t) {
		if e.refused {
			continue
		}
		shorter, err := grammar.Leave(e.statements[e.at], 8)
		require.NoError(t, err)
		for _, s := range shorter {
			without := slices.DeleteFunc(s.Without, func(o grammar.Option) bool { return effect[o] })
			if len(without) == 0 {
				continue
			}
			example := slices.Clone(e.statements)
			example[e.at] = s.SQL
			sql := strings.Join(example, "; ")
			got := room.try(t, sql, e.row.Data)
			room.leave(t, sql, got)
			for _, o := range without {
				if effect[o] = !sameRows(e.row.Example, got.text, e.row.Answer); !effect[o] {
					none[o] = strings.Join(e.statements, "; ") + "\n\twithout " + s.LeftOut
				}
			}
		}
	}
	anyway := doneAnyway(t)
	for o, where := range none {
		if anyway[o] == "" && !effect[o] {
			t.Errorf("%s has no effect: %s", o, where)
		}
	}
	for o := range anyway {
		if strings.HasPrefix(string(o), "DuckDB ") { // TestDialectHasEffect's
			continue
		}
		if none[o] == "" || effect[o] {
			t.Errorf("testdata/doneanyway.txt has %s, which has an effect or cannot be left out of an example", o)
		}
	}
}

// doneAnyway are the options that ask for what is done anyway, with the reason.
func doneAnyway(t *testing.T) map[grammar.Option]string {
	t.Helper()
	text, err := os.ReadFile("testdata/doneanyway.txt")
	require.NoError(t, err)
	list := map[grammar.Option]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		option, reason, _ := strings.Cut(line, "\t")
		require.NotEmpty(t, reason, line)
		list[grammar.Option(option)] = reason
	}
	return list
}

// synopsisWords are the words in capitals that psql's help has in the synopsis of a command of PostgreSQL 15: testdata/postgres/extract.sh.
func synopsisWords(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/postgres/synopses.txt")
	require.NoError(t, err)
	words := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		command, list, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		words[command] = strings.Fields(list)
	}
	return words
}

// textOptions are the commands whose options the syntax tree has as texts, or not at all.
var textOptions = []string{
	"ABORT", "ANALYZE", "BEGIN", "CLOSE", "COMMIT", "COPY", "CREATE SEQUENCE", "DEALLOCATE", "DECLARE", "DISCARD", "END", "EXPLAIN", "FETCH", "MOVE",
	"RELEASE SAVEPOINT", "ROLLBACK", "ROLLBACK TO SAVEPOINT", "SAVEPOINT", "SET CONSTRAINTS", "SET TRANSACTION", "START TRANSACTION", "TRUNCATE", "VACUUM",
}

// TestSynopsesAreWhole: every word that PostgreSQL's help has for a command of textOptions is in an example of it.
func TestSynopsesAreWhole(t *testing.T) {
	said, commands := map[string]string{}, synopsisWords(t)
	for _, e := range examplesOfOptions(t) {
		one := strings.ToUpper(e.statements[e.at])
		for _, command := range textOptions {
			if begins(one, command) {
				said[command] += " " + one
			}
		}
	}
	for _, command := range textOptions {
		words := commands[command]
		require.NotEmpty(t, words, command)
		tokens := strings.FieldsFunc(said[command], func(r rune) bool { return !(r == '_' || r >= 'A' && r <= 'Z') })
		for _, word := range words {
			if !slices.Contains(tokens, word) {
				t.Errorf("%s: no example of %s has %s", optionList, command, word)
			}
		}
	}
}

// aliases begin the same command in other words.
var aliases = map[string]string{"RELEASE SAVEPOINT": "RELEASE", "ROLLBACK TO SAVEPOINT": "ROLLBACK", "SET TRANSACTION": "SET"}

// begins reports whether a statement is one of a command.
func begins(sql, command string) bool {
	sql = strings.NewReplacer("CREATE TEMP ", "CREATE ", "CREATE TEMPORARY ", "CREATE ", "CREATE UNLOGGED ", "CREATE ").Replace(sql)
	return strings.HasPrefix(sql+" ", command+" ") || aliases[command] != "" && strings.HasPrefix(sql, aliases[command]+" ")
}
