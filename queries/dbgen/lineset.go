package dbgen

// lineSet is a range of orders seen as its lines.
type lineSet struct {
	first  int64   // orders before the range
	counts []uint8 // lines of each order
	rows   int     // their sum
}

func newLineSet(first, count int64) *lineSet {
	lines := &lineSet{first: first, counts: make([]uint8, count)}
	s := seedOrderLineCount.after(first)
	for i := range lines.counts {
		s = s.next()
		lines.counts[i] = uint8(orderLineCount.draw(s))
		lines.rows += int(lines.counts[i])
	}
	return lines
}

// sumLineCounts returns how many lines the orders [first, first+count) have.
func sumLineCounts(first, count int64) int64 {
	s := uint64(seedOrderLineCount.after(first))
	sum := count // one line each, and up to six more
	for ; count >= 4; count -= 4 {
		// Four draws that do not wait for one another.
		fourth := multiplyMod(s, multiplier4)
		sum += int64(uniform(multiplyMod(s, multiplier), linesPerOrderMax) +
			uniform(multiplyMod(s, multiplier2), linesPerOrderMax) +
			uniform(multiplyMod(s, multiplier3), linesPerOrderMax) +
			uniform(fourth, linesPerOrderMax))
		s = fourth
	}
	for ; count > 0; count-- {
		s = multiplyMod(s, multiplier)
		sum += int64(uniform(s, linesPerOrderMax))
	}
	return sum
}

// scratchRows is how much room the draws need: they always write the seven
// draws of an order, and the next order overwrites those that it does not use.
// That costs three superfluous draws per order and saves a loop whose length
// no branch predictor can know.
func (l *lineSet) scratchRows() int { return l.rows + linesPerOrderMax }

// draw returns one draw per line.
// Preconditions: b.span ≤ exactSpanMax and the values fit into 32 bits.
func (l *lineSet) draw(seed stream, b bounds) []int32 {
	target := make([]int32, l.scratchRows())
	s := uint64(seed.after(linesPerOrderMax * l.first))
	low, span := int32(b.low), b.span
	position := 0
	for _, count := range l.counts {
		window := target[position : position+linesPerOrderMax : position+linesPerOrderMax]
		last := multiplyMod(s, multiplier7)
		window[0] = low + int32(uniform(multiplyMod(s, multiplier), span))
		window[1] = low + int32(uniform(multiplyMod(s, multiplier2), span))
		window[2] = low + int32(uniform(multiplyMod(s, multiplier3), span))
		window[3] = low + int32(uniform(multiplyMod(s, multiplier4), span))
		window[4] = low + int32(uniform(multiplyMod(s, multiplier5), span))
		window[5] = low + int32(uniform(multiplyMod(s, multiplier6), span))
		window[6] = low + int32(uniform(last, span))
		s = last
		position += int(count)
	}
	return target[:l.rows]
}

// drawPartKeys returns l_partkey, whose span passes exactSpanMax from scale
// factor 11 on.
func (l *lineSet) drawPartKeys(parts int64) []int64 {
	target := make([]int64, l.scratchRows())
	s := uint64(seedLinePart.after(linesPerOrderMax * l.first))
	span := uint64(parts)
	position := 0
	for _, count := range l.counts {
		window := target[position : position+linesPerOrderMax : position+linesPerOrderMax]
		last := multiplyMod(s, multiplier7)
		window[0] = 1 + int64(uniformWide(multiplyMod(s, multiplier), span))
		window[1] = 1 + int64(uniformWide(multiplyMod(s, multiplier2), span))
		window[2] = 1 + int64(uniformWide(multiplyMod(s, multiplier3), span))
		window[3] = 1 + int64(uniformWide(multiplyMod(s, multiplier4), span))
		window[4] = 1 + int64(uniformWide(multiplyMod(s, multiplier5), span))
		window[5] = 1 + int64(uniformWide(multiplyMod(s, multiplier6), span))
		window[6] = 1 + int64(uniformWide(last, span))
		s = last
		position += int(count)
	}
	return target[:l.rows]
}

// drawComments returns the excerpts of l_comment.
func (l *lineSet) drawComments() []excerpt {
	target := make([]excerpt, l.rows)
	s := uint64(seedLineComment.after(2 * linesPerOrderMax * l.first))
	position := 0
	for _, count := range l.counts {
		drawExcerpts(target[position:position+int(count)], stream(s), lineCommentLength)
		s = multiplyMod(s, multiplier14)
		position += int(count)
	}
	return target
}

// shipDates returns l_shipdate.
func (l *lineSet) shipDates() []int32 {
	days := l.draw(seedLineShipDate, lineShipDate)
	l.addOrderDates(days)
	return days
}

// addOrderDates adds each line's order date.
func (l *lineSet) addOrderDates(days []int32) {
	s := seedOrderDate.after(l.first)
	position := 0
	for _, count := range l.counts {
		s = s.next()
		day := int32(orderDate.draw(s))
		for i := range days[position : position+int(count)] {
			days[position+i] += day
		}
		position += int(count)
	}
}

func (l *lineSet) fillOrderKeys(keys []int64) {
	position := 0
	for i, count := range l.counts {
		key := orderKey(l.first + 1 + int64(i))
		for j := range keys[position : position+int(count)] {
			keys[position+j] = key
		}
		position += int(count)
	}
}

func (l *lineSet) fillLineNumbers(numbers []int64) {
	position := 0
	for _, count := range l.counts {
		fillSequence(numbers[position:position+int(count)], 1)
		position += int(count)
	}
}

// fillReturnFlags draws l_returnflag. Only a line that has arrived spends a
// draw, so that the draws of an order depend on the dates of its lines.
func (l *lineSet) fillReturnFlags(codes []uint8, receiptDates []int32) {
	official := [2]uint8{flagReturned, flagAccepted}
	s := uint64(seedLineReturnFlag.after(linesPerOrderMax * l.first))
	position := 0
	for _, count := range l.counts {
		draw := s
		for range count {
			codes[position] = flagNone
			if receiptDates[position] <= currentDay {
				draw = multiplyMod(draw, multiplier)
				codes[position] = official[uniform(draw, 2)]
			}
			position++
		}
		s = multiplyMod(s, multiplier7)
	}
}
