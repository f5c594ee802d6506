package hugetable

import (
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/statistics"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// display shows chunks with the columns of a table that was altered (H9). Nil: the table never was, and chunks are what
// they are. Safe for concurrent use.
type display struct {
	columns *arrow.Schema
	numbers numbers
	values  []func() (missing, error) // by column, decoded on first use

	mu      sync.Mutex // guards layouts; a leaf
	layouts map[*arrow.Schema]*layout
}

// layout is how the columns of a chunk become the table's.
type layout struct {
	schema *arrow.Schema
	from   []int // by column of the table, the chunk's; -1: it does not store it
	same   bool  // the chunk has the table's columns
}

// missing is a column that a chunk does not store.
type missing struct {
	value arrow.Array // of one row
	statistics.Summary
}

// layoutsMost bounds how many layouts are kept: the chunks of a table share few schemas.
const layoutsMost = 256

func displayOf(columns *arrow.Schema) (*display, error) {
	if !Numbered(columns) {
		return nil, nil
	}
	n, err := numbersOf(columns)
	if err != nil {
		return nil, err
	}
	d := &display{columns: columns, numbers: n, layouts: map[*arrow.Schema]*layout{}}
	for _, f := range columns.Fields() {
		d.values = append(d.values, sync.OnceValues(func() (missing, error) { return missingOf(f) }))
	}
	return d, nil
}

// missingOf is what rows have in a column that their chunk does not store.
func missingOf(f arrow.Field) (missing, error) {
	var value arrow.Array
	if text, ok := f.Metadata.GetValue(missingKey); ok {
		var err error
		if value, err = decodeValue(text); err != nil {
			return missing{}, fmt.Errorf("%w: the value of column %q: %w", ErrCorrupt, f.Name, err)
		}
		if !Stores(f.Type, value.DataType()) {
			return missing{}, fmt.Errorf("%w: the value of column %q is %v, not %v", ErrCorrupt, f.Name,
				value.DataType(), f.Type)
		}
	} else {
		value = array.MakeArrayOfNull(memory.DefaultAllocator, laidOut(f.Type), 1)
	}
	s, sketch := statistics.Of(value)
	return missing{value, statistics.SummaryOf(s, sketch, 1)}, nil
}

// laidOut is how chunks have a column of NULLs.
func laidOut(t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.STRING:
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	case arrow.BINARY:
		return arrow.BinaryTypes.BinaryView
	}
	if t, ok := t.(*enumeration.Type); ok {
		return t.StorageType()
	}
	return t
}

// of is the summary of so many rows.
func (m *missing) of(rows int64) statistics.Summary {
	if rows == 0 {
		return statistics.Summary{}
	}
	s := m.Summary
	if s.NullCount > 0 {
		s.NullCount = rows
	}
	s.Rows = rows
	return s
}

func (d *display) summary(column int, rows int64) (statistics.Summary, error) {
	m, err := d.values[column]()
	if err != nil {
		return statistics.Summary{}, err
	}
	return m.of(rows), nil
}

// shown is a chunk with the columns of the version's table.
func (v *Version) shown(c *chunk.Chunk) (*chunk.Chunk, error) {
	if v.display == nil {
		return c, nil
	}
	return v.display.show(c)
}

func (d *display) show(c *chunk.Chunk) (*chunk.Chunk, error) {
	stored := c.Stored()
	l, err := d.layout(stored.Schema)
	if err != nil || l.same && stored == c.Descriptor() {
		return c, err
	}
	as := *stored
	as.Schema, as.Columns = l.schema, make([]descriptor.Node, len(l.from))
	as.Statistics = make([]descriptor.Statistics, len(l.from))
	sketches := make([]statistics.Sketch, len(l.from))
	for i, from := range l.from {
		if from >= 0 {
			as.Columns[i], as.Statistics[i] = stored.Columns[from], stored.Statistics[from]
			if list := c.Sketches(); list != nil && stored == c.Descriptor() {
				sketches[i] = list[from]
			}
			continue
		}
		m, err := d.values[i]()
		if err != nil {
			return nil, err
		}
		if as.Values == nil {
			as.Values = make([]arrow.Array, len(l.from))
		}
		s := m.of(stored.Rows)
		as.Values[i], as.Statistics[i], sketches[i] = m.value, s.Statistics, s.Sketch
		as.Columns[i] = descriptor.Node{Length: stored.Rows, NullCount: max(s.NullCount, 0)}
	}
	return c.Shown(&as, sketches), nil
}

// layout of the chunks that have this schema.
func (d *display) layout(schema *arrow.Schema) (*layout, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.layouts[schema]; l != nil {
		return l, nil
	}
	stored, err := numbersOf(schema)
	if err != nil {
		return nil, err
	}
	l := &layout{same: slices.Equal(stored.of, d.numbers.of) && len(stored.of) == schema.NumFields()}
	fields := d.columns.Fields()
	for i, number := range d.numbers.of {
		from := slices.Index(stored.of, number)
		l.from = append(l.from, from)
		if from < 0 {
			m, err := d.values[i]()
			if err != nil {
				return nil, err
			}
			fields[i].Type = m.value.DataType()
			continue
		}
		f := schema.Field(from)
		if !Stores(fields[i].Type, f.Type) {
			return nil, fmt.Errorf("%w: column %q is %v, the table's is %v", ErrMismatch, fields[i].Name, f.Type,
				fields[i].Type)
		}
		l.same = l.same && fields[i].Name == f.Name
		fields[i].Type = f.Type
	}
	l.schema = arrow.NewSchema(fields, nil)
	if len(d.layouts) >= layoutsMost {
		clear(d.layouts)
	}
	d.layouts[schema] = l
	return l, nil
}

// summaries are those of a page, which was written under other numbers perhaps, for the version's columns. What was
// added since, none of its chunks stores.
func (v *Version) summaries(p *page, rows int64) ([]statistics.Summary, error) {
	if v.display == nil && (len(p.columns) != len(v.columns) || p.numbers != "") {
		return nil, fmt.Errorf("%w: a page has %d summaries for %d columns", ErrCorrupt, len(p.columns),
			len(v.columns))
	}
	was := counted(len(p.columns)).of
	if p.numbers != "" {
		n, err := parseNumbers(p.numbers, len(p.columns))
		if err != nil {
			return nil, err
		}
		was = n.of
	}
	is := counted(len(v.columns)).of
	if v.display != nil {
		is = v.display.numbers.of
	}
	list := make([]statistics.Summary, len(is))
	for i, number := range is {
		if at := slices.Index(was, number); at >= 0 {
			list[i] = p.columns[at]
			continue
		}
		s, err := v.display.summary(i, rows)
		if err != nil {
			return nil, err
		}
		list[i] = s
	}
	return list, nil
}

// pageNumbers is what a page of the version says of the numbers of its summaries; empty: they are 0 to n-1.
func (v *Version) pageNumbers() string {
	if v.display == nil || slices.Equal(v.display.numbers.of, counted(len(v.columns)).of) {
		return ""
	}
	return v.display.numbers.words()
}
