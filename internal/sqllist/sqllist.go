package sqllist

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Verdict says what becomes of an example.
type Verdict string

// The verdicts.
const (
	Kept    Verdict = "kept"    // as in DuckDB and, if PostgreSQL knows it, as there
	Differs Verdict = "differs" // it works, and gives something else than DuckDB or PostgreSQL
	Refused Verdict = "refused" // it is an error
)

// Row is one line of a table.
type Row struct {
	Section string // the heading above it
	Line    int    // from 1
	What    string // Markdown
	Example string // SQL
	Data    string // what is sent to COPY FROM STDIN
	Verdict Verdict
	Answer  string
	// PostgreSQL and DuckDB are their answers, where these differ.
	PostgreSQL, DuckDB string
	Prose              string // Markdown, behind the answers
}

// Document is the file: Setup runs before every example.
type Document struct {
	Setup string
	Rows  []*Row
	lines []string
}

const header = "| what | example | verdict | what comes |"

var setupBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// Parse reads a document.
func Parse(text string) (*Document, error) {
	d := &Document{lines: strings.Split(text, "\n")}
	if m := setupBlock.FindStringSubmatch(text); m != nil {
		d.Setup = m[1]
	}
	section, inTable := "", false
	for i, line := range d.lines {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = heading
		}
		switch {
		case line == header:
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable && !strings.HasPrefix(line, "|---"):
			row, err := parseRow(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			row.Section, row.Line = section, i+1
			d.Rows = append(d.Rows, row)
		}
	}
	return d, nil
}

// String is the document with its rows as they are now.
func (d *Document) String() string {
	lines := slices.Clone(d.lines)
	for _, row := range d.Rows {
		lines[row.Line-1] = row.String()
	}
	return strings.Join(lines, "\n")
}

var span = regexp.MustCompile("`[^`]*`")

func parseRow(line string) (*Row, error) {
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	if len(cells) != 6 {
		return nil, fmt.Errorf("a row has 4 cells, this one %d; a bar within a cell is written \\|", len(cells)-2)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
	}
	r := &Row{What: cells[1], Verdict: Verdict(cells[3])}
	example := span.FindAllString(cells[2], -1)
	if len(example) == 0 || len(example) > 2 {
		return nil, fmt.Errorf("the second cell is an example in backticks, and at most one more, what is sent to COPY: %s", cells[2])
	}
	r.Example = strings.Trim(example[0], "`")
	if len(example) == 2 {
		r.Data = strings.Trim(example[1], "`")
	}
	switch r.Verdict {
	case Kept, Differs, Refused, "":
	default:
		return nil, fmt.Errorf("the third cell is kept, differs or refused, not %q", cells[3])
	}
	rest := cells[4]
	r.Answer, rest = cutSpan(rest)
	if after, ok := strings.CutPrefix(rest, "; PostgreSQL: "); ok {
		r.PostgreSQL, rest = cutSpan(after)
	}
	if after, ok := strings.CutPrefix(rest, "; DuckDB: "); ok {
		r.DuckDB, rest = cutSpan(after)
	}
	r.Prose = strings.TrimSpace(rest)
	return r, nil
}

func cutSpan(s string) (inside, rest string) {
	if at := span.FindStringIndex(s); at != nil && at[0] == 0 {
		return strings.Trim(s[:at[1]], "`"), s[at[1]:]
	}
	return "", s
}

// String is the row as a line of a table.
func (r *Row) String() string {
	example := "`" + r.Example + "`"
	if r.Data != "" {
		example += " `" + r.Data + "`"
	}
	comes := "`" + r.Answer + "`"
	if r.PostgreSQL != "" {
		comes += "; PostgreSQL: `" + r.PostgreSQL + "`"
	}
	if r.DuckDB != "" {
		comes += "; DuckDB: `" + r.DuckDB + "`"
	}
	if r.Prose != "" {
		separator := " "
		if strings.HasPrefix(r.Prose, ";") || strings.HasPrefix(r.Prose, ",") {
			separator = ""
		}
		comes += separator + r.Prose
	}
	bars := strings.NewReplacer("|", `\|`)
	return fmt.Sprintf("| %s | %s | %s | %s |", bars.Replace(r.What), bars.Replace(example), r.Verdict, bars.Replace(comes))
}

// Names are the code spans of the first cell.
func (r *Row) Names() (names []string) {
	for _, s := range span.FindAllString(r.What, -1) {
		names = append(names, strings.Trim(s, "`"))
	}
	return names
}

// Covers reports whether one of the row's names is name, or a pattern that it matches: exactly says which.
func (r *Row) Covers(name string) (covers, exactly bool) {
	for _, n := range r.Names() {
		if strings.EqualFold(n, name) {
			return true, true
		}
		if ok, err := path.Match(n, name); ok && err == nil && len(n) > 2 && strings.ContainsAny(n, "*") {
			covers = true
		}
	}
	return covers, false
}

// Examples are the row's examples: one, or one for each name where the text has {name}. Known are names that its
// patterns may mean.
func (r *Row) Examples(known []string) (examples []Example) {
	if !strings.Contains(r.Example, "{name}") {
		return []Example{{SQL: r.Example, Answer: r.Answer}}
	}
	names := slices.DeleteFunc(r.Names(), func(n string) bool { return strings.Contains(n, "*") && len(n) > 3 })
	names = append(names, known...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		fill := strings.NewReplacer("{name}", name)
		examples = append(examples, Example{Name: name, SQL: fill.Replace(r.Example), Answer: fill.Replace(r.Answer)})
	}
	return examples
}

// Example is SQL and what comes of it.
type Example struct{ Name, SQL, Answer string }
