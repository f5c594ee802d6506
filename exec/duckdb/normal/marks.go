package normal

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// CheckMarks finds a mark, of a field from outside or of one inside of it, that does not go with the type which it
// marks: DuckDB trusts marks, and so does this package in DuckDB's own results. A mark that is unknown here may be of
// any type.
func CheckMarks(f arrow.Field) error {
	name, marked := f.Metadata.GetValue(extensionName)
	if marked && !mayMark(name, f) {
		return fmt.Errorf("%s cannot be stored as %s", name, f.Type)
	}
	for _, child := range childFields(f.Type) {
		if err := CheckMarks(child); err != nil {
			return err
		}
	}
	return nil
}

func mayMark(name string, f arrow.Field) bool {
	switch name {
	case "arrow.uuid":
		return isBytes(f.Type, 16)
	case "arrow.bool8":
		return f.Type.ID() == arrow.INT8
	case JSON:
		return f.Type.ID() == arrow.STRING || f.Type.ID() == arrow.LARGE_STRING || f.Type.ID() == arrow.STRING_VIEW
	}
	switch opaqueName(f) {
	case "hugeint", "uhugeint":
		return isBytes(f.Type, 16)
	case "time_tz":
		return isBytes(f.Type, 8)
	case "bit", "bignum":
		return f.Type.ID() == arrow.BINARY || f.Type.ID() == arrow.LARGE_BINARY || f.Type.ID() == arrow.BINARY_VIEW
	}
	return true
}

func isBytes(t arrow.DataType, width int) bool {
	b, ok := t.(*arrow.FixedSizeBinaryType)
	return ok && b.ByteWidth == width
}
