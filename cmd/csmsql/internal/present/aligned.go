package present

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/conversation"
)

// WidthRows is how many rows a table looks at to find its columns' widths.
const WidthRows = 10_000

// aligned draws results as psql does.
type aligned struct {
	out     *bufio.Writer
	columns []conversation.Column // nil: the statement returns no rows
	widths  []int
	waiting [][][]string // rows seen before the widths were settled; a cell is its lines
	drawing bool         // the widths are settled, the heading is out
	count   int64
}

// Begin implements conversation.Sink.
func (a *aligned) Begin(columns []conversation.Column) error {
	*a = aligned{out: a.out, columns: columns, widths: make([]int, len(columns))}
	for i, c := range columns {
		a.widths[i] = runewidth.StringWidth(clean(c.Name))
	}
	return nil
}

// Row implements conversation.Sink.
func (a *aligned) Row(values [][]byte) error {
	a.count++
	cells := make([][]string, len(values))
	for i, v := range values {
		cells[i] = strings.Split(clean(string(v)), "\n")
	}
	if a.drawing {
		return a.draw(cells)
	}
	for i, cell := range cells {
		for n, line := range cell {
			width := runewidth.StringWidth(line)
			if n < len(cell)-1 {
				width++ // the + that says that the value goes on
			}
			a.widths[i] = max(a.widths[i], width)
		}
	}
	a.waiting = append(a.waiting, cells)
	if len(a.waiting) < WidthRows {
		return nil
	}
	return a.settle()
}

// settle draws the heading and the rows that waited.
func (a *aligned) settle() error {
	a.drawing = true
	for i, c := range a.columns {
		if i > 0 {
			a.out.WriteByte('|')
		}
		name := clean(c.Name)
		room := a.widths[i] - runewidth.StringWidth(name)
		a.out.WriteString(" " + strings.Repeat(" ", room/2) + name + strings.Repeat(" ", room-room/2) + " ")
	}
	a.out.WriteByte('\n')
	for i, width := range a.widths {
		if i > 0 {
			a.out.WriteByte('+')
		}
		a.out.WriteString(strings.Repeat("-", width+2))
	}
	a.out.WriteByte('\n')
	for _, cells := range a.waiting {
		if err := a.draw(cells); err != nil {
			return err
		}
	}
	a.waiting = nil
	return nil
}

// draw writes a row, of as many lines as its longest value.
func (a *aligned) draw(cells [][]string) error {
	lines := 1
	for _, cell := range cells {
		lines = max(lines, len(cell))
	}
	var err error
	for n := range lines {
		for i, cell := range cells {
			last := i == len(cells)-1
			if i > 0 {
				a.out.WriteByte('|')
			}
			a.out.WriteString(a.pad(i, cell, n, last))
		}
		err = a.out.WriteByte('\n')
	}
	return err
}

// pad is one line of a cell in its column's width; the last column has nothing after its value.
func (a *aligned) pad(column int, cell []string, n int, last bool) string {
	text, more := "", n < len(cell)-1
	if n < len(cell) {
		text = cell[n]
	}
	room := max(a.widths[column]-runewidth.StringWidth(text), 0)
	switch {
	case isNumber(a.columns[column].OID):
		text = strings.Repeat(" ", room) + text
	case !last || more:
		text += strings.Repeat(" ", room)
	}
	switch {
	case more:
		return " " + text + "+"
	case last:
		return strings.TrimRight(" "+text, " ")
	}
	return " " + text + " "
}

// End implements conversation.Sink.
func (a *aligned) End(tag string) error {
	if a.columns == nil {
		_, err := fmt.Fprintln(a.out, tag)
		return err
	}
	if !a.drawing {
		if err := a.settle(); err != nil {
			return err
		}
	}
	rows := "rows"
	if a.count == 1 {
		rows = "row"
	}
	_, err := fmt.Fprintf(a.out, "(%d %s)\n\n", a.count, rows)
	*a = aligned{out: a.out}
	return err
}

// clean keeps a value from moving the cursor: control characters are shown, not sent.
func clean(text string) string {
	if strings.IndexFunc(text, moves) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\t':
			out.WriteString("        ")
		case moves(r):
			fmt.Fprintf(&out, `\x%02X`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// moves reports whether r is a control character (also from 0x80 to 0x9F), other than the line feed.
func moves(r rune) bool { return unicode.IsControl(r) && r != '\n' }
