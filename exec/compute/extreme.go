package compute

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/plan"
)

// extreme is min or max. It keeps the values themselves, strings cloned, for the batch they came from goes away.
type extreme struct {
	sign   int // -1 for min, 1 for max
	seen   []bool
	values cells
}

func newExtreme(t plan.Type, sign int) *extreme {
	return &extreme{sign: sign, values: newCells(t)}
}

func (x *extreme) grow(groups int) {
	x.seen = extend(x.seen, groups)
	x.values.grow(groups)
}

// add replaces only what is strictly beaten, so of equal values (-0 and 0) the first stays, as in DuckDB.
func (x *extreme) add(v *vector, ids []int32, rows int) error {
	if v.constant {
		rows = min(rows, 1) // every further row is the same value; groups have been grown before
		if ids != nil {
			rows = len(ids)
		}
	}
	for i := 0; i < rows; i++ {
		if v.null(i) {
			continue
		}
		g, k := group(ids, i), v.row(i)
		if !x.seen[g] || x.values.order(int(g), v, k)*x.sign < 0 {
			x.seen[g] = true
			x.values.set(int(g), v, k)
		}
	}
	return nil
}

func (x *extreme) appendTo(b array.Builder, groups int) error {
	for g := 0; g < groups; g++ {
		if !x.seen[g] {
			b.AppendNull()
			continue
		}
		if err := appendValue(b, &x.values.vector, g); err != nil {
			return err
		}
	}
	return nil
}

// cells are values of one type that are owned here and can be written.
type cells struct {
	vector
	strings ownText
	bytes   int64 // held by strings
}

// ownText are strings that belong to cells.
type ownText struct{ values []string }

func (o *ownText) Value(i int) string { return o.values[i] }
func (o *ownText) Len() int           { return len(o.values) }

func newCells(t plan.Type) cells { return cells{vector: vector{t: t}} }

func (c *cells) grow(n int) {
	switch domainOf(c.t) {
	case intDomain:
		c.ints = extend(c.ints, n)
	case floatDomain:
		c.floats = extend(c.floats, n)
	case truthDomain:
		c.truths = extend(c.truths, n)
	case textDomain:
		c.strings.values = extend(c.strings.values, n)
		c.texts = texts{values: &c.strings}
	case wideDomain:
		c.wides = extend(c.wides, n)
	}
}

func (c *cells) set(at int, v *vector, k int) {
	switch domainOf(c.t) {
	case intDomain:
		c.ints[at] = v.ints[k]
	case floatDomain:
		c.floats[at] = v.floats[k]
	case truthDomain:
		c.truths[at] = v.truths[k]
	case textDomain:
		s := strings.Clone(v.texts.at(k))
		c.bytes += int64(len(s)) - int64(len(c.strings.values[at]))
		c.strings.values[at] = s
	case wideDomain:
		c.wides[at] = v.wides[k]
	}
}

// order compares the cell with a value: negative if the cell is less.
func (c *cells) order(at int, v *vector, k int) int {
	switch domainOf(c.t) {
	case intDomain:
		return intOrder(c.ints[at], v.ints[k])
	case floatDomain:
		return floatOrder(c.floats[at], v.floats[k])
	case truthDomain:
		return truthOrder(c.truths[at], v.truths[k])
	case textDomain:
		return strings.Compare(c.strings.values[at], v.texts.at(k))
	}
	return c.wides[at].Cmp(v.wides[k])
}
