package pgcopy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// Encoder writes record batches in one of COPY's formats. Not for concurrent use.
//
// The order of calls is AppendHeader, then Bind and AppendRow for every batch, then AppendTrailer.
type Encoder struct {
	options Options // defaults filled in
	names   []string
	columns *pgformat.Columns
	force   []bool // columns whose CSV values are always quoted
	special [256]bool
	plainOK bool // texts of digits and letters cannot collide with the delimiter or the null string
	scratch []byte
}

// NewEncoder makes an encoder of batches with a schema's columns; zone prints timestamptz values.
func NewEncoder(schema *arrow.Schema, options Options, zone *time.Location) (*Encoder, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Encoder{options: options, force: make([]bool, schema.NumFields())}
	types, formats := make([]pgformat.Type, schema.NumFields()), make([]pgformat.Format, schema.NumFields())
	for i, field := range schema.Fields() {
		types[i] = pgformat.TypeOf(field)
		e.names = append(e.names, field.Name)
		e.force[i] = options.ForceQuoteAll || slices.Contains(options.ForceQuote, i)
		if options.Format == Binary {
			formats[i] = pgformat.BinaryFormat
		}
	}
	e.columns, err = pgformat.NewColumns(types, formats, zone)
	e.chooseSpecial()
	return e, err
}

// chooseSpecial marks the bytes that make a value need an escape or quotes.
func (e *Encoder) chooseSpecial() {
	marks := []byte{'\n', '\r', e.options.Delimiter}
	if e.options.Format == CSV {
		marks = append(marks, e.options.Quote)
	} else {
		marks = append(marks, '\\', '\b', '\f', '\t', '\v')
	}
	for _, mark := range marks {
		e.special[mark] = true
	}
	e.plainOK = bytes.IndexByte([]byte("\t,|;~^"), e.options.Delimiter) >= 0 &&
		(*e.options.Null == "" || *e.options.Null == `\N`)
}

// binarySignature starts every binary COPY; flags and header extension length follow, both zero.
const binarySignature = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// AppendHeader appends what comes before the first row, often nothing.
func (e *Encoder) AppendHeader(dst []byte) []byte {
	if e.options.Format == Binary {
		return append(dst, binarySignature...)
	}
	if !e.options.Header {
		return dst
	}
	for i, name := range e.names {
		if i > 0 {
			dst = append(dst, e.options.Delimiter)
		}
		start := len(dst)
		dst = e.finish(append(dst, name...), start, false)
	}
	return append(dst, '\n')
}

// AppendTrailer appends what comes after the last row, often nothing.
func (e *Encoder) AppendTrailer(dst []byte) []byte {
	if e.options.Format == Binary {
		return append(dst, 0xff, 0xff)
	}
	return dst
}

// Bind points the encoder at a batch, which must stay valid until the next Bind.
func (e *Encoder) Bind(batch arrow.RecordBatch) error { return e.columns.Bind(batch) }

// AppendRow appends one row of the bound batch. On an error dst is returned as it was.
func (e *Encoder) AppendRow(dst []byte, row int) ([]byte, error) {
	start := len(dst)
	if e.options.Format == Binary {
		dst = e.appendTuple(dst, row)
	} else {
		dst = e.appendLine(dst, row)
	}
	if err := e.columns.Failure(); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// appendTuple appends int16 columns and then int32 length or -1 and the bytes of each.
func (e *Encoder) appendTuple(dst []byte, row int) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(e.columns.Len()))
	for i := range e.columns.Len() {
		if e.columns.Null(i, row) {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		mark := len(dst)
		dst = e.columns.AppendValue(append(dst, 0, 0, 0, 0), i, row)
		binary.BigEndian.PutUint32(dst[mark:], uint32(len(dst)-mark-4))
	}
	return dst
}

func (e *Encoder) appendLine(dst []byte, row int) []byte {
	line := len(dst)
	for i := range e.columns.Len() {
		if i > 0 {
			dst = append(dst, e.options.Delimiter)
		}
		if e.columns.Null(i, row) {
			dst = append(dst, *e.options.Null...)
			continue
		}
		start := len(dst)
		dst = e.columns.AppendValue(dst, i, row)
		if e.force[i] || !e.plainOK || !e.columns.Plain(i) {
			dst = e.finish(dst, start, e.force[i])
		}
	}
	// A line of a single column that reads "\." would end the data for clients older than 18: PostgreSQL quotes it.
	if e.options.Format == CSV && e.columns.Len() == 1 && string(dst[line:]) == `\.` {
		dst = e.quote(dst, line)
	}
	return append(dst, '\n')
}

// finish escapes or quotes the value at dst[start:] as its format wants it.
func (e *Encoder) finish(dst []byte, start int, force bool) []byte {
	value := dst[start:]
	special := false
	for _, b := range value {
		if e.special[b] {
			special = true
			break
		}
	}
	if e.options.Format == CSV {
		if force || special || string(value) == *e.options.Null {
			return e.quote(dst, start)
		}
		return dst
	}
	if !special {
		return dst
	}
	e.scratch = append(e.scratch[:0], value...)
	return e.appendEscaped(dst[:start], e.scratch)
}

func (e *Encoder) appendEscaped(dst, value []byte) []byte {
	for _, b := range value {
		if !e.special[b] {
			dst = append(dst, b)
			continue
		}
		if at := bytes.IndexByte([]byte("\b\f\n\r\t\v"), b); at >= 0 {
			b = "bfnrtv"[at]
		}
		dst = append(dst, '\\', b)
	}
	return dst
}

// quote puts the value at dst[start:] in quotes, doubling or escaping those inside.
func (e *Encoder) quote(dst []byte, start int) []byte {
	e.scratch = append(e.scratch[:0], dst[start:]...)
	dst = append(dst[:start], e.options.Quote)
	for _, b := range e.scratch {
		if b == e.options.Quote || b == e.options.Escape {
			dst = append(dst, e.options.Escape)
		}
		dst = append(dst, b)
	}
	return append(dst, e.options.Quote)
}
