package constantrows

import (
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/statement"
)

const (
	// valuesMax and textMax bound a list that is read here. Longer ones are loads: DuckDB makes chunks of them by
	// morsels.
	valuesMax = 4096
	textMax   = 64 << 10
)

// Source is the VALUES list of an INSERT, with each value as its column has it.
type Source struct {
	columns    *arrow.Schema
	kinds      []kind  // of the columns
	values     []value // row after row; what is in the place of an open one means nothing
	bytes      int64   // of their texts
	open       []open  // in order
	parameters []duckdb.ParameterType
	counts     bool // some are a sequence's
}

// open is the place of a value that is not known before the statement runs.
type open struct {
	at        int   // its index
	parameter int   // its number, from 1; 0: none
	sequence  int64 // of whose values each row takes the next one; 0: of none
}

// cell is a constant, or open.
type cell struct {
	value value
	open  open
}

func (c cell) isOpen() bool { return c.open != open{} }

// Of reads the list of an INSERT into a table of these columns; nil if it is not certain what all of it means.
func Of(head *statement.Insert, columns *arrow.Schema) *Source {
	if head.Query == "" || head.With != "" || head.ByName || head.Alias != "" || head.Overriding != "" ||
		head.Returning != "" || head.Conflict != nil || len(head.Query) > textMax {
		return nil
	}
	s := &Source{columns: columns, kinds: kindsOf(columns)}
	if s.kinds == nil || cast.Generates(columns) {
		return nil
	}
	r := reader{source: s, head: head, parameters: map[int]int{}}
	if !head.Values(r.take) || !r.finish() {
		return nil
	}
	return s
}

// Counts reports whether values come from sequences.
func (s *Source) Counts() bool { return s.counts }

// Parameters are the types of $1, $2, …, as DuckDB deduces them of the same list.
func (s *Source) Parameters() []duckdb.ParameterType { return s.parameters }

// Made reports whether the source was made for a table of these columns.
func (s *Source) Made(columns *arrow.Schema) bool { return Same(s.columns, columns) }

// Same reports whether columns are the same, and have the same constraints.
func Same(a, b *arrow.Schema) bool {
	return a == b || a.Equal(b) && a.Metadata().Equal(b.Metadata())
}

// Next gives n values of a sequence, by its number.
type Next func(number int64, n int) ([]int64, error)

// Rows are the list's with the values of parameters, and of sequences; ok is false if what one of them becomes is not
// certain. Nothing is taken from a sequence if a parameter is not.
func (s *Source) Rows(args []any, next Next) (rows *Rows, ok bool) {
	if len(args) != len(s.parameters) {
		return nil, false
	}
	r := &Rows{columns: s.columns, kinds: s.kinds, values: s.values, bytes: s.bytes}
	if len(s.open) > 0 {
		r.values = slices.Clone(s.values)
	}
	for _, o := range s.open {
		if o.sequence != 0 {
			continue
		}
		v, k := &r.values[o.at], s.kinds[o.at%len(s.kinds)]
		if *v, ok = k.ofArgument(args[o.parameter-1]); !ok || !k.takes(*v) {
			return nil, false
		}
		r.bytes += int64(len(v.text))
	}
	if ok = r.bytes <= textMax; ok && s.counts {
		ok = s.count(r, next)
	}
	return r, ok
}

// count gives cells the values of their sequences, in the order of the rows.
func (s *Source) count(r *Rows, next Next) bool {
	wanted := map[int64]int{}
	for _, o := range s.open {
		wanted[o.sequence]++
	}
	delete(wanted, 0)
	values := map[int64][]int64{}
	for number, n := range wanted {
		list, err := next(number, n)
		if err != nil || len(list) != n {
			return false
		}
		values[number] = list
	}
	for _, o := range s.open {
		if o.sequence == 0 {
			continue
		}
		k, number := s.kinds[o.at%len(s.kinds)], values[o.sequence][0]
		if values[o.sequence] = values[o.sequence][1:]; number < k.low || number > k.high {
			return false
		}
		r.values[o.at].number = number
	}
	return true
}

// reader reads the values of a list one after the other.
type reader struct {
	source     *Source
	head       *statement.Insert
	first      []statement.Value // of the first row, until it is over
	at         []int             // the columns of the table that the list fills, in its order; nil: not known yet
	blank      []cell            // a row of what the other columns get
	row        []cell            // the one that is being read
	last       int               // the column in the list that was read last
	parameters map[int]int       // number → column of its first place
}

// take reads the next value; false: not all of the list is certain.
func (r *reader) take(v *statement.Value) bool {
	if v.Row == 0 {
		r.first = append(r.first, *v)
		return len(r.first) <= valuesMax
	}
	return (r.at != nil || r.begin()) && r.put(v)
}

// begin finds the columns that the list fills, when its first row is known, and reads that.
func (r *reader) begin() bool {
	columns, err := cast.InsertColumns(r.head, r.source.columns, make([]string, len(r.first)))
	if err != nil {
		return false
	}
	r.at = make([]int, len(columns))
	r.row = make([]cell, len(r.source.kinds))
	r.blank = make([]cell, len(r.source.kinds))
	filled := make([]bool, len(r.source.kinds))
	for i, c := range columns {
		r.at[i] = ingest.Index(r.source.columns, c)
		filled[r.at[i]] = true
	}
	for i := range r.blank {
		failed := false
		if !filled[i] {
			r.blank[i], failed = r.fallback(i)
		}
		if failed {
			return false
		}
	}
	for i := range r.first {
		if !r.put(&r.first[i]) {
			return false
		}
	}
	return true
}

// put reads a value into its row, and ends that behind its last one.
func (r *reader) put(v *statement.Value) bool {
	if v.Column >= len(r.at) || v.Column == 0 && !r.atRow(v.Row) {
		return false // rows of different lengths
	}
	if v.Column == 0 {
		copy(r.row, r.blank)
	}
	failed := false
	r.last = v.Column
	r.row[r.at[v.Column]], failed = r.read(v, r.at[v.Column])
	if !failed && v.Column == len(r.at)-1 {
		return r.end()
	}
	return !failed
}

// atRow reports whether the rows in front of one are whole.
func (r *reader) atRow(row int) bool { return len(r.source.values) == row*len(r.source.kinds) }

// end takes the row that was read to the others.
func (r *reader) end() bool {
	s := r.source
	for i, c := range r.row {
		if c.isOpen() {
			c.open.at = len(s.values)
			s.open = append(s.open, c.open)
		} else if !s.kinds[i].takes(c.value) {
			return false
		}
		s.values = append(s.values, c.value)
		s.bytes += int64(len(c.value.text))
	}
	return len(s.values) <= valuesMax
}

// finish reads what is left; false: not all of the list is certain.
func (r *reader) finish() bool {
	if r.at == nil && !r.begin() {
		return false
	}
	return r.last == len(r.at)-1 && r.typeParameters()
}

// read is what a value of the list is in a column of the table.
func (r *reader) read(v *statement.Value, column int) (c cell, failed bool) {
	if v.Kind != statement.DefaultValueWord && cast.Identity(r.source.columns.Field(column)) == cast.IdentityAlways {
		return c, true
	}
	switch v.Kind {
	case statement.ParameterValue:
		number, err := strconv.Atoi(strings.Trim(r.head.Query[v.Start+1:v.End], " \t\r\n"))
		if err != nil || r.head.Query[v.Start] != '$' || number < 1 || number > valuesMax {
			return c, true
		}
		first, known := r.parameters[number]
		if known && !r.source.kinds[first].same(r.source.kinds[column]) {
			return c, true
		}
		if !known {
			r.parameters[number] = column
		}
		return cell{open: open{parameter: number}}, false
	case statement.DefaultValueWord:
		return r.fallback(column)
	}
	c.value, failed = r.constant(r.head.Query, v, column)
	return c, failed
}

func (r *reader) constant(text string, v *statement.Value, column int) (value, bool) {
	out, ok := r.source.kinds[column].ofConstant(text[v.Start:v.End], v)
	return out, !ok
}

// fallback is a column's default, or NULL if it has none.
func (r *reader) fallback(column int) (out cell, failed bool) {
	text, ok := cast.Default(r.source.columns.Field(column))
	if !ok {
		return cell{value: value{null: true}}, false
	}
	if number, is := sequence.Only(text); is {
		r.source.counts = true
		_, integer := integers[r.source.kinds[column].id]
		return cell{open: open{sequence: number}}, !integer
	}
	list, count := "VALUES ("+text+")", 0
	is := statement.Values(list, func(v *statement.Value) bool {
		count++
		if failed = v.Kind == statement.ParameterValue || v.Kind == statement.DefaultValueWord; !failed {
			out.value, failed = r.constant(list, v, column)
		}
		return !failed
	})
	return out, failed || !is || count != 1
}

// typeParameters gives the parameters their types; false unless they are $1 to the last one, each somewhere.
func (r *reader) typeParameters() bool {
	r.source.parameters = make([]duckdb.ParameterType, len(r.parameters))
	for number, column := range r.parameters {
		if number > len(r.parameters) {
			return false
		}
		r.source.parameters[number-1] = r.source.kinds[column].parameter
	}
	return true
}
