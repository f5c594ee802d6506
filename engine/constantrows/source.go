package constantrows

import (
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
	kinds      []kind // of the columns
	cells      []cell // row after row
	parameters []duckdb.ParameterType
	counts     bool // some cells are a sequence's
}

// cell is a constant, or a parameter's place.
type cell struct {
	value     value
	parameter int   // its number, from 1; 0: none
	sequence  int64 // of whose values each row takes the next one; 0: of none
}

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
	is := statement.Values(head.Query, func(v statement.Value) {
		r.width = max(r.width, v.Column+1)
		if len(r.values) <= valuesMax {
			r.values = append(r.values, v)
		}
	})
	if !is || !r.run() {
		return nil
	}
	return s
}

// Parameters are the types of $1, $2, …, as DuckDB deduces them of the same list.
func (s *Source) Parameters() []duckdb.ParameterType { return s.parameters }

// Made tells whether the source was made for a table of these columns.
func (s *Source) Made(columns *arrow.Schema) bool { return Same(s.columns, columns) }

// Same tells whether columns are the same, and have the same constraints.
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
	r := &Rows{columns: s.columns, kinds: s.kinds, values: make([]value, len(s.cells))}
	for i, c := range s.cells {
		column := i % len(s.kinds)
		if c.sequence != 0 {
			continue
		} else if c.parameter == 0 {
			r.values[i] = c.value
		} else if r.values[i], ok = s.kinds[column].ofArgument(args[c.parameter-1]); !ok {
			return nil, false
		}
		if !s.kinds[column].takes(r.values[i]) {
			return nil, false
		}
		r.bytes += int64(len(r.values[i].text))
	}
	if ok = r.bytes <= textMax; ok && s.counts {
		ok = s.count(r, next)
	}
	return r, ok
}

// count gives cells the values of their sequences, in the order of the rows.
func (s *Source) count(r *Rows, next Next) bool {
	wanted := map[int64]int{}
	for _, c := range s.cells {
		wanted[c.sequence]++
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
	for i, c := range s.cells {
		if c.sequence == 0 {
			continue
		}
		k, number := s.kinds[i%len(s.kinds)], values[c.sequence][0]
		if values[c.sequence] = values[c.sequence][1:]; number < k.low || number > k.high {
			return false
		}
		r.values[i].number = number
	}
	return true
}

// reader reads the values of a list one after the other.
type reader struct {
	source     *Source
	head       *statement.Insert
	values     []statement.Value // of the list; longer ones are not read
	width      int               // of the rows in the list
	at         []int             // the columns of the table that the list fills, in its order
	parameters map[int]int       // number → column of its first place
	failed     bool
}

// run reads the list; false: not all of it is certain.
func (r *reader) run() bool {
	columns, err := cast.InsertColumns(r.head, r.source.columns, make([]string, r.width))
	if err != nil {
		return false
	}
	r.at = make([]int, len(columns))
	filled := make([]bool, len(r.source.kinds))
	for i, c := range columns {
		r.at[i] = ingest.Index(r.source.columns, c)
		filled[r.at[i]] = true
	}
	blank := make([]cell, len(r.source.kinds))
	for i := range blank {
		if !filled[i] {
			if blank[i], r.failed = r.fallback(i); r.failed {
				return false
			}
		}
	}
	next := 0 // the column that the next value is of
	for i := range r.values {
		v := &r.values[i]
		switch {
		case r.failed:
			return false
		case v.Column != next, len(r.source.cells) > valuesMax: // rows of different lengths
			return false
		case v.Column == 0:
			r.source.cells = append(r.source.cells, blank...)
		}
		next = (v.Column + 1) % r.width
		row := r.source.cells[len(r.source.cells)-len(blank):]
		row[r.at[v.Column]], r.failed = r.read(v, r.at[v.Column])
	}
	return !r.failed && next == 0 && r.typeParameters() && len(r.values) <= valuesMax
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
		return cell{parameter: number}, false
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
		return cell{sequence: number}, !integer
	}
	list, count := "VALUES ("+text+")", 0
	is := statement.Values(list, func(v statement.Value) {
		if count++; v.Kind == statement.ParameterValue || v.Kind == statement.DefaultValueWord {
			failed = true
			return
		}
		out.value, failed = r.constant(list, &v, column)
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
