package hugetable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// A chunk may have orders of its rows behind its columns (H10): the positions of the rows, from 0, sorted by the values
// of some columns. So a row is found by its key with a few looks, where it lies. An order lies in extents of its own,
// which a chunk gets, and loses, while those of its columns stay as they are.
//
//	    k  c │ csm.order "0"          rows by k: 2 0 1
//	0   7  a │ 2
//	1   9  b │ 0
//	2   1  c │ 1
//
// It is named by the numbers of its columns, so that renaming and dropping columns does nothing to it; and is no
// column: it has no number, no version shows it, and a chunk that is rewritten has none.

// orderKey is of the metadata of a chunk's field: the numbers of the columns by which it orders the rows.
const orderKey = "csm.order"

// Order is an order of a chunk's rows.
type Order struct {
	// Columns of the version's table, by position, the first one first.
	Columns []int
	// Rows has one column, of uint32, with the positions of the rows in that order, and as many replicas as the chunk
	// that it is for, in the same order. Nil: the rows lie in that order.
	Rows *chunk.Chunk
}

// columnsOf is how many fields of a chunk's schema are columns; its orders come behind them.
func columnsOf(schema *arrow.Schema) int {
	n := schema.NumFields()
	for n > 0 && schema.Field(n-1).Metadata.FindKey(orderKey) >= 0 {
		n--
	}
	return n
}

// hasOrders reports whether a chunk has any.
func hasOrders(c *chunk.Chunk) bool { return columnsOf(c.Stored().Schema) < len(c.Stored().Columns) }

// numbers of the columns of the version's table.
func (v *Version) numbers() []int {
	if v.display != nil {
		return v.display.numbers.of
	}
	return counted(len(v.columns)).of
}

// orderWords name an order by columns of the table.
func (v *Version) orderWords(columns []int) string {
	of, n := v.numbers(), numbers{}
	for _, c := range columns {
		n.of = append(n.of, of[c])
	}
	return n.words()
}

// Orders lists the orders that a chunk of the version has by columns that the table has.
func (v *Version) Orders(c *chunk.Chunk) (list [][]int) {
	stored := c.Stored()
	for i := columnsOf(stored.Schema); i < len(stored.Columns); i++ {
		words, _ := stored.Schema.Field(i).Metadata.GetValue(orderKey)
		if columns := v.columnsNamed(words); columns != nil {
			list = append(list, columns)
		}
	}
	return list
}

// columnsNamed are the columns of the table with these numbers; nil: it has not all of them.
func (v *Version) columnsNamed(words string) (columns []int) {
	of := v.numbers()
	for word := range strings.FieldsSeq(words) {
		number, err := strconv.Atoi(word)
		at := slices.Index(of, number)
		if err != nil || at < 0 {
			return nil
		}
		columns = append(columns, at)
	}
	return columns
}

// HasOrder reports whether a chunk of the version has an order by columns of the table.
func (v *Version) HasOrder(c *chunk.Chunk, columns []int) bool {
	return orderAt(c.Stored(), v.orderWords(columns)) >= 0
}

// HasOrders reports whether a chunk of the version has an order, or one did.
func (v *Version) HasOrders() bool { return v.ordered }

// HasOtherOrders reports whether a chunk has an order that is not wanted, or one by columns that the table lost.
func (v *Version) HasOtherOrders(c *chunk.Chunk, wanted func(columns []int) bool) bool {
	stored := c.Stored()
	list := v.Orders(c)
	return len(list) < len(stored.Columns)-columnsOf(stored.Schema) ||
		slices.ContainsFunc(list, func(columns []int) bool { return !wanted(columns) })
}

// orderAt is where a chunk has an order; -1: it has none.
func orderAt(stored *descriptor.Descriptor, words string) int {
	for i := columnsOf(stored.Schema); i < len(stored.Columns); i++ {
		if is, _ := stored.Schema.Field(i).Metadata.GetValue(orderKey); is == words {
			return i
		}
	}
	return -1
}

// Ordered shows a chunk of the version as these columns of it, and behind them its order by them: of uint32, or of the
// null type if the rows lie in it. Nil: it has none.
func (v *Version) Ordered(c *chunk.Chunk, columns []int) *chunk.Chunk {
	stored, shown := c.Stored(), c.Descriptor()
	at := orderAt(stored, v.orderWords(columns))
	if at < 0 {
		return nil
	}
	as := *stored
	as.Columns = make([]descriptor.Node, 0, len(columns)+1)
	as.Statistics = make([]descriptor.Statistics, 0, len(columns)+1)
	fields := make([]arrow.Field, 0, len(columns)+1)
	for _, i := range columns {
		if shown.Value(i) != nil {
			return nil
		}
		fields = append(fields, shown.Schema.Field(i))
		as.Columns, as.Statistics = append(as.Columns, shown.Columns[i]), append(as.Statistics, shown.Statistics[i])
	}
	as.Schema = arrow.NewSchema(append(fields, stored.Schema.Field(at)), nil)
	as.Columns, as.Statistics = append(as.Columns, stored.Columns[at]), append(as.Statistics, stored.Statistics[at])
	return c.Shown(&as, nil)
}

// WithOrders is a chunk of the version with new orders beside those of its own that keep wants, and without the others,
// to be put in its place. Its columns lie where they lie.
func (v *Version) WithOrders(c *chunk.Chunk, keep func(columns []int) bool, add ...Order) (*chunk.Chunk, error) {
	p := partsOf(c)
	p.keepOrders(func(words string) bool {
		columns := v.columnsNamed(words)
		return columns != nil && keep(columns)
	})
	for _, o := range add {
		if err := p.addOrder(v.orderWords(o.Columns), o.Rows); err != nil {
			return nil, fmt.Errorf("table %v: an order: %w", v.table.Name, err)
		}
	}
	var sketches []statistics.Sketch
	if v.display == nil || c.Stored() == c.Descriptor() { // else they are of other columns
		sketches = c.Sketches()
	}
	made, err := p.chunk(sketches)
	if err != nil {
		return nil, err
	}
	return v.source.columnsAlone(made), nil
}

// WithoutOrders is the chunk as its columns alone make it, as it was before it got orders.
func WithoutOrders(c *chunk.Chunk) (*chunk.Chunk, error) {
	if !hasOrders(c) {
		return c, nil
	}
	p := partsOf(c)
	p.keepOrders(func(string) bool { return false })
	return p.chunk(nil)
}

// parts are a chunk that gets, and loses, orders.
type parts struct {
	to      descriptor.Descriptor
	columns int
	fields  []arrow.Field
}

func partsOf(c *chunk.Chunk) *parts {
	p := &parts{to: *c.Stored()}
	p.columns = columnsOf(p.to.Schema)
	p.fields = p.to.Schema.Fields()
	p.to.Columns, p.to.Statistics = slices.Clone(p.to.Columns), slices.Clone(p.to.Statistics)
	p.to.Extents, p.to.Others = slices.Clone(p.to.Extents), slices.Clone(p.to.Others)
	return p
}

// keepOrders leaves the others out, with the extents in which they lie.
func (p *parts) keepOrders(keep func(words string) bool) {
	kept, gone := p.columns, map[int32]bool{}
	for i := p.columns; i < len(p.fields); i++ {
		words, _ := p.fields[i].Metadata.GetValue(orderKey)
		if !keep(words) {
			for _, b := range p.to.Columns[i].Buffers {
				gone[b.Extent] = b.Present()
			}
			continue
		}
		p.fields[kept], p.to.Columns[kept] = p.fields[i], p.to.Columns[i]
		p.to.Statistics[kept] = p.to.Statistics[i]
		kept++
	}
	p.fields, p.to.Columns, p.to.Statistics = p.fields[:kept], p.to.Columns[:kept], p.to.Statistics[:kept]
	places := map[int32]int32{} // of the extents that stay, from 1
	for i := range p.to.Extents {
		if at := int32(i + 1); !gone[at] {
			places[at] = int32(len(places) + 1)
		}
	}
	left := func(all []descriptor.Extent) (list []descriptor.Extent) {
		for i, x := range all {
			if !gone[int32(i+1)] {
				list = append(list, x)
			}
		}
		return list
	}
	p.to.Extents = left(p.to.Extents)
	for i, other := range p.to.Others {
		p.to.Others[i] = left(other)
	}
	for i := p.columns; i < kept; i++ { // those of columns come first, and stay where they are
		node := &p.to.Columns[i]
		node.Buffers = slices.Clone(node.Buffers)
		for k, b := range node.Buffers {
			node.Buffers[k].Extent = places[b.Extent]
		}
	}
}

// addOrder puts one behind the others, with the extents of its replicas behind theirs.
func (p *parts) addOrder(words string, rows *chunk.Chunk) error {
	if slices.ContainsFunc(p.fields[p.columns:], func(f arrow.Field) bool {
		is, _ := f.Metadata.GetValue(orderKey)
		return is == words
	}) {
		return fmt.Errorf("%w: there is one by columns %s already", ErrMismatch, words)
	}
	meta := arrow.NewMetadata([]string{orderKey}, []string{words})
	f := arrow.Field{Name: "order by " + words, Type: arrow.Null, Nullable: true, Metadata: meta}
	node := descriptor.Node{Length: p.to.Rows, NullCount: p.to.Rows, Buffers: make([]descriptor.Buffer, 1)}
	if rows != nil {
		d := rows.Descriptor()
		if len(d.Columns) != 1 || d.Schema.Field(0).Type.ID() != arrow.UINT32 || d.Rows != p.to.Rows ||
			d.Columns[0].NullCount != 0 || d.Replicas() != p.to.Replicas() || len(d.Extents) == 0 {
			return fmt.Errorf("%w: %d rows in %d replicas for a chunk of %d rows in %d", ErrMismatch, d.Rows,
				d.Replicas(), p.to.Rows, p.to.Replicas())
		}
		f.Type, node = arrow.PrimitiveTypes.Uint32, d.Columns[0]
		node.Buffers = slices.Clone(node.Buffers)
		for i := range node.Buffers {
			if b := &node.Buffers[i]; b.Present() {
				b.Extent += int32(len(p.to.Extents))
			}
		}
		p.to.Extents = append(p.to.Extents, d.Extents...)
		for i, other := range d.Others {
			p.to.Others[i] = append(slices.Clone(p.to.Others[i]), other...)
		}
	}
	p.fields, p.to.Columns = append(p.fields, f), append(p.to.Columns, node)
	p.to.Statistics = append(p.to.Statistics, descriptor.Statistics{NullCount: descriptor.UnknownNullCount})
	return nil
}

func (p *parts) chunk(sketches []statistics.Sketch) (*chunk.Chunk, error) {
	meta := p.to.Schema.Metadata()
	p.to.Schema = arrow.NewSchema(p.fields, &meta)
	if len(p.to.Others) == 0 {
		p.to.Others = nil
	}
	if err := p.to.Validate(); err != nil {
		return nil, err
	}
	encoded, err := p.to.Encode()
	if err != nil {
		return nil, err
	}
	return chunk.New(&p.to, encoded, sketches), nil
}
