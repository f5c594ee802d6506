package dbgen

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// model is the naive twin for what depends on the scale factor: it makes orders
// one after the other, one draw at a time, in the official form. The reference
// tables hold the rest.
type model struct {
	customers, parts, suppliers, clerks int64

	customer, date, clerk, lineCount     modelStream
	quantity, discount, tax, part        modelStream
	supplier, shipDate, receipt, flagged modelStream
}

// modelStream counts its draws and pads them at the end of a unit.
type modelStream struct {
	seed           int64
	used, boundary int
}

func (s *modelStream) draw(low, high int64) int64 {
	s.used++
	s.seed = officialNext(s.seed)
	return officialUniform(s.seed, low, high)
}

func (s *modelStream) endUnit() {
	for ; s.used < s.boundary; s.used++ {
		s.seed = officialNext(s.seed)
	}
	s.used = 0
}

func newModel(sf int64) *model {
	perOrder := func(seed stream) modelStream { return modelStream{seed: int64(seed), boundary: 1} }
	perLine := func(seed stream) modelStream { return modelStream{seed: int64(seed), boundary: 7} }
	return &model{
		customers: 150000 * sf, parts: 200000 * sf, suppliers: 10000 * sf, clerks: 1000 * sf,
		customer: perOrder(851767375), date: perOrder(1066728069), clerk: perOrder(1171034773), lineCount: perOrder(1434868289),
		quantity: perLine(209208115), discount: perLine(554590007), tax: perLine(721958466), part: perLine(1808217256),
		supplier: perLine(2095021727), shipDate: perLine(1769349045), receipt: perLine(373135028), flagged: perLine(717419739),
	}
}

// order returns one line of text for an order, and one for each of its lines.
func (m *model) order() (order string, lines []string) {
	customer := m.customer.draw(1, m.customers)
	for delta := int64(1); customer%3 == 0; delta = -delta {
		customer = min(customer+delta, m.customers)
	}
	date := m.date.draw(8035, 8035+2405)
	clerk := fmt.Sprintf("Clerk#%09d", m.clerk.draw(1, m.clerks))
	var total int64
	for range m.lineCount.draw(1, 7) {
		quantity, discount, tax := m.quantity.draw(1, 50), m.discount.draw(0, 10), m.tax.draw(0, 8)
		part := m.part.draw(1, m.parts)
		supplier := (part+m.supplier.draw(0, 3)*(m.suppliers/4+(part-1)/m.suppliers))%m.suppliers + 1
		price := (90000 + part/10%20001 + part%1000*100) * quantity
		total += price * (100 - discount) / 100 * (100 + tax) / 100
		shipDate := date + m.shipDate.draw(1, 121)
		flag := "N"
		if shipDate+m.receipt.draw(1, 30) <= 9298 {
			flag = [2]string{"R", "A"}[m.flagged.draw(0, 1)]
		}
		lines = append(lines, fmt.Sprint(part, supplier, price, flag))
	}
	for _, s := range []*modelStream{&m.quantity, &m.discount, &m.tax, &m.part, &m.supplier, &m.shipDate, &m.receipt, &m.flagged, &m.customer, &m.date, &m.clerk, &m.lineCount} {
		s.endUnit()
	}
	return fmt.Sprint(customer, total, clerk), lines
}

// TestModelOfLargeScaleFactors attacks D1 where the reference tables do not
// reach: from scale factor 2 on there are more clerks, from 11 on part keys
// need the wide draw, from 14 on customers, from 2098 on clerks.
func TestModelOfLargeScaleFactors(t *testing.T) {
	for _, sf := range []int64{1, 2, 10, 11, 100, 3000, 29999} {
		const count = 2000
		m := newModel(sf)
		var wantOrders, wantLines []string
		for range count {
			order, lines := m.order()
			wantOrders = append(wantOrders, order)
			wantLines = append(wantLines, lines...)
		}
		g, err := New(float64(sf))
		require.NoError(t, err)
		require.Equal(t, wantOrders, columnTexts(t, g, Orders, count, "o_custkey", "o_totalprice", "o_clerk"), "scale factor %d", sf)
		require.Equal(t, wantLines, columnTexts(t, g, LineItem, count, "l_partkey", "l_suppkey", "l_extendedprice", "l_returnflag"), "scale factor %d", sf)
	}
}

// columnTexts returns the given columns of the first units, a text per row.
func columnTexts(t *testing.T, g *Generator, table Table, units int64, names ...string) []string {
	t.Helper()
	batch, err := g.Batch(context.Background(), memory.NewGoAllocator(), table, 0, units)
	require.NoError(t, err)
	defer batch.Release()
	rows := make([]string, batch.NumRows())
	for i := range rows {
		var values []any
		for _, name := range names {
			values = append(values, modelValue(batch.Column(batch.Schema().FieldIndices(name)[0]), i))
		}
		rows[i] = fmt.Sprint(values...)
	}
	return rows
}

func modelValue(column arrow.Array, row int) any {
	switch column := column.(type) {
	case *array.Int64:
		return column.Value(row)
	case *array.Decimal64:
		return int64(column.Value(row))
	}
	return column.ValueStr(row)
}
