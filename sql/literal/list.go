package literal

import "strings"

// list writes an array in braces as one in brackets. What does not begin with a brace, or is no array, is left as it
// is.
func list(text string, element Form) (string, error) {
	trimmed := strings.Trim(text, blanks)
	if !strings.HasPrefix(trimmed, "{") {
		return text, nil
	}
	r := &reader{text: trimmed, element: element}
	if !r.members() || r.at != len(trimmed) {
		if r.failed != nil {
			return "", r.failed
		}
		return text, nil
	}
	return r.out.String(), nil
}

// reader goes through an array once.
type reader struct {
	text    string
	at      int
	element Form
	out     strings.Builder
	failed  error
}

// members reads "{…}" with what is nested in it; false: it is no array.
func (r *reader) members() bool {
	r.at++
	r.out.WriteByte('[')
	r.blank()
	if r.is('}') {
		r.at++
		r.out.WriteByte(']')
		return true
	}
	for {
		r.blank()
		ok := false
		if r.is('{') {
			ok = r.members()
		} else {
			ok = r.member()
		}
		if !ok {
			return false
		}
		r.blank()
		switch {
		case r.is(','):
			r.at++
			r.out.WriteByte(',')
		case r.is('}'):
			r.at++
			r.out.WriteByte(']')
			return true
		default:
			return false
		}
	}
}

func (r *reader) is(c byte) bool { return r.at < len(r.text) && r.text[r.at] == c }

func (r *reader) blank() {
	for r.at < len(r.text) && strings.IndexByte(blanks, r.text[r.at]) >= 0 {
		r.at++
	}
}

// member reads one value, quoted or not.
func (r *reader) member() bool {
	var value []byte
	quoted := r.is('"')
	if quoted {
		r.at++
	}
	kept := 0 // how much of the value is no space at its end
	for ; ; r.at++ {
		if r.at == len(r.text) {
			return false
		}
		c := r.text[r.at]
		switch {
		case c == '\\':
			if r.at++; r.at == len(r.text) {
				return false
			}
			value = append(value, r.text[r.at])
			kept = len(value)
			continue
		case quoted && c == '"':
			r.at++
			return r.write(string(value), true)
		case !quoted && (c == ',' || c == '}'):
			return kept > 0 && r.write(string(value[:kept]), false)
		case !quoted && (c == '{' || c == '"'):
			return false
		}
		value = append(value, c)
		if quoted || strings.IndexByte(blanks, c) < 0 {
			kept = len(value)
		}
	}
}

// write gives DuckDB a value; only what is not quoted may be NULL.
func (r *reader) write(value string, quoted bool) bool {
	if !quoted && strings.EqualFold(value, "null") {
		r.out.WriteString("NULL")
		return true
	}
	text, err := r.element.Translate(value)
	if err != nil {
		r.failed = err
		return false
	}
	if r.element.base == json { // which DuckDB does not take out of quotes
		r.out.WriteString(text)
		return true
	}
	if isPlain(text) {
		r.out.WriteString(text)
		return true
	}
	r.out.WriteByte('"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			r.out.WriteByte('\\')
		}
		r.out.WriteByte(text[i])
	}
	r.out.WriteByte('"')
	return true
}

// isPlain reports whether a value needs no quotes in an array, so that most arrays do not grow.
func isPlain(text string) bool {
	if text == "" || strings.EqualFold(text, "null") {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '.' || c == '-' || c == '+' || c == '_') {
			return false
		}
	}
	return true
}
