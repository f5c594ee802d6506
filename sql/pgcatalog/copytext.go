package pgcatalog

import (
	"fmt"
	"strings"
)

// table is one file of rows in COPY's text format with a header line.
type table struct {
	columns []string
	rows    [][]*string // nil is NULL
}

var copyEscapes = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\b`, "\b", `\f`, "\f", `\v`, "\v")

// readCopy reads COPY's text format.
func readCopy(text string) (*table, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	t := &table{columns: strings.Split(lines[0], "\t")}
	for n, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		if len(fields) != len(t.columns) {
			return nil, fmt.Errorf("line %d has %d fields, its header has %d", n+2, len(fields), len(t.columns))
		}
		row := make([]*string, len(fields))
		for i, field := range fields {
			if field == `\N` {
				continue
			}
			if strings.IndexByte(field, '\\') >= 0 { // few have; the replacer takes half of the time
				fields[i] = copyEscapes.Replace(field)
			}
			row[i] = &fields[i]
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

// column is where a named column stands, -1 if it is not there.
func (t *table) column(name string) int {
	for i, c := range t.columns {
		if c == name {
			return i
		}
	}
	return -1
}

// text gives a value that cannot be NULL.
func (t *table) text(row []*string, name string) string { return *row[t.column(name)] }
