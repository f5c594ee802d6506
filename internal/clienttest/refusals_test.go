package clienttest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/sqllist"
)

// TestRefusalsNameTheirOption: the error of each line that is refused has a word of what the line says is refused, and
// a SQLSTATE that says what kind of refusal it is: 42601 is left to texts that PostgreSQL's parser does not understand,
// or answers with that state itself.
func TestRefusalsNameTheirOption(t *testing.T) {
	known := walkedNames(t)
	for _, path := range sqlLists {
		document := readList(t, path)
		r := newRoom(t, shared.dsn(), document.Setup)
		r.files = newFiles(t, shared.files())
		for _, row := range document.Rows {
			if row.Verdict != sqllist.Refused {
				continue
			}
			example := row.Examples(matching(document, row, known))[0]
			got := r.try(t, example.SQL, row.Data)
			r.leave(t, example.SQL, got)
			if !names(row, example, got) {
				t.Errorf("%s:%d: %s, %s\n\tis refused without its name: %s (%s)", path, row.Line, row.What, example.SQL, got.text, got.hint)
			}
			if problem := unfitState(example.SQL, got.text); problem != "" {
				t.Errorf("%s:%d: %s\n\t%s: %s", path, row.Line, example.SQL, problem, got.text)
			}
		}
	}
}

var (
	letters = regexp.MustCompile(`[\pL_%][\pL\d_%]*|[^\pL\d_\s'",;()\[\].]+`)
	// verbs begin many statements: an error that says no more names nothing.
	verbs = []string{"alter", "begin", "copy", "create", "declare", "drop", "explain", "insert", "select", "set", "table", "temp", "temporary", "update", "delete", "if", "not", "is"}
)

// unnamed are refusals that cannot have the name, with the reason.
var unnamed = map[string]string{"`?-`": "DuckDB reads ? as a parameter"}

// names reports whether the error speaks of what is refused: a word of the code spans of the line's first cell, or,
// where it has none, of the example; the verbs that many statements begin with do not count. What is not there is named
// by its own name.
func names(row *sqllist.Row, example sqllist.Example, got tried) bool {
	state, message, _ := strings.Cut(got.text, ": ")
	for _, m := range quotedName.FindAllStringSubmatch(message, -1) {
		if name := m[1] + m[2]; state != "0A000" && strings.Contains(strings.ToLower(example.SQL), strings.ToLower(name)) {
			return true
		}
	}
	statements := split(example.SQL)
	words := strings.Fields(statements[len(statements)-1])
	subject := strings.Join(words[:min(2, len(words))], " ") // CREATE FOREIGN TABLE is refused before its options are
	switch spans := row.Names(); {
	case example.Name != "" && !strings.HasPrefix(row.Section, "Types"):
		subject += " " + example.Name
	case len(spans) > 0:
		subject += " " + strings.Join(spans, " ")
	default:
		subject = example.SQL
	}
	said := letters.FindAllString(strings.ToLower(message+" "+got.hint), -1)
	said = append(said, letters.FindAllString(strings.ReplaceAll(strings.ToLower(message), "_", " "), -1)...)
	telling := func(w string) bool {
		return !slices.Contains(verbs, w) && (slices.Contains(said, w) || strings.Contains(strings.Join(said, " "), strings.ReplaceAll(w, "_", " ")))
	}
	return unnamed[row.What] != "" || slices.ContainsFunc(letters.FindAllString(strings.ToLower(subject), -1), telling)
}

// quotedName is a name in an error.
var quotedName = regexp.MustCompile(`"([^"]+)"|\bfunction ([^ ]+)`)

// vague are SQLSTATEs that say nothing, or something else, of what is refused.
var vague = []string{"42P10", "XX000", "42000"}

// badInPostgres are errors of syntax that PostgreSQL finds behind its parser.
var badInPostgres = regexp.MustCompile(`requires a (Boolean )?value|^42601: conflicting or redundant|^42601: cannot specify|^42601: (multiple default values|both default and identity) |not recognized$|unrecognized .* option`)

func unfitState(sql, text string) string {
	state, _, _ := strings.Cut(text, ":")
	statements := split(sql)
	_, err := pg.Parse(statements[len(statements)-1])
	switch {
	case slices.Contains(vague, state) && !strings.HasSuffix(text, "is a generated column"): // COPY's of PostgreSQL
		return "a state that does not fit"
	case state == "42601" && err == nil && !badInPostgres.MatchString(text):
		return "is no error of syntax, PostgreSQL's parser understands it"
	}
	return ""
}
