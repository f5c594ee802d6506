package dbgen

// Every stream of LINEITEM spends seven draws per order (the comment fourteen),
// however many lines the order has: that is what makes ranges of orders
// reachable without making the orders before them (D2).
const (
	seedLineQuantity    stream = 209208115
	seedLineDiscount    stream = 554590007
	seedLineTax         stream = 721958466
	seedLineInstruction stream = 1371272478
	seedLineMode        stream = 675466456
	seedLinePart        stream = 1808217256
	seedLineSupplier    stream = 2095021727
	seedLineShipDate    stream = 1769349045
	seedLineCommitDate  stream = 904914315
	seedLineReceiptDate stream = 373135028
	seedLineReturnFlag  stream = 717419739
	seedLineComment     stream = 1095462486
)

var (
	returnFlagDomain      = newSharedDomain([]string{"A", "N", "R"})
	lineStatusDomain      = newSharedDomain([]string{"F", "O"})
	shipInstructionDomain = newSharedDomain(shipInstructions)
	shipModeDomain        = newSharedDomain(shipModes)

	lineCommentLength = newTextLength(27)

	lineQuantity    = between(1, 50)
	lineDiscount    = between(0, 10)
	lineTax         = between(0, 8)
	lineSupplier    = between(0, suppliersPerPart-1)
	lineShipDate    = between(1, 121) // days after the order date
	lineCommitDate  = between(30, 90) // days after the order date
	lineReceiptDate = between(1, 30)  // days after the ship date
)

// Codes of l_returnflag and l_linestatus.
const (
	flagAccepted uint8 = iota
	flagNone
	flagReturned
)

const (
	lineFinished uint8 = iota // shipped
	lineOpen
)

func (g *Generator) writeLineItem(w *batchWriter, first, count int64) {
	lines := newLineSet(first, count)
	rows := lines.rows
	addFixed(w, rows, lines.fillOrderKeys)

	partKeys := lines.drawPartKeys(g.units[Part])
	addFixed(w, rows, func(keys []int64) { copy(keys, partKeys) })
	addFixed(w, rows, func(keys []int64) { g.fillLineSuppliers(keys, partKeys, lines) })
	addFixed(w, rows, lines.fillLineNumbers)

	quantities := lines.draw(seedLineQuantity, lineQuantity)
	addFixed(w, rows, func(values []int64) { scaleInto(values, quantities, 100) })
	addFixed(w, rows, func(prices []int64) {
		for i := range prices {
			prices[i] = retailPrice(partKeys[i]) * int64(quantities[i])
		}
	})
	addFixed(w, rows, func(values []int64) { scaleInto(values, lines.draw(seedLineDiscount, lineDiscount), 1) })
	addFixed(w, rows, func(values []int64) { scaleInto(values, lines.draw(seedLineTax, lineTax), 1) })
	g.writeLineDates(w, lines)
	w.addLineCategory(lines, seedLineInstruction, shipInstructionDomain)
	w.addLineCategory(lines, seedLineMode, shipModeDomain)
	w.addText(lines.drawComments())
}

// writeLineDates writes l_returnflag … l_receiptdate, which depend on one
// another.
func (g *Generator) writeLineDates(w *batchWriter, lines *lineSet) {
	rows := lines.rows
	shipDates := lines.shipDates()
	commitDates := lines.draw(seedLineCommitDate, lineCommitDate)
	lines.addOrderDates(commitDates)
	receiptDates := lines.draw(seedLineReceiptDate, lineReceiptDate)
	for i := range receiptDates {
		receiptDates[i] += shipDates[i]
	}
	w.addCategory(rows, returnFlagDomain, func(codes []uint8) { lines.fillReturnFlags(codes, receiptDates) })
	w.addCategory(rows, lineStatusDomain, func(codes []uint8) {
		for i, day := range shipDates {
			codes[i] = lineFinished
			if day > currentDay {
				codes[i] = lineOpen
			}
		}
	})
	addFixed(w, rows, func(days []int32) { copy(days, shipDates) })
	addFixed(w, rows, func(days []int32) { copy(days, commitDates) })
	addFixed(w, rows, func(days []int32) { copy(days, receiptDates) })
}

// fillLineSuppliers draws which of the part's suppliers sends each line.
func (g *Generator) fillLineSuppliers(keys, partKeys []int64, lines *lineSet) {
	suppliers := g.units[Supplier]
	for i, number := range lines.draw(seedLineSupplier, lineSupplier) {
		keys[i] = supplierOfPart(partKeys[i], int64(number), suppliers)
	}
}

// addLineCategory appends a dictionary column with one draw per line.
func (w *batchWriter) addLineCategory(lines *lineSet, seed stream, d *sharedDomain) {
	w.addCategory(lines.rows, d, func(codes []uint8) {
		for i, official := range lines.draw(seed, between(0, int64(len(d.codes))-1)) {
			codes[i] = d.codes[official]
		}
	})
}

func scaleInto(target []int64, values []int32, scale int64) {
	for i, value := range values {
		target[i] = scale * int64(value)
	}
}
