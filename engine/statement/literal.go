package statement

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unquoteIdentifier gives the name that "a""b" or U&"d\0061ta" stands for; names are not empty.
func unquoteIdentifier(s string) (string, bool) {
	if s[0] != '"' {
		body, ok := unicodeEscapes(strings.ReplaceAll(s[3:len(s)-1], `""`, `"`))
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
		return unicodeEscapes(doubled(s[2:]))
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
	for at := 1; at < len(s); {
		switch {
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
	case c == 'u' || c == 'U':
		n := map[byte]int{'u': 4, 'U': 8}[c]
		if digits(s[1:], n, 16) < n {
			return "", 0, false
		}
		value, err := strconv.ParseUint(s[1:1+n], 16, 32)
		return string(rune(value)), 1 + n, err == nil && value > 0 && utf8.ValidRune(rune(value))
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size], size, true
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

// unicodeEscapes replaces \0061 and \+000061.
func unicodeEscapes(s string) (string, bool) {
	var out strings.Builder
	for s != "" {
		before, after, found := strings.Cut(s, `\`)
		out.WriteString(before)
		if !found {
			break
		}
		if strings.HasPrefix(after, `\`) {
			out.WriteByte('\\')
			s = after[1:]
			continue
		}
		n := 4
		if strings.HasPrefix(after, "+") {
			after, n = after[1:], 6
		}
		if digits(after, n, 16) < n {
			return "", false
		}
		value, err := strconv.ParseUint(after[:n], 16, 32)
		if err != nil || value == 0 || !utf8.ValidRune(rune(value)) {
			return "", false
		}
		out.WriteRune(rune(value))
		s = after[n:]
	}
	return out.String(), true
}
