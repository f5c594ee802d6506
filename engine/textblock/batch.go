package textblock

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Block is some rows of a stream. One goroutine takes them apart, once.
type Block interface {
	Size() int   // in bytes
	Values() int // that are in it, or more
	// Rows are where each field of each row begins in the text and ends there; -1: NULL. With an error, there are the
	// rows before the one that it is about. Text and fields are the caller's: the block does not keep them.
	Rows() (text []byte, fields []int32, err error)
	// Line is that of a row of Rows, counted from 0.
	Line(row int) int
}

// Columns are those that each row of text fills.
type Columns []column

type column struct {
	table   string      // which errors name
	text    arrow.Field // as it is text
	typed   arrow.Field
	form    literal.Form
	convert converter // nil: nothing is plain
}

// ColumnsOf are columns that have fields of a table.
func ColumnsOf(table string, fields []arrow.Field) Columns {
	columns := make(Columns, len(fields))
	for i, f := range fields {
		columns[i] = column{
			table: table, text: arrow.Field{Name: f.Name, Type: arrow.BinaryTypes.String, Nullable: true},
			typed: arrow.Field{Name: f.Name, Type: f.Type, Nullable: true},
			form:  literal.Of(f), convert: converterOf(f),
		}
	}
	return columns
}

// Batch is what became of a block.
type Batch struct {
	Rows   arrow.RecordBatch // each column of its type, or as text; of those before the error
	Failed error             // behind the rows
	block  Block
}

// Line is that of a row.
func (b *Batch) Line(row int64) int64 { return int64(b.block.Line(int(row))) }

// size is how many bytes the rows take.
func (b *Batch) size() (bytes int64) {
	for _, c := range b.Rows.Columns() {
		for _, buffer := range c.Data().Buffers() {
			if buffer != nil {
				bytes += int64(buffer.Cap())
			}
		}
	}
	return bytes
}

// make takes a block apart. The caller releases the rows.
func (columns Columns) make(block Block) *Batch {
	text, fields, err := block.Rows()
	if text == nil {
		text = []byte{} // no text is what NULL is
	}
	b := &Batch{Failed: err, block: block}
	rows := len(fields) / (2 * len(columns))
	at := func(i int) *cells { return &cells{text, fields[min(2*i, len(fields)):], 2 * len(columns), rows} }
	spelled := make([][][]byte, len(columns))
	arrays := make([]arrow.Array, len(columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i, c := range columns {
		if c.convert != nil {
			arrays[i] = c.convert(at(i))
		}
		if arrays[i] != nil || !c.form.Translates() {
			continue
		}
		cut := 0
		if spelled[i], cut, err = c.spell(at(i), block); err != nil { // of an earlier row than the error before
			rows, b.Failed = cut, err
		}
	}
	schema := make([]arrow.Field, len(columns))
	for i, c := range columns {
		schema[i] = c.typed
		if arrays[i] == nil {
			schema[i] = c.text
			if arrays[i] = textsOf(at(i), spelled[i]); arrays[i] == nil {
				b.Rows, b.Failed = array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 0), errTooLong
				return b
			}
		} else if arrays[i].Len() > rows {
			all := arrays[i]
			arrays[i] = array.NewSlice(all, 0, int64(rows))
			all.Release()
		}
	}
	b.Rows = array.NewRecordBatch(arrow.NewSchema(schema, nil), arrays, int64(rows))
	return b
}

var errTooLong = sqlerror.New("54000", "the texts of one block take more than 2 GiB")

// spell writes texts as DuckDB reads them, where it does not read them as they stand. With an error it says of which
// row it is.
func (c *column) spell(of *cells, block Block) (instead [][]byte, bad int, err error) {
	for row := range of.rows {
		text := of.at(row)
		if text == nil {
			continue
		}
		as, err := c.form.Translate(string(text))
		if err != nil {
			var problem *sqlerror.Error
			if errors.As(err, &problem) {
				problem.ContextText = fmt.Sprintf("COPY %s, line %d, column %s: \"%s\"",
					c.table, block.Line(row), c.text.Name, dialect.Shortened(string(text)))
				err = problem
			}
			return instead, row, err
		}
		if as != string(text) {
			if instead == nil {
				instead = make([][]byte, of.rows)
			}
			instead[row] = []byte(as)
		}
	}
	return instead, 0, nil
}
