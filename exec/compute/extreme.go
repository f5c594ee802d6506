package compute

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
)

// extreme is min or max. It keeps the value itself, a text cloned, for the batch that it came from goes away.
type extreme[T any] struct {
	sign  int // -1 for min, 1 for max
	seen  bool
	best  T
	load  func(a arrow.Array) (values func(i int) T, ok bool)
	order func(a, b T) int
	own   func(T) T
	put   func(b array.Builder, v T) error
}

func newExtreme(t plan.Type, sign int) accumulator {
	switch domainOf(t) {
	case intDomain:
		return &extreme[int64]{sign: sign, load: each(loadInts), order: intOrder, own: same[int64], put: appendInt}
	case floatDomain:
		return &extreme[float64]{sign: sign, load: each(loadFloats), order: floatOrder,
			own: same[float64], put: appendFloat}
	case truthDomain:
		return &extreme[bool]{sign: sign, load: loadTruths, order: truthOrder, own: same[bool],
			put: func(b array.Builder, v bool) error { b.(*array.BooleanBuilder).Append(v); return nil }}
	case textDomain:
		load := func(a arrow.Array) (func(int) string, bool) { t, ok := loadTexts(a); return t.at, ok }
		return &extreme[string]{sign: sign, load: load, order: strings.Compare, own: strings.Clone,
			put: func(b array.Builder, v string) error { b.(*array.StringBuilder).Append(v); return nil }}
	}
	return &extreme[decimal128.Num]{sign: sign, load: each(loadWides), order: decimal128.Num.Cmp,
		own: same[decimal128.Num], put: appendWide}
}

func same[T any](v T) T { return v }

// each makes values to be asked for one by one of those that are loaded at once.
func each[T any](load func(arrow.Array) ([]T, bool)) func(arrow.Array) (func(int) T, bool) {
	return func(a arrow.Array) (func(int) T, bool) {
		values, ok := load(a)
		return func(i int) T { return values[i] }, ok
	}
}

func (x *extreme[T]) add(a arrow.Array, rows int) error {
	values, ok := x.load(a)
	if !ok {
		return layoutError("no values to compare in %s", a.DataType())
	}
	for i := range rows {
		if !a.IsNull(i) {
			x.offer(values(i))
		}
	}
	return nil
}

// offer replaces only what is strictly beaten, so of equal values (-0 and 0) the first stays, as in DuckDB.
func (x *extreme[T]) offer(v T) {
	if !x.seen || x.order(x.best, v)*x.sign < 0 {
		x.seen, x.best = true, x.own(v)
	}
}

func (x *extreme[T]) merge(from accumulator) {
	if f := from.(*extreme[T]); f.seen {
		x.offer(f.best)
	}
}

func (x *extreme[T]) appendTo(b array.Builder) error {
	if !x.seen {
		b.AppendNull()
		return nil
	}
	return x.put(b, x.best)
}
