package descriptor

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ValidateData checks what depends on a batch's bytes (D5): offsets monotonic and within their data, views within their
// buffers, dictionary codes and union codes below their bounds, run ends ascending, null counts right. The lender does
// it once when it seals, and a reader does it when it does not trust the lender. With text it also checks that strings
// are UTF-8. Faults wrap ErrData and name the column.
func ValidateData(batch arrow.RecordBatch, text bool) (err error) {
	column := 0
	defer func() { // arrow-go's checks index by what they check; a miss must not take the process along
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: column %q: %v", ErrData, batch.ColumnName(column), r)
		}
	}()
	for ; column < int(batch.NumCols()); column++ {
		if err := array.ValidateFull(batch.Column(column)); err != nil {
			return fmt.Errorf("%w: column %q: %w", ErrData, batch.ColumnName(column), err)
		}
		if !text {
			continue
		}
		if row, ok := firstBadText(batch.Column(column)); ok {
			return fmt.Errorf("%w: column %q: value %d is not UTF-8", ErrData, batch.ColumnName(column), row)
		}
	}
	return nil
}

// firstBadText looks at string columns and at dictionaries of strings, which is where SQL's text comes from.
func firstBadText(a arrow.Array) (int, bool) {
	if d, ok := a.(*array.Dictionary); ok {
		return firstBadText(d.Dictionary())
	}
	text, ok := a.(array.StringLike)
	if !ok {
		return 0, false
	}
	for i := range text.Len() {
		if text.IsValid(i) && !utf8.ValidString(text.Value(i)) {
			return i, true
		}
	}
	return 0, false
}
