package statement

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquoteIdentifier gives the name that "a""b" or U&"d\0061ta" stands for; names are not empty.
func unquoteIdentifier(s string) (string, bool) {
	if s[0] != '"' {
		body, ok := unicodeEscapes(strings.ReplaceAll(s[3:len(s)-1], `""`, `"`), '\\')
		return body, ok && body != ""
	}
	name := s[1 : len(s)-1]
	if strings.Contains(name, `"`) {
		name = strings.ReplaceAll(name, `""`, `"`)
	}
	return name, name != ""
}

// unquote gives the value of a string token; not ok for bit strings and for escapes that mean nothing.
func unquote(s string) (string, bool) {
	switch {
	case s[0] == '\'':
		return doubled(s), true
	case s[0] == '$':
		tag := strings.IndexByte(s[1:], '$') + 2
		return s[tag : len(s)-tag], true
	case s[0]|0x20 == 'e':
		return backslashes(s[1:])
	case s[0]|0x20 == 'u':
		return unicodeEscapes(doubled(s[2:]), '\\')
	}
	return "", false
}

// doubled is the value of 'it”s', of any number of lines.
func doubled(s string) string {
	var out strings.Builder
	for at := 1; at < len(s); {
		if s[at] != '\'' {
			out.WriteByte(s[at])
			at++
			continue
		}
		if more := continuation(s, at+1); more > 0 {
			at = more
			continue
		}
		if at+1 < len(s) {
			out.WriteByte('\'')
		}
		at += 2
	}
	return out.String()
}

// backslashes is the value of E'…', given from its first quote on.
func backslashes(s string) (string, bool) {
	var out strings.Builder
	high := rune(0) // the first surrogate of a pair
	for at := 1; at < len(s); {
		code, n := codePoint(s[at:])
		if high != 0 && n == 0 {
			return "", false
		}
		switch {
		case n > 0:
			if !writeRune(&out, &high, code) {
				return "", false
			}
			at += n
		case s[at] == '\'':
			if more := continuation(s, at+1); more > 0 {
				at = more
				continue
			}
			if at+1 < len(s) {
				out.WriteByte('\'')
			}
			at += 2
		case s[at] == '\\':
			b, n, ok := escape(s[at+1:])
			if !ok {
				return "", false
			}
			out.WriteString(b)
			at += 1 + n
		default:
			out.WriteByte(s[at])
			at++
		}
	}
	return out.String(), utf8.ValidString(out.String())
}

// escape reads what is behind a backslash: its value and how long it is.
func escape(s string) (string, int, bool) {
	switch c := s[0]; {
	case strings.IndexByte("bfnrt", c) >= 0:
		return string("\b\f\n\r\t"[strings.IndexByte("bfnrt", c)]), 1, true
	case c >= '0' && c <= '7':
		return octets(s, 0, 3, 8)
	case c == 'x' && digits(s[1:], 2, 16) > 0:
		return octets(s, 1, 2, 16)
	case c == 'u' || c == 'U': // with too few digits: codePoint reads the others
		return "", 0, false
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size], size, true
}

// codePoint reads \u0061 or \U00000061: its value, and how long it is; 0: it is none.
func codePoint(s string) (rune, int) {
	if len(s) < 2 || s[0] != '\\' || s[1]|0x20 != 'u' {
		return 0, 0
	}
	n := map[byte]int{'u': 4, 'U': 8}[s[1]]
	if digits(s[2:], n, 16) < n {
		return 0, 0
	}
	value, _ := strconv.ParseUint(s[2:2+n], 16, 32)
	return rune(min(value, utf8.MaxRune+1)), 2 + n
}

func octets(s string, from, most, base int) (string, int, bool) {
	n := digits(s[from:], most, base)
	value, err := strconv.ParseUint(s[from:from+n], base, 16)
	return string([]byte{byte(value)}), from + n, err == nil && value > 0 && value < 256
}

// digits counts the digits that s begins with, at most most.
func digits(s string, most, base int) (n int) {
	for n < min(most, len(s)) {
		if _, err := strconv.ParseUint(s[n:n+1], base, 8); err != nil {
			break
		}
		n++
	}
	return n
}

// unicodeEscapes replaces \0061 and \+000061, and a pair of surrogates, where escape is the backslash.
func unicodeEscapes(s string, escape byte) (string, bool) {
	var out strings.Builder
	high := rune(0) // the first surrogate of a pair
	for at := 0; at < len(s); {
		if s[at] != escape || strings.HasPrefix(s[at+1:], string(escape)) {
			if high != 0 {
				return "", false
			}
			out.WriteByte(s[at])
			if s[at] == escape {
				at++
			}
			at++
			continue
		}
		from, n := at+1, 4
		if strings.HasPrefix(s[from:], "+") {
			from, n = from+1, 6
		}
		if digits(s[from:], n, 16) < n {
			return "", false
		}
		value, err := strconv.ParseUint(s[from:from+n], 16, 32)
		if err != nil || !writeRune(&out, &high, rune(value)) {
			return "", false
		}
		at = from + n
	}
	return out.String(), high == 0
}

// writeRune writes what an escape stands for, unless it is the first surrogate of a pair, which is kept for the second one. Not ok: it is no
// character.
func writeRune(out *strings.Builder, high *rune, r rune) bool {
	switch {
	case *high != 0:
		r = utf16.DecodeRune(*high, r)
		*high = 0
		if r == utf8.RuneError {
			return false
		}
	case r >= 0xd800 && r < 0xdc00:
		*high = r
		return true
	}
	if r == 0 || !utf8.ValidRune(r) {
		return false
	}
	out.WriteRune(r)
	return true
}
