package literal

import (
	"fmt"
	"strings"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// binary reads PostgreSQL's two spellings of bytes, and leaves DuckDB's own.
func binary(text string) (string, error) {
	if digits, ok := strings.CutPrefix(text, `\x`); ok && !strings.Contains(digits, `\`) {
		return hexadecimal(digits)
	}
	if !strings.Contains(text, `\`) && isASCII(text) {
		return text, nil
	}
	return escaped(text)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// hexadecimal writes each pair of digits as an escape; spaces may stand between pairs.
func hexadecimal(digits string) (string, error) {
	out := make([]byte, 0, 2*len(digits))
	for i := 0; i < len(digits); {
		if strings.IndexByte(blanks, digits[i]) >= 0 {
			i++
			continue
		}
		if !isHex(digits[i]) {
			return "", sqlerror.New("22023", "invalid hexadecimal digit: %q", []rune(digits[i:])[0])
		}
		if i+1 == len(digits) || !isHex(digits[i+1]) {
			return "", sqlerror.New("22023", "invalid hexadecimal data: odd number of digits")
		}
		out = append(out, '\\', 'x', digits[i], digits[i+1])
		i += 2
	}
	return string(out), nil
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// escaped reads \\ and \ooo, and bytes above 127, which DuckDB wants escaped.
func escaped(text string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 0x80:
			fmt.Fprintf(&out, `\x%02X`, c)
		case c != '\\':
			out.WriteByte(c)
		case i+1 < len(text) && text[i+1] == '\\':
			out.WriteString(`\x5C`)
			i++
		case i+3 < len(text) && isOctal(text[i+1:i+4]):
			fmt.Fprintf(&out, `\x%02X`, (text[i+1]-'0')<<6|(text[i+2]-'0')<<3|(text[i+3]-'0'))
			i += 3
		case i+3 < len(text) && text[i+1] == 'x' && isHex(text[i+2]) && isHex(text[i+3]): // DuckDB's
			out.WriteString(text[i : i+4])
			i += 3
		default:
			return "", sqlerror.New("22P02", "invalid input syntax for type bytea")
		}
	}
	return out.String(), nil
}

func isOctal(digits string) bool {
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7'
}
