package cast

import (
	"encoding/hex"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// DuckDB writes bytes to JSON in a way that does not say which ones they were: of '\xDE4144', three bytes, it makes
// \xDEAD. What becomes text here to be read again is written as PostgreSQL does, as casts do.

// HoldsBytes reports whether values of a type are bytes, or have some inside.
func HoldsBytes(t arrow.DataType) bool {
	if isBytes(t) {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	if !ok {
		return false
	}
	for _, f := range nested.Fields() {
		if HoldsBytes(f.Type) {
			return true
		}
	}
	return false
}

func isBytes(t arrow.DataType) bool {
	return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY || t.ID() == arrow.BINARY_VIEW
}

// BytesConstant is row i of a column as an expression, if it is of bytes or a list of them.
func BytesConstant(column arrow.Array, i int) (string, bool, error) {
	if !HoldsBytes(column.DataType()) || column.IsNull(i) {
		return "", false, nil
	}
	switch c := column.(type) {
	case interface{ Value(int) []byte }:
		return "CAST(" + duckdb.QuoteLiteral(`\x`+hex.EncodeToString(c.Value(i))) + " AS BLOB)", true, nil
	case array.ListLike:
		var members []string
		for start, end := c.ValueOffsets(i); start < end; start++ {
			member, ok, err := BytesConstant(c.ListValues(), int(start))
			if err != nil {
				return "", false, err
			}
			if !ok {
				member = "CAST(NULL AS BLOB)"
			}
			members = append(members, member)
		}
		if len(members) > 0 {
			return "[" + strings.Join(members, ", ") + "]", true, nil
		}
		return "", false, nil
	}
	return "", false, sqlerror.New("0A000", "bytes inside of a STRUCT or a MAP cannot be passed to EXECUTE").
		WithHint("Pass the bytes, and make the value of them in the statement.")
}

// BytesShown is a query whose columns of bytes are text.
func BytesShown(query string, schema *arrow.Schema) (string, error) {
	var list []string
	for _, f := range schema.Fields() {
		name := duckdb.QuoteIdentifier(f.Name)
		if !HoldsBytes(f.Type) {
			continue
		}
		shown, err := shownBytes("csm_out."+name, f)
		if err != nil {
			return "", err
		}
		list = append(list, shown+" AS "+name)
	}
	if list == nil {
		return query, nil
	}
	return "SELECT * REPLACE (" + strings.Join(list, ", ") + ") FROM (" + query + "\n) AS csm_out", nil
}

func shownBytes(value string, f arrow.Field) (string, error) {
	if isBytes(f.Type) {
		return `'\x' || lower(hex(` + value + "))", nil
	}
	if t, ok := f.Type.(arrow.ListLikeType); ok && isBytes(t.Elem()) {
		return "list_transform(" + value + `, lambda x: '\x' || lower(hex(x)))`, nil
	}
	return "", sqlerror.New("0A000", "column %q: bytes inside of %s cannot be written as text", f.Name, f.Type).
		WithHint("FORMAT parquet keeps them.")
}
