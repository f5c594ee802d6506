package lex

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is what a string stands for; not ok for bit strings, for escapes that mean nothing, and for every other token.
func (t Token) Value() (string, bool) {
	if t.Kind != String {
		return "", false
	}
	switch c := t.Text[0]; {
	case c == '\'':
		return t.Body(), true
	case c == '$':
		tag := strings.IndexByte(t.Text[1:], '$') + 2
		return t.Text[tag : len(t.Text)-tag], true
	case c|0x20 == 'e':
		return backslashes(t.Text[1:])
	case c|0x20 == 'u':
		return t.Unescape('\\')
	}
	return "", false
}

// Body is what stands between the quotes of a string or a quoted identifier, whatever is before the first of them: one
// quote for two, and the lines of a string joined. Escapes are left as they are.
func (t Token) Body() string {
	if t.Kind == Quoted {
		return strings.ReplaceAll(t.Text[strings.IndexByte(t.Text, '"')+1:len(t.Text)-1], `""`, `"`)
	}
	var out strings.Builder
	s := t.Text[strings.IndexByte(t.Text, '\'')+1:]
	for at := 0; at < len(s); {
		if s[at] != '\'' {
			out.WriteByte(s[at])
			at++
			continue
		}
		if more := Client.continuation(s, at+1); more > 0 {
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
			if more := Client.continuation(s, at+1); more > 0 {
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

// Unescape is the Body of U&'…' or U&"…" with characters for \0061, \+000061 and pairs of surrogates, where escape is
// the backslash.
func (t Token) Unescape(escape byte) (string, bool) {
	s := t.Body()
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

// writeRune writes what an escape stands for, unless it is the first surrogate of a pair, which is kept for the second
// one. Not ok: it is no character.
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
