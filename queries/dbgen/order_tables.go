package dbgen

const (
	seedOrderCustomer  stream = 851767375  // 1 draw per order
	seedOrderDate      stream = 1066728069 // 1
	seedOrderPriority  stream = 591449447  // 1
	seedOrderClerk     stream = 1171034773 // 1
	seedOrderComment   stream = 276090261  // 2
	seedOrderLineCount stream = 1434868289 // 1

	// startDay is 1992-01-01, the first order date; currentDay is 1995-06-17,
	// the "today" of the generated world. Both in days since 1970-01-01.
	startDay   = 8035
	currentDay = 9298

	// One customer in three never orders.
	customerMortality = 3
)

var (
	orderStatusDomain   = newSharedDomain([]string{"F", "O", "P"})
	orderPriorityDomain = newSharedDomain(orderPriorities)

	orderCommentLength = newTextLength(49)

	// The last order date leaves room for 121 days to ship and 30 to arrive
	// before the calendar of 2557 days ends.
	orderDate      = between(startDay, startDay+2557-(121+30)-1)
	orderLineCount = between(1, linesPerOrderMax)
)

// Codes of o_orderstatus.
const (
	orderFinished uint8 = iota // all lines are shipped
	orderOpen                  // none is
	orderPartly
)

func (g *Generator) writeOrders(w *batchWriter, first, count int64) {
	orders := int(count)
	addFixed(w, orders, func(keys []int64) {
		for i := range keys {
			keys[i] = orderKey(first + 1 + int64(i))
		}
	})
	addFixed(w, orders, func(keys []int64) { g.fillCustomers(keys, seedOrderCustomer.after(first)) })
	totals := g.totalOrders(first, count)
	w.addCategory(orders, orderStatusDomain, func(codes []uint8) { copy(codes, totals.status) })
	addFixed(w, orders, func(prices []int64) { copy(prices, totals.price) })
	addDrawn[int32](w, orders, seedOrderDate.after(first), orderDate, 1)
	w.addDrawnCategory(orders, seedOrderPriority.after(first), orderPriorityDomain)
	w.addStrings(g.clerkNames(orders, seedOrderClerk.after(first)))
	addFixed(w, orders, func(priorities []int32) { clear(priorities) }) // o_shippriority
	w.addDrawnText(orders, seedOrderComment.after(2*first), orderCommentLength)
}

// orderKey returns the key of the n-th order (from 1): of every 32 keys only
// the first 8 are used.
func orderKey(n int64) int64 {
	return n>>3<<5 | n&7
}

// fillCustomers draws o_custkey, stepping over the customers without orders.
func (g *Generator) fillCustomers(keys []int64, s stream) {
	last := g.units[Customer]
	drawEach(keys, s, between(1, last))
	for i, key := range keys {
		for step := int64(1); key%customerMortality == 0; step = -step {
			key = min(key+step, last)
		}
		keys[i] = key
	}
}

// clerkNames draws o_clerk.
func (g *Generator) clerkNames(rows int, s stream) *packedStrings {
	clerks := between(1, g.clerks)
	result := newPackedStrings(rows, len("Clerk#000000001"))
	for range rows {
		s = s.next()
		result.bytes = appendDigits(append(result.bytes, "Clerk#"...), clerks.draw(s), 9)
		result.endString()
	}
	return result
}

// orderTotals are the columns of ORDERS that follow from an order's lines.
type orderTotals struct {
	status []uint8
	price  []int64
}

func (g *Generator) totalOrders(first, count int64) orderTotals {
	lines := newLineSet(first, count)
	partKeys := lines.drawPartKeys(g.units[Part])
	quantities := lines.draw(seedLineQuantity, lineQuantity)
	discounts := lines.draw(seedLineDiscount, lineDiscount)
	taxes := lines.draw(seedLineTax, lineTax)
	shipDates := lines.shipDates()

	totals := orderTotals{status: make([]uint8, count), price: make([]int64, count)}
	line := 0
	for order, lineCount := range lines.counts {
		var total int64
		shipped := uint8(0)
		for range lineCount {
			extended := retailPrice(partKeys[line]) * int64(quantities[line])
			discounted := extended * int64(100-discounts[line]) / 100
			total += discounted * int64(100+taxes[line]) / 100
			if shipDates[line] <= currentDay {
				shipped++
			}
			line++
		}
		totals.price[order] = total
		totals.status[order] = orderStatus(shipped, lineCount)
	}
	return totals
}

func orderStatus(shipped, lines uint8) uint8 {
	switch shipped {
	case lines:
		return orderFinished
	case 0:
		return orderOpen
	}
	return orderPartly
}
