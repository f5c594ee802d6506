package key

import "github.com/apache/arrow-go/v18/arrow"

// Digest is of the first row of columns; false: its key is absent.
func Digest(nulls bool, columns ...arrow.Array) ([2]uint64, bool, error) {
	d, err := newDigester(columns, nulls)
	if err != nil {
		return [2]uint64{}, false, err
	}
	sum, there := d.of(0)
	return sum, there, nil
}
