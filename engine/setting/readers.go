package setting

import (
	"regexp"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/engine/optimization"
)

// readers check the text of settings that are strings and mean something.
var readers = map[string]func(s *Setting, text string) (string, error){
	"client_encoding": readEncoding, "DateStyle": readDateStyle, "search_path": readPath, "temp_tablespaces": readNames,
	"csm.disable": readOptimizations,
}

// otherEncodings are how the names of PostgreSQL's encodings begin, but UTF8's, without what stands between letters and digits.
var otherEncodings = regexp.MustCompile(`^(?:euc|iso8859|koi8|latin|win|sjis|shiftjis|big5|gb|uhc|johab|mule|abc|alt|tcvn|vscii|sqlascii|mskanji)`)

// readOptimizations takes a list of what queries are to do without.
func readOptimizations(s *Setting, text string) (string, error) {
	set, unknown := optimization.Parse(text)
	if unknown != "" {
		e := s.Invalid(unknown)
		e.HintText = "Available values, with commas between them: " + optimization.Names() + "."
		return "", e
	}
	return set.String(), nil
}

// readEncoding takes every spelling of UTF8, quotes and all, as PostgreSQL does.
func readEncoding(s *Setting, text string) (string, error) {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text))
	switch {
	case name == "utf8" || name == "unicode":
		return "UTF8", nil
	case otherEncodings.MatchString(name):
		return text, nil // which is not possible
	}
	e := s.Invalid(text)
	e.HintText = s.Advice
	return "", e
}

// readDateStyle gives a style as PostgreSQL shows it, if it is one whose dates are as they are here: how ambiguous input is read is no
// matter, because ISO's is the only one.
func readDateStyle(s *Setting, text string) (string, error) {
	order := "MDY"
	for part := range strings.SplitSeq(text, ",") {
		word := strings.ToUpper(strings.Trim(strings.TrimSpace(part), `"`))
		switch word {
		case "ISO", "DEFAULT":
		case "MDY", "DMY", "YMD":
			order = word
		case "US", "NONEURO", "NONEUROPEAN":
			order = "MDY"
		case "EURO", "EUROPEAN":
			order = "DMY"
		case "SQL", "POSTGRES", "GERMAN":
			e := failure("0A000", `parameter "DateStyle" cannot be set to "%s" here: dates are shown in ISO style alone`, text)
			e.HintText = "Set DateStyle to ISO, and use to_char for another style."
			return "", e
		default:
			e := s.Invalid(text)
			e.DetailText = `Unrecognized key word: "` + strings.ToLower(word) + `".`
			return "", e
		}
	}
	return "ISO, " + order, nil
}

// readPath refuses a place for temporary objects: they are always found first, and made only where that is said.
func readPath(s *Setting, text string) (string, error) {
	text, err := readNames(s, text)
	if err != nil {
		return "", err
	}
	if names, _ := Names(text); slices.Contains(names, "pg_temp") {
		e := failure("0A000", `parameter "search_path" cannot be set to "%s" here: pg_temp has no place in it`, text)
		e.HintText = "Leave pg_temp out: temporary objects are found first, and CREATE TEMP, or pg_temp.name, makes them."
		return "", e
	}
	return text, nil
}

func readNames(s *Setting, text string) (string, error) {
	if _, ok := Names(text); !ok {
		e := s.Invalid(text)
		e.DetailText = "List syntax is invalid."
		return "", e
	}
	return text, nil
}

// Names reads a list of names, as search_path has it: folded but for those in quotation marks. ok is false if it is none.
func Names(text string) (names []string, ok bool) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, true
	}
	for {
		var name string
		if strings.HasPrefix(rest, `"`) {
			if name, rest, ok = quotedName(rest[1:]); !ok {
				return nil, false
			}
		} else {
			end := strings.IndexAny(rest, ", \t\r\n\f\v")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, false
			}
			name, rest = strings.ToLower(rest[:end]), rest[end:]
		}
		names = append(names, name)
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return names, true
		}
		if !strings.HasPrefix(rest, ",") {
			return nil, false
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// quotedName reads up to the closing quotation mark.
func quotedName(text string) (name, rest string, ok bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `"`)
		if !found {
			return "", "", false
		}
		b.WriteString(before)
		if !strings.HasPrefix(after, `"`) {
			return b.String(), after, true
		}
		b.WriteByte('"')
		text = after[1:]
	}
}
