package dbgen

// addressDraws is what an address stream spends per row: one draw for the
// length and one per five characters of the longest address.
const addressDraws = 9

// addressAlphabet is the official order of 64 characters.
const addressAlphabet = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,"

// addresses makes random strings of 10 to 40 characters.
func addresses(rows int, s stream) *packedStrings {
	length := between(variableLength(25))
	result := newPackedStrings(rows, 26)
	for range rows {
		result.bytes = appendAddress(result.bytes, s.next(), length)
		result.endString()
		s = s.after(addressDraws)
	}
	return result
}

// appendAddress appends the address whose length the stream's present seed
// selects.
func appendAddress(target []byte, s stream, length bounds) []byte {
	var bits uint64
	for i := range length.draw(s) {
		if i%5 == 0 {
			s = s.next()
			bits = uniformWide(uint64(s), 1<<31) // 30 of its bits make five characters
		}
		target = append(target, addressAlphabet[bits&63])
		bits >>= 6
	}
	return target
}

// phones makes "CC-AAA-EEE-NNNN" with the country code of the nation that the
// nation stream draws for the same row.
func phones(rows int, nationStream, s stream) *packedStrings {
	var (
		exchange = between(100, 999)
		number   = between(1000, 9999)
		result   = newPackedStrings(rows, len("CC-AAA-EEE-NNNN"))
	)
	for range rows {
		nationStream = nationStream.next()
		result.bytes = appendDigits(result.bytes, 10+nationKey.draw(nationStream), 2)
		for range 2 {
			s = s.next()
			result.bytes = appendDigits(append(result.bytes, '-'), exchange.draw(s), 3)
		}
		s = s.next()
		result.bytes = appendDigits(append(result.bytes, '-'), number.draw(s), 4)
		result.endString()
	}
	return result
}

// taggedNumbers makes tag#000000001 with successive numbers.
func taggedNumbers(tag string, rows int, first int64) *packedStrings {
	result := newPackedStrings(rows, len(tag)+9)
	for i := range int64(rows) {
		result.bytes = appendDigits(append(result.bytes, tag...), first+i, 9)
		result.endString()
	}
	return result
}

// appendDigits appends a number in decimal, with leading zeros up to width.
// Preconditions: value ≥ 0.
func appendDigits(target []byte, value int64, width int) []byte {
	var digits [20]byte
	position := len(digits)
	for value > 0 || position > len(digits)-width {
		position--
		digits[position] = byte('0' + value%10)
		value /= 10
	}
	return append(target, digits[position:]...)
}
