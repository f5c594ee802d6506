package positions

import "math"

// numberBits is how many bits of a row's number are its position in its chunk.
const numberBits = 32

// NumberOf is the number of the first row of a chunk of so many rows, by which the table's rows are distinguished;
// those of the others follow. False: they are too many for that.
func NumberOf(chunk int, rows int64) (int64, bool) {
	return int64(chunk) << numberBits, rows <= math.MaxUint32 && chunk <= math.MaxInt32
}

// Split is a row's number taken apart: its chunk's, and its position in that.
func Split(number int64) (chunk int, at int64) {
	return int(number >> numberBits), number & math.MaxUint32
}
