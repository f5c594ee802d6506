package frontend

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// arrayText writes an array as the engine's list literal, [1, 2, NULL], which the engine converts to the list type that
// the statement needs.
func arrayText(a *pgformat.Array) (string, error) {
	if len(a.Dimensions) > 1 {
		return nestedText(a, a.Dimensions, a.Elements)
	}
	var out strings.Builder
	out.WriteByte('[')
	for i, element := range a.Elements {
		if i > 0 {
			out.WriteString(", ")
		}
		text, null, err := scalarText(a.ElementOID, element)
		if err != nil {
			return "", err
		}
		if null {
			out.WriteString("NULL")
			continue
		}
		if a.ElementOID == pgformat.JSON || a.ElementOID == pgformat.JSONB { // in quotes it would be a JSON string
			out.WriteString(text)
			continue
		}
		out.WriteString(quoteElement(text))
	}
	out.WriteByte(']')
	return out.String(), nil
}

// nestedText writes an array of several dimensions as a list of lists.
func nestedText(a *pgformat.Array, dimensions []int, elements []any) (string, error) {
	if dimensions[0] == 0 {
		return "[]", nil
	}
	width := len(elements) / dimensions[0]
	parts := make([]string, dimensions[0])
	for i := range parts {
		inner := &pgformat.Array{ElementOID: a.ElementOID, Dimensions: dimensions[1:], Elements: elements[i*width : (i+1)*width]}
		text, err := arrayText(inner)
		if err != nil {
			return "", err
		}
		parts[i] = text
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}

func quoteElement(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// scalarText writes a decoded value as text that the engine converts back.
func scalarText(oid uint32, data any) (text string, null bool, err error) {
	switch v := data.(type) {
	case nil:
		return "", true, nil
	case string:
		return v, false, nil
	case bool:
		return strconv.FormatBool(v), false, nil
	case int64:
		return strconv.FormatInt(v, 10), false, nil
	case float64:
		bits := 64
		if oid == pgformat.Float4 {
			bits = 32
		}
		return strconv.FormatFloat(v, 'g', -1, bits), false, nil
	case []byte:
		return bytesText(v), false, nil
	case pgformat.Numeric:
		return string(v), false, nil
	case pgformat.UUID:
		return uuidText(v), false, nil
	case *pgformat.Array:
		text, err := arrayText(v)
		return text, false, err
	}
	text, err = momentText(oid, data)
	return text, false, err
}

// momentText is scalarText for dates, times and intervals.
func momentText(oid uint32, data any) (string, error) {
	switch v := data.(type) {
	case pgformat.Date:
		if text, infinite := date(v).(string); infinite {
			return text, nil
		}
		return time.Unix(int64(v)*86400, 0).UTC().Format("2006-01-02"), nil
	case pgformat.Timestamp:
		at, finite := v.Time()
		if !finite {
			return timestamp(oid, v).(string), nil
		}
		if oid == pgformat.TimestampTZ {
			return at.Format("2006-01-02 15:04:05.999999") + "+00", nil
		}
		return at.Format("2006-01-02 15:04:05.999999"), nil
	case pgformat.TimeOfDay:
		return fmt.Sprintf("%02d:%02d:%02d.%06d", v/3_600_000_000, v/60_000_000%60, v/1_000_000%60, v%1_000_000), nil
	case pgformat.Interval:
		return fmt.Sprintf("%d months %d days %d microseconds", v.Months, v.Days, v.Microseconds), nil
	}
	return "", &wire.Error{State: "0A000", Message: fmt.Sprintf("values of type OID %d cannot be passed", oid)}
}

// bytesText writes bytes as the engine's BLOB literal: every byte as \xAB.
func bytesText(v []byte) string {
	var out strings.Builder
	out.Grow(4 * len(v))
	for _, b := range v {
		out.WriteString(`\x`)
		out.WriteString(hex.EncodeToString([]byte{b}))
	}
	return out.String()
}
