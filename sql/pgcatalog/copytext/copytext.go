// Package copytext reads files of rows in the text format of PostgreSQL's COPY, with a header line.
//
//	columns.tsv ─► Read ─► Table: columns, rows of texts or NULL
//
// It knows no types, and has no locks.
package copytext

import (
	"fmt"
	"strings"
)

// Table is one file of rows.
type Table struct {
	Columns []string
	Rows    [][]*string // nil is NULL
}

var escapes = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\b`, "\b", `\f`, "\f", `\v`, "\v")

// Read reads a file. Errors: a line has more or fewer fields than the header.
func Read(text string) (*Table, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	t := &Table{Columns: strings.Split(lines[0], "\t")}
	for n, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		if len(fields) != len(t.Columns) {
			return nil, fmt.Errorf("line %d has %d fields, its header has %d", n+2, len(fields), len(t.Columns))
		}
		row := make([]*string, len(fields))
		for i, field := range fields {
			if field == `\N` {
				continue
			}
			if strings.IndexByte(field, '\\') >= 0 { // few have; the replacer takes half of the time
				fields[i] = escapes.Replace(field)
			}
			row[i] = &fields[i]
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// Column is where a named column stands, -1 if it is not there.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if c == name {
			return i
		}
	}
	return -1
}

// Text gives a value that cannot be NULL.
func (t *Table) Text(row []*string, name string) string { return *row[t.Column(name)] }
