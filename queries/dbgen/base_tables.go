package dbgen

// The seeds of the streams, one per drawn column, fixed by the official
// generator. A stream spends a fixed number of draws per unit (D2).
const (
	seedRegionComment stream = 1500869201 // 2 draws
	seedNationComment stream = 606179079  // 2

	seedSupplierAddress       stream = 706178559  // addressDraws
	seedSupplierNation        stream = 110356601  // 1
	seedSupplierPhone         stream = 884434366  // 3
	seedSupplierBalance       stream = 962338209  // 1
	seedSupplierComment       stream = 1341315363 // 2
	seedSupplierRemark        stream = 202794285  // 1
	seedSupplierRemarkKind    stream = 753643799  // 1
	seedSupplierRemarkGap     stream = 263032577  // 1
	seedSupplierRemarkOffset  stream = 715851524  // 1
	seedCustomerAddress       stream = 881155353  // addressDraws
	seedCustomerNation        stream = 1489529863 // 1
	seedCustomerPhone         stream = 1521138112 // 3
	seedCustomerBalance       stream = 298370230  // 1
	seedCustomerMarketSegment stream = 1140279430 // 1
	seedCustomerComment       stream = 1335826707 // 2
)

var (
	regionNameDomain    = newSharedDomain(regionNames)
	nationNameDomain    = newSharedDomain(nationNames())
	marketSegmentDomain = newSharedDomain(marketSegments)

	regionCommentLength   = newTextLength(72)
	nationCommentLength   = newTextLength(72)
	supplierCommentLength = newTextLength(63)
	customerCommentLength = newTextLength(73)

	accountBalance = between(-99999, 999999)
	nationKey      = between(0, int64(len(nations))-1)
)

func nationNames() []string {
	names := make([]string, len(nations))
	for i, n := range nations {
		names[i] = n.name
	}
	return names
}

func (g *Generator) writeRegion(w *batchWriter, first, count int64) {
	rows := int(count)
	addFixed(w, rows, func(keys []int32) { fillSequence(keys, int32(first)) })
	w.addCategory(rows, regionNameDomain, func(codes []uint8) { copy(codes, regionNameDomain.codes[first:]) })
	w.addDrawnText(rows, seedRegionComment.after(2*first), regionCommentLength)
}

func (g *Generator) writeNation(w *batchWriter, first, count int64) {
	rows := int(count)
	addFixed(w, rows, func(keys []int32) { fillSequence(keys, int32(first)) })
	w.addCategory(rows, nationNameDomain, func(codes []uint8) { copy(codes, nationNameDomain.codes[first:]) })
	addFixed(w, rows, func(keys []int32) {
		for i := range keys {
			keys[i] = nations[int(first)+i].region
		}
	})
	w.addDrawnText(rows, seedNationComment.after(2*first), nationCommentLength)
}

func (g *Generator) writeSupplier(w *batchWriter, first, count int64) {
	rows := int(count)
	addFixed(w, rows, func(keys []int64) { fillSequence(keys, first+1) })
	w.addStrings(taggedNumbers("Supplier#", rows, first+1))
	w.addStrings(addresses(rows, seedSupplierAddress.after(addressDraws*first)))
	addDrawn[int32](w, rows, seedSupplierNation.after(first), nationKey, 1)
	w.addStrings(phones(rows, seedSupplierNation.after(first), seedSupplierPhone.after(3*first)))
	addDrawn[int64](w, rows, seedSupplierBalance.after(first), accountBalance, 1)
	w.addStrings(supplierComments(w.text, first, rows))
}

func (g *Generator) writeCustomer(w *batchWriter, first, count int64) {
	rows := int(count)
	addFixed(w, rows, func(keys []int64) { fillSequence(keys, first+1) })
	w.addStrings(taggedNumbers("Customer#", rows, first+1))
	w.addStrings(addresses(rows, seedCustomerAddress.after(addressDraws*first)))
	addDrawn[int32](w, rows, seedCustomerNation.after(first), nationKey, 1)
	w.addStrings(phones(rows, seedCustomerNation.after(first), seedCustomerPhone.after(3*first)))
	addDrawn[int64](w, rows, seedCustomerBalance.after(first), accountBalance, 1)
	w.addDrawnCategory(rows, seedCustomerMarketSegment.after(first), marketSegmentDomain)
	w.addDrawnText(rows, seedCustomerComment.after(2*first), customerCommentLength)
}

// fillSequence fills values with low, low+1, …
func fillSequence[T int32 | int64](values []T, low T) {
	for i := range values {
		values[i] = low + T(i)
	}
}

// addDrawnText appends a comment column with two draws per row.
func (w *batchWriter) addDrawnText(rows int, s stream, l textLength) {
	excerpts := make([]excerpt, rows)
	drawExcerpts(excerpts, s, l)
	w.addText(excerpts)
}

// supplierComments makes s_comment: about one supplier in a thousand has a
// remark of the Better Business Bureau, "Customer … Complaints" or
// "Customer … Recommends", written over its text. Query 16 looks for it.
func supplierComments(text []byte, first int64, rows int) *packedStrings {
	const remarkSize = len("Customer ") + len("Complaints")
	var (
		hasRemark = between(1, 10000)
		kind      = between(0, 100)
		comment   = seedSupplierComment.after(2 * first)
		remark    = seedSupplierRemark.after(first)
		kinds     = seedSupplierRemarkKind.after(first)
		gaps      = seedSupplierRemarkGap.after(first)
		offsets   = seedSupplierRemarkOffset.after(first)
	)
	excerpts := make([]excerpt, rows)
	drawExcerpts(excerpts, comment, supplierCommentLength)
	result := newPackedStrings(rows, 64)
	for _, row := range excerpts {
		begin := len(result.bytes)
		result.bytes = append(result.bytes, text[row.offset:row.offset+row.length]...)
		value := result.bytes[begin:]
		remark, kinds, gaps, offsets = remark.next(), kinds.next(), gaps.next(), offsets.next()
		if hasRemark.draw(remark) <= 10 {
			gap := between(0, int64(len(value)-remarkSize)).draw(gaps)
			offset := between(0, int64(len(value)-remarkSize)-gap).draw(offsets)
			copy(value[offset:], "Customer ")
			verdict := "Recommends"
			if kind.draw(kinds) < 50 {
				verdict = "Complaints"
			}
			copy(value[offset+int64(len("Customer "))+gap:], verdict)
		}
		result.endString()
	}
	return result
}
