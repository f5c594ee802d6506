package setting

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// readers check the text of settings that are strings and mean something.
var readers = map[string]func(s *Setting, of Values, text string) (string, error){
	"client_encoding": readEncoding, "DateStyle": readDateStyle, "search_path": readPath, "temp_tablespaces": readNames,
	"csm.disable": readOptimizations,
}

// otherEncodings are how the names of PostgreSQL's encodings begin, but UTF8's, without what stands between letters and
// digits.
var otherEncodings = regexp.MustCompile(`^(?:euc|iso8859|koi8|latin|win|sjis|shiftjis|big5|gb|uhc|johab|mule|abc|alt|tcvn|vscii|sqlascii|mskanji)`)

// readOptimizations takes a list of what queries are to do without.
func readOptimizations(s *Setting, _ Values, text string) (string, error) {
	set, unknown := optimization.Parse(text)
	if unknown != "" {
		e := s.Invalid(unknown)
		e.HintText = "Available values, with commas between them: " + optimization.Names() + "."
		return "", e
	}
	return set.String(), nil
}

// readEncoding takes every spelling of UTF8, quotes and all, as PostgreSQL does.
func readEncoding(s *Setting, _ Values, text string) (string, error) {
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

// orders are the words of DateStyle for the order of day and month in input that leaves it open, and the one that each
// is shown as.
var orders = map[string]string{"mdy": "MDY", "dmy": "DMY", "ymd": "YMD", "us": "MDY"}

// styles are its words for how dates are shown.
var styles = []string{"iso", "sql", "postgres", "german"}

// dateStyleWord returns what a word of DateStyle says: an order, a style, or neither.
func dateStyleWord(word string) (order, style string) {
	switch {
	case strings.HasPrefix(word, "euro"): // and whatever follows, as in PostgreSQL
		return "DMY", ""
	case strings.HasPrefix(word, "noneuro"):
		return "MDY", ""
	case strings.HasPrefix(word, "postgres"):
		return "", "postgres"
	case slices.Contains(styles, word):
		return "", word
	}
	return orders[word], ""
}

// readDateStyle gives a style as PostgreSQL shows it, if it is one whose dates are as they are here. What the text does
// not say stays as it is. How ambiguous input is read is no matter, because ISO's is the only one.
func readDateStyle(s *Setting, of Values, text string) (string, error) {
	words, ok := Names(text)
	if !ok {
		e := s.Invalid(text)
		e.DetailText = "List syntax is invalid."
		return "", e
	}
	var order, style string
	unsaid, conflict := orderOf(of.Now), false
	for _, word := range words {
		word = strings.ToLower(word)
		o, st := dateStyleWord(word)
		switch {
		case word == "default":
			unsaid = orderOf(of.Reset)
		case o != "":
			conflict = conflict || order != "" && order != o
			order = o
		case st != "":
			conflict = conflict || style != "" && style != st
			style = st
		default:
			e := s.Invalid(text)
			e.DetailText = `Unrecognized key word: "` + word + `".`
			return "", e
		}
	}
	if conflict {
		e := s.Invalid(text)
		e.DetailText = `Conflicting "datestyle" specifications.`
		return "", e
	}
	if style != "" && style != "iso" {
		e := sqlerror.New("0A000", `parameter "DateStyle" cannot be set to "%s" here: dates are shown in ISO style alone`, text)
		e.HintText = "Set DateStyle to ISO, and use to_char for another style."
		return "", e
	}
	return "ISO, " + cmp.Or(order, unsaid), nil
}

// orderOf is the order of a value of DateStyle.
func orderOf(value string) string {
	_, order, _ := strings.Cut(value, ", ")
	return cmp.Or(order, "MDY")
}

// readPath refuses a place for temporary objects: they are always found first, and made only where that is said.
func readPath(s *Setting, _ Values, text string) (string, error) {
	text, err := readNames(s, Values{}, text)
	if err != nil {
		return "", err
	}
	if names, _ := Names(text); slices.Contains(names, "pg_temp") {
		e := sqlerror.New("0A000", `parameter "search_path" cannot be set to "%s" here: pg_temp has no place in it`, text)
		e.HintText = "Leave pg_temp out: temporary objects are found first, and CREATE TEMP, or pg_temp.name, makes them."
		return "", e
	}
	return text, nil
}

func readNames(s *Setting, _ Values, text string) (string, error) {
	if _, ok := Names(text); !ok {
		e := s.Invalid(text)
		e.DetailText = "List syntax is invalid."
		return "", e
	}
	return text, nil
}

// Names reads a list of names, as search_path has it: folded, except those in quotation marks. ok is false if it is
// none.
func Names(text string) (names []string, ok bool) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, true
	}
	for {
		var name string
		if strings.HasPrefix(rest, `"`) {
			quoted := lex.PostgreSQL.Next(rest, 0)
			if quoted.Ends() {
				return nil, false
			}
			name, rest = quoted.Body(), rest[quoted.End():]
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
