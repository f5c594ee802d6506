package order

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/plan"
)

// Finder finds rows of chunks by their orders. Immutable.
type Finder struct {
	Reader *reader.Reader
}

// share is the part of a chunk's rows above which they are not worth being looked for one by one.
const share = 8

// By is the order of a chunk that helps most with a condition; nil: none does.
func By(v *catalog.TableVersion, chunk *catalog.Chunk, bound *plan.Scan) (columns []int) {
	best := 0
	for _, list := range v.Orders(chunk) {
		if worth := worthOf(list, bound); worth > best {
			best, columns = worth, list
		}
	}
	return columns
}

// Words name the columns by whose order rows of some chunks are found; empty: all rows of them are looked at.
func Words(ctx context.Context, v *catalog.TableVersion, chunks []int, bound *plan.Scan) string {
	for _, number := range chunks {
		c, err := v.Chunk(ctx, number)
		if err != nil {
			return "" // reading it reports the error
		}
		if columns := By(v, c, bound); columns != nil {
			names := make([]string, len(columns))
			for i, column := range columns {
				names[i] = v.Table().Columns.Field(column).Name
			}
			return strings.Join(names, ", ")
		}
	}
	return ""
}

// worthOf is how far a condition fixes the columns of an order, from the first one on.
func worthOf(columns []int, bound *plan.Scan) (worth int) {
	for _, c := range columns {
		point, some := false, false
		for i := range bound.Predicates {
			if p := &bound.Predicates[i]; p.Column == c {
				point = point || isPoint(p)
				some = some || isPoint(p) || isRange(p)
			}
		}
		if point {
			worth += 2
			continue
		}
		if some {
			worth++
		}
		break
	}
	return worth
}

func isPoint(p *plan.Predicate) bool {
	return p.Op == plan.Equal || p.Op == plan.In || p.Op == plan.IsNull
}

func isRange(p *plan.Predicate) bool {
	switch p.Op {
	case plan.Less, plan.LessEqual, plan.Greater, plan.GreaterEqual, plan.Between, plan.Prefix:
		return true
	}
	return false
}

// Rows are the positions, ascending, of the rows of a version's chunk that may fulfil a condition, deleted ones too.
// Not found: any may, or so many that all of them are to be looked at (OD1). What it says is by's to confirm.
func (f *Finder) Rows(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, number int,
	chunk *catalog.Chunk, bound *plan.Scan) (rows []uint32, found bool, err error) {
	columns := By(v, chunk, bound)
	if columns == nil {
		return nil, false, nil
	}
	err = f.sorted(ctx, by, v, number, chunk, columns, func(s *sorted) error {
		spans, ok := s.spans(columns, bound)
		if !ok {
			return nil
		}
		n := 0
		for _, at := range spans {
			n += at.to - at.from
		}
		if found = n <= s.rows/share; !found {
			return nil
		}
		rows = make([]uint32, 0, n)
		for _, at := range spans {
			for i := at.from; i < at.to; i++ {
				rows = append(rows, uint32(s.row(i)))
			}
		}
		slices.Sort(rows)
		return nil
	})
	return rows, found && err == nil, err
}

// sorted reads a chunk's order by columns; use is not called if it has none, or none that can be used.
func (f *Finder) sorted(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, number int,
	chunk *catalog.Chunk, columns []int, use func(*sorted) error) (err error) {
	with := v.Ordered(chunk, columns)
	if with == nil {
		return nil
	}
	all := make([]int, len(columns)+1)
	for i := range all {
		all[i] = i
	}
	table := v.Table().Name.String()
	batch, err := f.Reader.Read(ctx, by, table, number, with, all)
	if err != nil {
		return err
	}
	defer batch.Release()
	defer func() { // a lender may have restarted: then anything may be there
		if r := recover(); r != nil {
			cause := fmt.Errorf("%w: an order: %v", descriptor.ErrData, r)
			node := f.Reader.NodeOf(with.Descriptor())
			err = &reader.DamagedError{Table: table, Chunk: number, Node: node, Cause: cause}
		}
	}()
	s := &sorted{arrays: batch.Columns()[:len(columns)], rows: int(batch.NumRows())}
	if s.columns = columnsOf(s.arrays); s.columns == nil {
		return nil
	}
	if o, ok := batch.Column(len(columns)).(*array.Uint32); ok {
		s.order = o.Uint32Values()
	}
	return use(s)
}

// sorted are rows and their order.
type sorted struct {
	arrays  []arrow.Array
	columns columns
	order   []uint32 // nil: the rows lie in it
	rows    int
}

// row is the position of the row that is at a place of the order.
func (s *sorted) row(at int) int {
	if s.order == nil {
		return at
	}
	if at := int(s.order[at]); at < s.rows {
		return at
	}
	panic("a position beyond the rows") // OD3
}

// span are some places of an order.
type span struct{ from, to int }

// first is the first place of a span of which after is true: it is of all behind that one.
func (s *sorted) first(in span, after func(row int) bool) int {
	return in.from + sort.Search(in.to-in.from, func(i int) bool { return after(s.row(in.from + i)) })
}

// spans are the places of rows that may fulfil a condition; false: it cannot be said.
func (s *sorted) spans(order []int, bound *plan.Scan) (list []span, ok bool) {
	list = []span{{0, s.rows}}
	for k, column := range order {
		n := narrowing{sorted: s, cells: &s.columns[k], ok: true}
		for i := range bound.Predicates {
			if p := &bound.Predicates[i]; p.Column == column {
				n.predicates = append(n.predicates, p)
			}
		}
		var next []span
		for _, in := range list {
			next = append(next, n.narrow(in)...)
		}
		if !n.ok {
			return nil, false
		}
		if list = next; !n.points {
			break
		}
	}
	return list, true
}

// narrowing is what the predicates of one column leave of spans in which all columns before it are equal.
type narrowing struct {
	*sorted
	cells      *cells
	predicates []*plan.Predicate
	points     bool // of each span that is left the column is equal, too
	ok         bool
}

func (n *narrowing) narrow(in span) []span {
	end := n.first(in, n.cells.null)
	values, nulls := span{in.from, end}, span{end, in.to}
	for _, p := range n.predicates {
		if p.Op == plan.IsNull {
			n.points = true
			return []span{nulls}
		}
	}
	if len(n.predicates) == 0 {
		return []span{in}
	}
	if n.cells.value == nil {
		n.ok = false
		return nil
	}
	for _, p := range n.predicates {
		if p.Op == plan.Equal || p.Op == plan.In {
			n.points = true
			return n.equal(values, p.Values)
		}
	}
	list := []span{values}
	for _, p := range n.predicates {
		list = n.within(list, p)
	}
	return list
}

// equal are the spans of some values, which may be there twice.
func (n *narrowing) equal(in span, values []plan.Value) (list []span) {
	for _, v := range values {
		if isNull(v) {
			continue
		}
		if at := (span{n.from(in, v), n.behind(in, v)}); at.from < at.to {
			list = append(list, at)
		}
	}
	return joined(list)
}

// within is what a range leaves of spans.
func (n *narrowing) within(list []span, p *plan.Predicate) (left []span) {
	for _, in := range list {
		if p.Op != plan.Prefix && slices.ContainsFunc(p.Values, isNull) {
			continue // it is true of no row
		}
		switch p.Op {
		case plan.Less:
			in.to = n.from(in, p.Values[0])
		case plan.LessEqual:
			in.to = n.behind(in, p.Values[0])
		case plan.Greater:
			in.from = n.behind(in, p.Values[0])
		case plan.GreaterEqual:
			in.from = n.from(in, p.Values[0])
		case plan.Between:
			in.from, in.to = n.from(in, p.Values[0]), n.behind(in, p.Values[1])
		case plan.Prefix:
			left = append(left, n.prefixed(in, p.Values)...)
			continue
		}
		if in.from < in.to {
			left = append(left, in)
		}
	}
	return joined(left)
}

func isNull(v plan.Value) bool { return v.Kind() == plan.Null }

func (n *narrowing) prefixed(in span, values []plan.Value) (list []span) {
	for _, v := range values {
		if isNull(v) {
			continue
		}
		if v.Kind() != plan.Text {
			n.ok = false
			return nil
		}
		from := n.from(in, v)
		to := n.first(span{from, in.to}, func(row int) bool {
			return !strings.HasPrefix(n.cells.value(row).Text(), v.Text())
		})
		if from < to {
			list = append(list, span{from, to})
		}
	}
	return list
}

// from is the first place that is not below a value, behind the first one that is above it.
func (n *narrowing) from(in span, v plan.Value) int {
	return n.first(in, func(row int) bool { return n.compare(row, v) >= 0 })
}

func (n *narrowing) behind(in span, v plan.Value) int {
	return n.first(in, func(row int) bool { return n.compare(row, v) > 0 })
}

func (n *narrowing) compare(row int, v plan.Value) int {
	order, ok := n.cells.value(row).Compare(v)
	n.ok = n.ok && ok
	return order
}

// joined are spans in their order, each place once.
func joined(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return a.from - b.from })
	out := list[:0]
	for _, s := range list {
		if last := len(out) - 1; last >= 0 && s.from < out[last].to {
			out[last].to = max(out[last].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
