package pgcopy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// Block is some rows of a stream of text or CSV, cut out of it before they were looked at. One goroutine takes them
// apart, which need not be the reader's. Blocks of one reader know nothing of each other.
type Block struct {
	reader Reader // of the block's bytes alone
	text   []byte // the rows; what Rows takes apart it changes in place
	values int
	before int     // the line before the first row's
	marks  []mark  // where rows and lines begin to go apart otherwise than before
	fields []int32 // of rows that were read already
}

// mark says on which line a row ends, both from where the block begins.
type mark struct{ row, line int }

// Cuts reports whether the reader gives blocks. A binary stream says only while it is read where its rows end, and an
// end of line that is a quote, too, ends a row or does not.
func (r *Reader) Cuts() bool {
	o := &r.options
	return r.columns > 0 && o.Format != Binary && !bytes.ContainsAny([]byte{o.Quote, o.Escape}, "\r\n")
}

// Columns is how many fields each row has.
func (r *Reader) Columns() int { return r.columns }

// Block cuts some rows off the stream, of most bytes at most unless it is one row alone, and gives io.EOF at its end.
// Calls of Next and of Block may alternate. What a row is that no block may hold, Next finds: one that is longer than
// the buffer, that its stream breaks off, or that ends the data.
func (r *Reader) Block(most int) (*Block, error) {
	if r.done {
		return nil, io.EOF
	}
	if !r.started {
		r.started = true
		if err := r.start(); err != nil {
			return nil, err
		}
	} else if r.in.Size() < most && r.room(most) == nil { // a stream of few rows is content with the small one
		r.in = bufio.NewReaderSize(r.in, most)
	}
	buffered, err := r.in.Peek(min(r.in.Size(), max(most, 1)))
	cut, lines := r.cut(buffered, errors.Is(err, io.EOF))
	if cut == 0 {
		return r.single()
	}
	b := r.blockOf(bytes.Clone(buffered[:cut]))
	r.line += lines
	_, err = r.in.Discard(cut)
	return b, err
}

// blockOf is a block of text that begins behind the reader's line.
func (r *Reader) blockOf(text []byte) *Block {
	return &Block{
		text: text, before: r.line,
		values: bytes.Count(text, []byte{r.options.Delimiter}) + bytes.Count(text, []byte{'\n'}) + 1,
		reader: Reader{
			options: r.options, columns: r.columns, line: r.line, text: []byte{}, started: true, inBlock: true,
		},
	}
}

// single is a block of the next row, which is read as Next does.
func (r *Reader) single() (*Block, error) {
	before := r.line
	if _, err := r.Next(); err != nil {
		return nil, err
	}
	b := &Block{text: r.text, before: before, values: len(r.ends), fields: make([]int32, 0, 2*len(r.ends))}
	start := 0
	for _, end := range r.ends {
		if end < 0 {
			b.fields = append(b.fields, -1, -1)
			start = -1 - end
			continue
		}
		b.fields = append(b.fields, int32(start), int32(end))
		start = end
	}
	b.mark(0, r.line)
	r.text = make([]byte, 0, 1<<10)
	return b, nil
}

// cut says how many bytes of the buffer, and how many lines, are rows as a whole. Of ended streams the last line needs
// no end. The line that ends the data is none of them.
func (r *Reader) cut(buffered []byte, ended bool) (cut, lines int) {
	open, seen := false, 0
	for at := 0; at < len(buffered); {
		size := bytes.IndexByte(buffered[at:], '\n') + 1
		if size == 0 {
			if !ended {
				break
			}
			size = len(buffered) - at
		}
		line := buffered[at : at+size]
		if !open && isEndMark(line) {
			break
		}
		if r.options.Format == CSV {
			open = r.quotedAfter(line, open)
		} else {
			open = bytes.HasSuffix(line, []byte("\\\n")) && endsInBackslash(line[:size-1])
		}
		at += size
		if r.options.Format == CSV || !open { // of text, a row is a line, whatever is in it
			seen++
		}
		if !open {
			cut, lines = at, seen
		}
	}
	return cut, lines
}

// isEndMark reports whether a line, with its end, is the one behind which there is no data.
func isEndMark(line []byte) bool {
	return len(line) <= len("\\.\r\n") && string(bare(line)) == `\.`
}

// bare is a line without its end.
func bare(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// quotedAfter reports whether a line that begins inside of quotes, or outside, ends inside. It is what scanCSV finds:
// where the quote escapes itself, each one changes sides.
func (r *Reader) quotedAfter(line []byte, quoted bool) bool {
	o := &r.options
	if o.Escape == o.Quote {
		return quoted != (bytes.Count(line, []byte{o.Quote})%2 == 1)
	}
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case quoted && b == o.Escape && i+1 < len(line) && (line[i+1] == o.Quote || line[i+1] == o.Escape):
			i++
		case b == o.Quote:
			quoted = !quoted
		}
	}
	return quoted
}

// Size is how many bytes the rows are that were not taken apart.
func (b *Block) Size() int { return len(b.text) }

// Values is how many there are, or more.
func (b *Block) Values() int { return b.values }

// Rows takes the rows apart, once: where each field of each row begins in the text and ends there; -1: it is NULL. With
// an error there are the rows before the one that it is about.
func (b *Block) Rows() (text []byte, fields []int32, err error) {
	if b.fields != nil {
		text, fields, b.text, b.fields = b.text, b.fields, nil, nil
		return text, fields, nil
	}
	r := &b.reader
	text, r.block = b.text, b.text
	defer func() { b.text, r.block = nil, nil }() // what stays of the block are its lines
	fields = make([]int32, 0, 2*b.values)
	for row := 0; r.at < len(b.text); row++ {
		start := r.at
		end := start + bytes.IndexByte(b.text[start:], '\n') + 1
		if end == start {
			end = len(b.text)
		}
		got := r.plain(start, start+len(bare(b.text[start:end])), fields)
		if len(got) == len(fields)+2*r.columns {
			fields, r.at = got, end
			r.line++
		} else if fields, err = b.readRow(start, fields); err != nil {
			break
		}
		b.mark(row, r.line)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, fields, err
}

// readRow takes the row at start apart as a reader of a stream does. Its values, which are no longer than what they
// were written as, go in its place.
func (b *Block) readRow(start int, fields []int32) ([]int32, error) {
	r := &b.reader
	r.at = start
	row, err := r.Next()
	if err != nil {
		return fields, err
	}
	for _, value := range row {
		if value == nil {
			fields = append(fields, -1, -1)
			continue
		}
		end := start + copy(b.text[start:], value)
		fields = append(fields, int32(start), int32(end))
		start = end
	}
	return fields, nil
}

// Line is the line of a row of Rows, counted from 0, as the reader's Line after the row is.
func (b *Block) Line(row int) int {
	line := b.before + row + 1
	for _, m := range b.marks {
		if m.row > row {
			break
		}
		line = m.line + row - m.row
	}
	return line
}

func (b *Block) mark(row, line int) {
	expected := b.before + row + 1
	if n := len(b.marks); n > 0 {
		expected = b.marks[n-1].line + row - b.marks[n-1].row
	}
	if line != expected {
		b.marks = append(b.marks, mark{row, line})
	}
}

// plain takes a row that is the bare line [at, end) of the block apart if its values stand there as they are: without
// escapes, and with quotes only around a value. Otherwise it gives no row's number of fields.
func (r *Reader) plain(at, end int, fields []int32) []int32 {
	if r.options.Format == CSV {
		return r.plainCSV(at, end, fields)
	}
	return r.plainText(at, end, fields)
}

func (r *Reader) plainText(at, end int, fields []int32) []int32 {
	line, delimiter, null := r.block[:end], r.options.Delimiter, *r.options.Null
	for {
		start := at
		for at < end && line[at] != delimiter && line[at] != '\\' {
			at++
		}
		if at < end && line[at] == '\\' { // the usual NULL, or an escape
			if null != `\N` || at != start || end-at < 2 || line[at+1] != 'N' || end-at > 2 && line[at+2] != delimiter {
				return nil
			}
			at += 2
		}
		fields = appendField(fields, start, at, string(line[start:at]) == null)
		if at >= end {
			return fields
		}
		at++
	}
}

func (r *Reader) plainCSV(at, end int, fields []int32) []int32 {
	o := &r.options
	line, delimiter, quote, null := r.block[:end], o.Delimiter, o.Quote, *o.Null
	first := len(fields)
	for {
		if at < end && line[at] == quote {
			at++
			size := bytes.IndexByte(line[at:], quote)
			if size < 0 || at+size+1 < end && line[at+size+1] != delimiter ||
				o.Escape != quote && bytes.IndexByte(line[at:at+size], o.Escape) >= 0 {
				return nil
			}
			isNull := string(line[at:at+size]) == null && slices.Contains(o.ForceNull, (len(fields)-first)/2)
			fields = appendField(fields, at, at+size, isNull)
			at += size + 1
		} else {
			start := at
			for at < end && line[at] != delimiter && line[at] != quote {
				at++
			}
			if at < end && line[at] == quote {
				return nil
			}
			isNull := string(line[start:at]) == null && !slices.Contains(o.ForceNotNull, (len(fields)-first)/2)
			fields = appendField(fields, start, at, isNull)
		}
		if at >= end {
			return fields
		}
		at++
	}
}

func appendField(fields []int32, start, end int, isNull bool) []int32 {
	if isNull {
		return append(fields, -1, -1)
	}
	return append(fields, int32(start), int32(end))
}
