package pgcopy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// FieldBytesMax bounds one field or line, so that a missing quote does not read the whole stream into memory.
const FieldBytesMax = 64 << 20

// DataError is input that is not what its format says, with the line (or, in binary, the row) on which it was found.
type DataError struct {
	Line    int // from 1
	Message string
	Missing int // the first column that the row has no field for, from 0; -1: that is not what is wrong
}

func (e *DataError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// SQLState returns 22P04, bad_copy_file_format.
func (e *DataError) SQLState() string { return "22P04" }

// Reader takes a COPY stream apart into rows of fields. Not for concurrent use.
type Reader struct {
	options Options
	columns int
	in      *bufio.Reader
	line    int // number of the line being read, from 1
	fields  [][]byte
	text    []byte // what fields point into; never nil, so that empty fields are not
	ends    []int  // end of each field in text; -1-end for NULL
	started bool
	done    bool
	take    func(bytes int64) error // nil: not counted
	taken   int64

	inBlock bool // the lines are those of block, from at on, and in is nil
	block   []byte
	at      int
}

// NewReader reads rows of a number of columns from stream.
func NewReader(stream io.Reader, columns int, options Options) (*Reader, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Reader{options: options, columns: columns, in: bufio.NewReaderSize(stream, 64<<10), text: make([]byte, 0, 1<<10)}, nil
}

// Account has take asked before the reader keeps more bytes of a row than before; an error of take's ends the reading.
func (r *Reader) Account(take func(bytes int64) error) { r.take = take }

// Taken is how many bytes take has granted. They are free when the reader is no longer used.
func (r *Reader) Taken() int64 { return r.taken }

// takeStep is what is asked for at once, and what a reader may have without asking.
const takeStep = 64 << 10

// room asks for the memory of a row of which so many bytes are kept. Slices double, so that it stands there twice.
func (r *Reader) room(bytes int) error {
	more := 2*int64(bytes) - takeStep - r.taken
	if more <= 0 || r.take == nil {
		return nil
	}
	more = max(more, takeStep)
	if err := r.take(more); err != nil {
		return err
	}
	r.taken += more
	return nil
}

// Line is the number of the line on which the last row began to be read, counted from 1; in binary, of the row.
func (r *Reader) Line() int { return r.line }

// Next returns the next row, nil for NULL fields, and io.EOF at the end. Fields are raw texts in text and CSV, and in
// binary what the types' receive functions read. They are valid until the next call.
func (r *Reader) Next() ([][]byte, error) {
	if r.done {
		return nil, io.EOF
	}
	if !r.started {
		r.started = true
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	r.line++
	r.text, r.ends = r.text[:0], r.ends[:0]
	var err error
	switch r.options.Format {
	case Binary:
		err = r.readTuple()
	case CSV:
		err = r.readCSV()
	default:
		err = r.readText()
	}
	if err != nil {
		r.done = true
		return nil, err
	}
	return r.row()
}

func (r *Reader) fail(format string, args ...any) error {
	return &DataError{Line: r.line, Message: fmt.Sprintf(format, args...), Missing: -1}
}

// start reads what comes before the rows.
func (r *Reader) start() error {
	if r.options.Format == Binary {
		return r.readSignature()
	}
	if !r.options.Header {
		return nil
	}
	r.line++
	err := r.readHeader()
	if errors.Is(err, io.EOF) {
		r.done = true
	}
	r.text, r.ends = r.text[:0], r.ends[:0]
	return err
}

func (r *Reader) readHeader() error {
	if r.options.Format == CSV {
		return r.readCSV()
	}
	return r.readText()
}

func (r *Reader) readSignature() error {
	signature := make([]byte, 11)
	header := make([]byte, 8)
	if _, err := io.ReadFull(r.in, signature); err != nil || string(signature) != binarySignature[:11] {
		return r.short(err, "COPY file signature not recognized")
	}
	if _, err := io.ReadFull(r.in, header); err != nil {
		return r.short(err, "invalid COPY file header (missing flags)")
	}
	if flags := binary.BigEndian.Uint32(header); flags>>16 != 0 {
		return r.fail("unrecognized critical flags in COPY file header")
	}
	extension := binary.BigEndian.Uint32(header[4:])
	if skipped, err := io.CopyN(io.Discard, r.in, int64(extension)); skipped != int64(extension) {
		return r.short(err, "invalid COPY file header (wrong length)")
	}
	return nil
}

// short distinguishes a stream that ended too early, which is an error of the data, from one that failed.
func (r *Reader) short(err error, message string) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.fail("%s", message)
	}
	return err
}

// rest reads to the end of the stream after the end mark of the data, as PostgreSQL does: the client may still fail the
// COPY, or be cancelled.
func (r *Reader) rest() error {
	if r.inBlock { // whose reader has cut it before such a line
		r.at = len(r.block)
		return io.EOF
	}
	if _, err := io.Copy(io.Discard, r.in); err != nil {
		return err
	}
	return io.EOF
}

// readTuple reads int16 columns and then int32 length or -1 and the bytes of each; -1 columns end the data.
func (r *Reader) readTuple() error {
	var word [4]byte
	if _, err := io.ReadFull(r.in, word[:2]); err != nil {
		return r.short(err, "unexpected end of data: the trailer is missing")
	}
	count := int(int16(binary.BigEndian.Uint16(word[:])))
	if count == -1 {
		return r.rest()
	}
	if count != r.columns {
		return r.fail("row field count is %d, expected %d", count, r.columns)
	}
	for range count {
		if _, err := io.ReadFull(r.in, word[:]); err != nil {
			return r.short(err, "unexpected EOF in COPY data")
		}
		size := int(int32(binary.BigEndian.Uint32(word[:])))
		if size == -1 {
			r.ends = append(r.ends, -1-len(r.text))
			continue
		}
		if size < 0 || size > FieldBytesMax {
			return r.fail("invalid field size %d", size)
		}
		if err := r.readField(size); err != nil {
			return err
		}
	}
	return nil
}

// readField reads piece by piece, so that memory is only allocated as the bytes of a length arrive.
func (r *Reader) readField(size int) error {
	for size > 0 {
		piece := min(size, 64<<10)
		start := len(r.text)
		if err := r.room(start + piece); err != nil {
			return err
		}
		r.text = slices.Grow(r.text, piece)[:start+piece]
		if _, err := io.ReadFull(r.in, r.text[start:]); err != nil {
			return r.short(err, "unexpected EOF in COPY data")
		}
		size -= piece
	}
	r.ends = append(r.ends, len(r.text))
	return nil
}

// row cuts text into fields.
func (r *Reader) row() ([][]byte, error) {
	switch {
	case len(r.ends) < r.columns:
		r.done = true
		return nil, &DataError{Line: r.line, Message: fmt.Sprintf("missing data: %d columns, expected %d", len(r.ends), r.columns), Missing: len(r.ends)}
	case len(r.ends) > r.columns:
		r.done = true
		return nil, r.fail("extra data after last expected column: %d columns, expected %d", len(r.ends), r.columns)
	}
	r.fields = r.fields[:0]
	start := 0
	for _, end := range r.ends {
		if end < 0 {
			r.fields = append(r.fields, nil)
			start = -1 - end
			continue
		}
		r.fields = append(r.fields, r.text[start:end:end])
		start = end
	}
	return r.fields, nil
}

// readLine returns a line and its end ("\n", "\r\n", or nothing at the end of the stream), valid until the next read.
func (r *Reader) readLine() (line, end []byte, err error) {
	if r.inBlock {
		return r.nextOfBlock()
	}
	line, err = r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.readLongLine(line)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, nil, err
	}
	short := bare(line)
	return short, line[len(short):], nil
}

// nextOfBlock is readLine of a block's reader.
func (r *Reader) nextOfBlock() (line, end []byte, err error) {
	if r.at == len(r.block) {
		return nil, nil, io.EOF
	}
	size := bytes.IndexByte(r.block[r.at:], '\n') + 1
	if size == 0 {
		size = len(r.block) - r.at
	}
	line = r.block[r.at : r.at+size]
	r.at += size
	short := bare(line)
	return short, line[len(short):], nil
}

func (r *Reader) readLongLine(begin []byte) ([]byte, error) {
	line := append([]byte(nil), begin...)
	for {
		more, err := r.in.ReadSlice('\n')
		line = append(line, more...)
		if err := r.room(len(line) + len(r.text)); err != nil {
			return nil, err
		}
		if len(line) > FieldBytesMax {
			return nil, r.fail("line is longer than %d bytes", FieldBytesMax)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// readText reads a line of the text format. A line of "\." ends the data, as psql and old clients send it.
func (r *Reader) readText() error {
	line, end, err := r.readLine()
	if err != nil {
		return err
	}
	if string(line) == `\.` {
		return r.rest()
	}
	if line, err = r.goOn(line, end); err != nil {
		return err
	}
	if len(line) == 0 && r.columns == 0 {
		return nil
	}
	for {
		start := len(r.text)
		raw, rest, more := r.cutText(line)
		if string(raw) == *r.options.Null { // compared before escapes are resolved
			r.text = r.text[:start]
			r.ends = append(r.ends, -1-start)
		} else {
			r.ends = append(r.ends, len(r.text))
		}
		if !more {
			return nil
		}
		line = rest
	}
}

// goOn adds to a line what follows if a backslash makes its end a part of a value, as PostgreSQL has it.
func (r *Reader) goOn(line, end []byte) ([]byte, error) {
	if !endsInBackslash(line) || len(end) == 0 {
		return line, nil
	}
	line = append(make([]byte, 0, 2*len(line)+2), line...)
	for endsInBackslash(line) && len(end) > 0 {
		if line = append(line, end[0]); len(end) > 1 { // the return is a value's, and the line ends behind it
			break
		}
		var more []byte
		var err error
		if more, end, err = r.readLine(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		line = append(line, more...)
		if err := r.room(len(line) + len(r.text)); err != nil {
			return nil, err
		}
		if len(line) > FieldBytesMax {
			return nil, r.fail("line is longer than %d bytes", FieldBytesMax)
		}
	}
	return line, nil
}

// endsInBackslash reports whether a line ends in a backslash that is none of another one's.
func endsInBackslash(line []byte) bool {
	return (len(line)-len(bytes.TrimRight(line, `\`)))%2 == 1
}

// cutText takes one field off a line and appends its value to text. raw is how it was written.
func (r *Reader) cutText(line []byte) (raw, rest []byte, more bool) {
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == r.options.Delimiter:
			return line[:i], line[i+1:], true
		case b == '\\' && i+1 < len(line):
			var used int
			r.text, used = appendUnescaped(r.text, line[i+1:])
			i += used
		default:
			r.text = append(r.text, b)
		}
	}
	return line, nil, false
}

// appendUnescaped resolves what follows a backslash and returns how many bytes that was.
func appendUnescaped(dst, after []byte) (out []byte, used int) {
	if at := bytes.IndexByte([]byte("bfnrtv"), after[0]); at >= 0 {
		return append(dst, "\b\f\n\r\t\v"[at]), 1
	}
	base, from, most := 8, 0, 3
	if after[0] == 'x' {
		base, from, most = 16, 1, 3
	}
	value := 0
	used = from
	for used < len(after) && used < most {
		digit := digitOf(after[used])
		if digit >= base {
			break
		}
		value = value*base + digit
		used++
	}
	if used == from { // "\x" without digits, or any other byte: itself
		return append(dst, after[0]), 1
	}
	return append(dst, byte(value)), used
}

func digitOf(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return 16
}

// readCSV reads one record, which may span lines inside of quotes.
func (r *Reader) readCSV() error {
	line, end, err := r.readLine()
	if err != nil {
		return err
	}
	if string(line) == `\.` {
		return r.rest()
	}
	first := r.line
	start, wasQuoted, quoted := 0, false, false
	for {
		quoted, start, wasQuoted = r.scanCSV(line, quoted, start, wasQuoted)
		if !quoted {
			r.endCSV(start, wasQuoted)
			return nil
		}
		// The line's end belongs to the value.
		r.text = append(r.text, end...)
		if err := r.room(len(r.text)); err != nil {
			return err
		}
		if len(r.text) > FieldBytesMax {
			r.line = first
			return r.fail("CSV value is longer than %d bytes: is a quote missing?", FieldBytesMax)
		}
		if line, end, err = r.readLine(); err != nil {
			r.line = first
			return r.short(err, "unterminated CSV quoted field")
		}
		r.line++
	}
}

// scanCSV goes through a line. quoted says whether it begins, and returns whether it ends, inside of quotes; start and
// wasQuoted belong to the field that is being read.
func (r *Reader) scanCSV(line []byte, quoted bool, start int, wasQuoted bool) (bool, int, bool) {
	o := &r.options
	for i := 0; i < len(line); i++ {
		b := line[i]
		switch {
		case quoted && b == o.Escape && i+1 < len(line) && (line[i+1] == o.Quote || line[i+1] == o.Escape):
			i++
			r.text = append(r.text, line[i])
		case quoted && b == o.Quote:
			quoted = false
		case quoted:
			r.text = append(r.text, b)
		case b == o.Quote:
			quoted, wasQuoted = true, true
		case b == o.Delimiter:
			r.endCSV(start, wasQuoted)
			start, wasQuoted = len(r.text), false
		default:
			r.text = append(r.text, b)
		}
	}
	return quoted, start, wasQuoted
}

// endCSV ends a field. What equals the null string is NULL unless it was quoted, with the two FORCE options as
// exceptions.
func (r *Reader) endCSV(start int, wasQuoted bool) {
	column := len(r.ends)
	isNull := string(r.text[start:]) == *r.options.Null
	if wasQuoted {
		isNull = isNull && slices.Contains(r.options.ForceNull, column)
	} else {
		isNull = isNull && !slices.Contains(r.options.ForceNotNull, column)
	}
	if isNull {
		r.text = r.text[:start]
		r.ends = append(r.ends, -1-start)
		return
	}
	r.ends = append(r.ends, len(r.text))
}
