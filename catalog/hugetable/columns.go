package hugetable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/internal/mark"
)

// Columns have numbers (H9), so that a table may get and lose columns while its chunks stay as they are. A number is
// never given twice. A table that was never altered has none on record: column i is number i. One that was has them in
// its schema's metadata, with the next one that is free; and a chunk that is written says which columns it stores,
// unless it stores 0 to n-1, as every chunk did before there were numbers.
//
//	CREATE TABLE t (a, b)                          chunk 0 stores 0 1
//	ADD COLUMN c DEFAULT 7   table "0 1 2; 3"      chunk 1 stores 0 1 2
//	DROP COLUMN a            table "1 2; 3"        chunk 2 stores 1 2     "1 2"
//
//	version: b c   chunk 0: 1, 7 in each row   chunk 1: 1 2   chunk 2: 1 2

const (
	// numbersKey is of the metadata of a table's schema, and of a chunk's.
	numbersKey = "csm.columns"
	// missingKey is of the metadata of a table's field: what chunks that do not store it have in each row, as
	// encodeValue writes it. A field that was added and has none is NULL there.
	missingKey = "csm.missing"
)

// QueryKey is of the metadata of a table's schema: the query whose rows the table holds (package materialized).
const QueryKey = "csm.query"

func derived(columns *arrow.Schema) bool { return columns.Metadata().FindKey(QueryKey) >= 0 }

// numbers are those of a schema's columns, in its order, and of a table the next one that is free.
type numbers struct {
	of   []int
	next int
}

// counted are those of n columns that have none on record.
func counted(n int) numbers {
	c := numbers{of: make([]int, n), next: n}
	for i := range c.of {
		c.of[i] = i
	}
	return c
}

// Numbered reports whether the columns of a table have numbers on record: it was altered.
func Numbered(columns *arrow.Schema) bool { return columns.Metadata().FindKey(numbersKey) >= 0 }

// SameNumbers reports whether two versions of a table have the same columns under the same names.
func SameNumbers(a, b *Version) bool {
	if a.table.Columns == b.table.Columns {
		return true
	}
	was, _ := a.table.Columns.Metadata().GetValue(numbersKey)
	is, _ := b.table.Columns.Metadata().GetValue(numbersKey)
	return was == is && sameFields(a.table.Columns, b.table.Columns)
}

func sameFields(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(),
		func(x, y arrow.Field) bool { return x.Name == y.Name && arrow.TypeEqual(x.Type, y.Type) })
}

// SameColumns reports whether rows of two versions of a table are shown in the same columns, whatever came and went
// between them.
func SameColumns(a, b *Version) (bool, error) {
	was, err := numbersOf(a.table.Columns)
	if err != nil {
		return false, err
	}
	is, err := numbersOf(b.table.Columns)
	return sameFields(a.table.Columns, b.table.Columns) && slices.Equal(was.of, is.of), err
}

// DeclaredAs returns the version's columns with the declarations of columns, which are the same ones. Their numbers,
// and the values of rows without them, stay the version's own.
func (v *Version) DeclaredAs(columns *arrow.Schema) *arrow.Schema {
	own, _ := v.table.Columns.Metadata().GetValue(numbersKey)
	meta, fields := mark.WithAny(columns.Metadata(), numbersKey, own), columns.Fields()
	for i := range fields {
		missing, _ := v.table.Columns.Field(i).Metadata.GetValue(missingKey)
		fields[i].Metadata = mark.WithAny(fields[i].Metadata, missingKey, missing)
	}
	return arrow.NewSchema(fields, &meta)
}

// numbersOf reads what a schema says of its numbers.
func numbersOf(schema *arrow.Schema) (numbers, error) {
	text, ok := schema.Metadata().GetValue(numbersKey)
	columns := columnsOf(schema)
	if !ok {
		return counted(columns), nil
	}
	return parseNumbers(text, columns)
}

// parseNumbers reads those of so many columns.
func parseNumbers(text string, columns int) (numbers, error) {
	n := numbers{}
	list, next, table := strings.Cut(text, "; ")
	seen := map[int]bool{}
	for _, word := range strings.Fields(list) {
		number, err := strconv.Atoi(word)
		if err != nil || number < 0 || seen[number] {
			return n, fmt.Errorf("%w: the numbers of columns are %q", ErrCorrupt, text)
		}
		seen[number] = true
		n.of, n.next = append(n.of, number), max(n.next, number+1)
	}
	if table {
		free, err := strconv.Atoi(next)
		if err != nil || free < n.next {
			return n, fmt.Errorf("%w: the numbers of columns are %q", ErrCorrupt, text)
		}
		n.next = free
	}
	if len(n.of) != columns {
		return n, fmt.Errorf("%w: the numbers of %d columns are %q", ErrCorrupt, columns, text)
	}
	return n, nil
}

func (n numbers) words() string {
	words := make([]string, len(n.of))
	for i, number := range n.of {
		words[i] = strconv.Itoa(number)
	}
	return strings.Join(words, " ")
}

// mark gives a table's schema its numbers, in the place of those that it has.
func (n numbers) mark(fields []arrow.Field, meta arrow.Metadata) *arrow.Schema {
	meta = mark.With(meta, numbersKey, n.words()+"; "+strconv.Itoa(n.next))
	return arrow.NewSchema(fields, &meta)
}

// AddColumn returns a table's columns with another one behind them. value is the value of the present rows, an array of
// it alone, laid out as a chunk would have it; nil: NULL.
func AddColumn(columns *arrow.Schema, f arrow.Field, value arrow.Array) (*arrow.Schema, error) {
	n, err := numbersOf(columns)
	if err != nil {
		return nil, err
	}
	f.Metadata = mark.Without(f.Metadata, missingKey)
	if value != nil && value.NullN() == 0 {
		if value.Len() != 1 || !Stores(f.Type, value.DataType()) {
			return nil, fmt.Errorf("%w: %d values of %v for a column of %v", ErrMismatch, value.Len(),
				value.DataType(), f.Type)
		}
		text, err := encodeValue(value)
		if err != nil {
			return nil, err
		}
		f.Metadata = mark.With(f.Metadata, missingKey, text)
	}
	if len(n.of) >= descriptor.MaxNodes {
		return nil, fmt.Errorf("%w: more than %d columns", ErrMismatch, descriptor.MaxNodes)
	}
	n.of, n.next = append(n.of, n.next), n.next+1
	return n.mark(append(columns.Fields(), f), columns.Metadata()), nil
}

// DropColumn is a table's columns without column i.
func DropColumn(columns *arrow.Schema, i int) (*arrow.Schema, error) {
	n, err := numbersOf(columns)
	if err != nil {
		return nil, err
	}
	n.of = slices.Delete(n.of, i, i+1)
	return n.mark(slices.Delete(columns.Fields(), i, i+1), columns.Metadata()), nil
}

// RenameColumn is a table's columns with column i under another name.
func RenameColumn(columns *arrow.Schema, i int, name string) (*arrow.Schema, error) {
	n, err := numbersOf(columns)
	if err != nil {
		return nil, err
	}
	fields := columns.Fields()
	fields[i].Name = name
	return n.mark(fields, columns.Metadata()), nil
}

// KeepMissing gives a field the value that another one of the same column has in chunks that do not store it.
func KeepMissing(from, to arrow.Field) arrow.Field {
	if text, ok := from.Metadata.GetValue(missingKey); ok {
		to.Metadata = mark.With(to.Metadata, missingKey, text)
	}
	return to
}

// Unnumbered is a schema for another table than the one whose numbers, and values of missing columns, it has.
func Unnumbered(schema *arrow.Schema) *arrow.Schema {
	fields, marked := schema.Fields(), Numbered(schema)
	for i := range fields {
		marked = marked || fields[i].Metadata.FindKey(missingKey) >= 0
		fields[i].Metadata = mark.Without(fields[i].Metadata, missingKey)
	}
	if !marked {
		return schema
	}
	meta := mark.Without(schema.Metadata(), numbersKey)
	return arrow.NewSchema(fields, &meta)
}

// Written is the schema of a chunk that is written for a table: these fields in the table's order.
func Written(table *arrow.Schema, fields []arrow.Field) *arrow.Schema {
	if !Numbered(table) {
		return arrow.NewSchema(fields, nil)
	}
	for i := range fields {
		fields[i].Metadata = mark.Without(fields[i].Metadata, missingKey)
	}
	n, err := numbersOf(table)
	if err != nil || len(n.of) != len(fields) || slices.Equal(n.of, counted(len(fields)).of) {
		return arrow.NewSchema(fields, nil) // one that does not fit the table is refused when it is appended
	}
	meta := arrow.NewMetadata([]string{numbersKey}, []string{n.words()})
	return arrow.NewSchema(fields, &meta)
}

// Alter returns the version with other columns, which AddColumn, DropColumn and RenameColumn made of its own; those
// that stay have their types and may have other properties. That its rows have those is the caller's business. Where
// rows came from is forgotten: the source has other columns. Of a version without rows, types may change too.
func (v *Version) Alter(columns *arrow.Schema) (*Version, error) {
	was, err := numbersOf(v.table.Columns)
	if err != nil {
		return nil, err
	}
	is, err := numbersOf(columns)
	if err != nil {
		return nil, err
	}
	if is.next < was.next || !Numbered(columns) {
		return nil, fmt.Errorf("%w: columns of table %v would have numbers again", ErrMismatch, v.table.Name)
	}
	next := *v
	next.table.Columns, next.origins = columns, nil
	if next.display, err = displayOf(columns); err != nil {
		return nil, err
	}
	next.columns = nil
	for i, number := range is.of {
		f := columns.Field(i)
		at := slices.Index(was.of, number)
		if at < 0 {
			if number < was.next {
				return nil, fmt.Errorf("%w: column %q has the number of one that was dropped", ErrMismatch, f.Name)
			}
			s, err := next.display.summary(i, v.rows)
			if err != nil {
				return nil, err
			}
			next.columns = append(next.columns, s)
			continue
		}
		if have := v.table.Columns.Field(at); v.rows > 0 && !arrow.TypeEqual(have.Type, f.Type) {
			return nil, fmt.Errorf("%w: column %q is %v, it was %v", ErrMismatch, f.Name, f.Type, have.Type)
		}
		next.columns = append(next.columns, v.columns[at])
	}
	return &next, nil
}
