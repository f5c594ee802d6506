package shell

import "strings"

// complete tells whether a text ends outside of quotes and comments with a semicolon: then its statements can run. A text
// of nothing but white space and comments is not complete, and costs nothing to go on with.
func complete(text string) bool {
	ended := false
	for i := 0; i < len(text); {
		next := skip(text[i:])
		if next < 0 {
			return false // a quote or comment that goes on
		}
		if next > 0 {
			if text[i] != '-' && text[i] != '/' { // a comment changes nothing
				ended = false
			}
			i += next
			continue
		}
		switch text[i] {
		case ';':
			ended = true
		case ' ', '\t', '\n', '\r':
		default:
			ended = false
		}
		i++
	}
	return ended
}

// skip is the length of the quoted text or comment at the start, 0 if there is none, -1 if it does not end.
func skip(text string) int {
	switch {
	case text[0] == '\'' || text[0] == '"':
		return closing(text, 1, text[:1])
	case strings.HasPrefix(text, "--"):
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end + 1
		}
		return len(text) // the text ends with the comment: what was before counts
	case strings.HasPrefix(text, "/*"):
		return closing(text, 2, "*/")
	case text[0] == '$':
		if tag := dollarTag(text); tag != "" {
			return closing(text, len(tag), tag)
		}
	}
	return 0
}

func closing(text string, from int, mark string) int {
	if end := strings.Index(text[from:], mark); end >= 0 {
		return from + end + len(mark)
	}
	return -1
}

// dollarTag is the $tag$ at the start, or "" ($1 is a parameter).
func dollarTag(text string) string {
	end := strings.IndexByte(text[1:], '$')
	if end < 0 {
		return ""
	}
	tag := text[1 : 1+end]
	for i, r := range tag {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
		if !letter && (i == 0 || r < '0' || r > '9') {
			return ""
		}
	}
	return text[:end+2]
}
