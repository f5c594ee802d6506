package clienttest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/grammar"
	"github.com/csmsql/csmsql/internal/sqllist"
)

// ask gives the first column of a query's rows.
func (d *ownDuckDB) ask(t *testing.T, sql string) []string {
	t.Helper()
	var err error
	d.conn, err = d.db.Connect(nil)
	require.NoError(t, err)
	defer d.conn.Close()
	lines, err := d.query(sql)
	require.NoError(t, err, sql)
	return lines
}

// section reports whether a document has a row with a name under a heading that has another one.
func section(document *sqllist.Document, heading, name string) bool {
	return slices.ContainsFunc(document.Rows, func(row *sqllist.Row) bool {
		return strings.Contains(row.Section, heading) && slices.ContainsFunc(row.Names(), func(n string) bool { return strings.EqualFold(n, name) })
	})
}

// namedParameters are all of DuckDB's table functions, with the function before each.
const namedParameters = `SELECT DISTINCT function_name || ' ' || p FROM (
	SELECT function_name, unnest(parameters) AS p FROM duckdb_functions() WHERE function_type = 'table')
	WHERE NOT regexp_full_match(p, 'col[0-9]+') ORDER BY 1`

// TestDialectIsWhole: every named parameter of DuckDB's table functions, every option of its COPY and every word that begins a statement
// has a line in docs/sqlduckdb.md.
func TestDialectIsWhole(t *testing.T) {
	document, native := readList(t, duckList), openDuckDB(t)
	parameters := native.ask(t, namedParameters)
	require.Greater(t, len(parameters), 200)
	for _, line := range parameters {
		function, parameter, _ := strings.Cut(line, " ")
		switch {
		case section(document, "`"+function+"`", parameter), section(document, "Parameters of other functions", parameter) && section(document, "Parameters of other functions", function):
		case function == "sniff_csv" && section(document, "`read_csv`", parameter):
		default:
			t.Errorf("%s has no line for %s of %s", duckList, parameter, function)
		}
	}
	for _, c := range copies {
		options := native.optionsOf(t, c)
		require.Greater(t, len(options), 3, c)
		for _, option := range options {
			if !section(document, c.heading(), option) {
				t.Errorf("%s has no line for %s under %q", duckList, option, c.heading())
			}
		}
	}
	begun := native.beginnings(t)
	require.Contains(t, begun, "PIVOT")
	var examples strings.Builder
	for _, path := range sqlLists {
		for _, row := range readList(t, path).Rows {
			examples.WriteString("; " + strings.ToUpper(row.Example))
		}
	}
	for _, word := range begun {
		if !strings.Contains(examples.String(), "; "+word) {
			t.Errorf("no example begins with %s", word)
		}
	}
}

// copying is a direction and a format of COPY.
type copying struct{ to, format string }

var copies = []copying{{"to", "csv"}, {"to", "parquet"}, {"to", "json"}, {"from", "csv"}, {"from", "parquet"}, {"from", "json"}}

func (c copying) heading() string {
	return fmt.Sprintf("COPY %s a %s file", c.to, map[string]string{"csv": "CSV", "parquet": "Parquet", "json": "JSON"}[c.format])
}

var (
	candidates = regexp.MustCompile(`"(\w+)"`)
	notKnown   = regexp.MustCompile(`(?i)unrecognized option|unknown option|unsupported option|is not supported for (?:writing|reading)`)
)

// optionsOf are the options that DuckDB takes: all words that it has for anything are tried, and those that it proposes instead.
func (d *ownDuckDB) optionsOf(t *testing.T, c copying) (options []string) {
	t.Helper()
	words := d.ask(t, `SELECT DISTINCT lower(p) FROM (SELECT unnest(parameters) AS p FROM duckdb_functions() WHERE function_type = 'table'
		UNION SELECT keyword_name FROM duckdb_keywords() UNION SELECT name FROM duckdb_settings()) WHERE regexp_full_match(p, '[a-z_]+') ORDER BY 1`)
	var err error
	d.conn, err = d.db.Connect(nil)
	require.NoError(t, err)
	defer d.conn.Close()
	require.NoError(t, d.conn.Exec("CREATE OR REPLACE TEMP TABLE n (a INTEGER)"))
	tried := map[string]bool{"format": true}
	for len(words) > 0 {
		word := words[0]
		if words = words[1:]; tried[word] {
			continue
		}
		tried[word] = true
		sql := fmt.Sprintf("COPY n TO '%s/none.%s' (FORMAT %s, %q)", d.files.directory, c.format, c.format, word)
		if c.to == "from" {
			sql = fmt.Sprintf("COPY n FROM '%s/part1.%s' (FORMAT %s, %q)", d.files.directory, c.format, c.format, word)
		}
		prepared, err := d.conn.Prepare(sql)
		if err == nil {
			prepared.Close()
		}
		said := ""
		if err != nil {
			var hinted interface{ Hint() string }
			if said = err.Error(); errors.As(err, &hinted) {
				for _, m := range candidates.FindAllStringSubmatch(hinted.Hint(), -1) {
					words = append(words, strings.ToLower(m[1]))
				}
			}
		}
		if !notKnown.MatchString(said) {
			options = append(options, word)
		}
	}
	return options
}

// beginnings are the keywords with which DuckDB begins statements, as its error for each of them says: that of another word is at the word
// itself.
func (d *ownDuckDB) beginnings(t *testing.T) (words []string) {
	t.Helper()
	keywords := d.ask(t, "SELECT DISTINCT upper(keyword_name) FROM duckdb_keywords() ORDER BY 1")
	var err error
	d.conn, err = d.db.Connect(nil)
	require.NoError(t, err)
	defer d.conn.Close()
	for _, word := range keywords {
		prepared, err := d.conn.Prepare(word + " 1 1 1")
		if err == nil {
			prepared.Close()
		} else if strings.HasPrefix(err.Error(), fmt.Sprintf("syntax error at or near %q", word)) {
			continue
		}
		words = append(words, word)
	}
	return words
}

// TestDialectHasEffect leaves each named parameter and each option of COPY that is kept out of its example: something else must come.
func TestDialectHasEffect(t *testing.T) {
	document, anyway := readList(t, duckList), doneAnyway(t)
	r := newRoom(t, shared.dsn(), document.Setup)
	r.files = newFiles(t, shared.files())
	left := 0
	for _, row := range document.Rows {
		names := row.Names()
		if row.Verdict == sqllist.Refused || !strings.HasPrefix(row.Section, "Parameters") && !strings.HasPrefix(row.Section, "COPY") || len(names) == 0 {
			continue
		}
		shorter := withoutOption(row.Example, names[0])
		if shorter == row.Example {
			t.Errorf("%s:%d: %s is not in %s", duckList, row.Line, names[0], row.Example)
			continue
		}
		got := r.try(t, shorter, row.Data)
		r.leave(t, shorter, got)
		left++
		same, reason := sameRows(shorter, got.text, row.Answer), anyway[grammar.Option("DuckDB "+row.Section+": "+names[0])]
		if same && reason == "" {
			t.Errorf("%s:%d: %s of %s has no effect: %s", duckList, row.Line, names[0], row.Section, shorter)
		}
		if !same && reason != "" {
			t.Errorf("testdata/doneanyway.txt has %s of %s, which has an effect", names[0], row.Section)
		}
	}
	require.Greater(t, left, 80)
}

// withoutOption is an example without an option and its value.
func withoutOption(example, name string) string {
	at := regexp.MustCompile(`(?i)[,(] *` + regexp.QuoteMeta(name) + `\b`).FindStringIndex(example)
	if at == nil {
		return example
	}
	depth, end, quoted := 0, at[1], false
	for ; end < len(example); end++ {
		c := example[end]
		if c == '\'' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if depth == 0 && (c == ',' || c == ')') {
			break
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	if example[at[0]] == '(' {
		return example[:at[0]+1] + strings.TrimPrefix(example[end:], ",")
	}
	return example[:at[0]] + example[end:]
}
