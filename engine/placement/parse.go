package placement

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/csmsql/csmsql/sql/lex"
)

// Bounds of a placement's text.
const (
	maxText  = 64 << 10
	maxNames = 1024
	maxName  = 255 // bytes
)

// Error says what is wrong with the text of a placement.
type Error struct{ Text, Problem string }

func (e *Error) Error() string { return fmt.Sprintf("placement %q: %s", e.Text, e.Problem) }

// SQLState is 22023, invalid_parameter_value.
func (e *Error) SQLState() string { return "22023" }

// Hint lists what there is.
func (e *Error) Hint() string {
	return "Placements are local, node(NAME), rows, rows(a, b), hash(column, …) and hash(column, …) on (a, b)."
}

// Parse reads a placement. The empty text is local.
func Parse(text string) (Placement, error) {
	p := parser{text: text, rest: text}
	placement, err := p.placement()
	if err != nil {
		shown := text
		if len(shown) > 200 {
			shown = strings.ToValidUTF8(shown[:200], "") + "…"
		}
		return Placement{}, &Error{Text: shown, Problem: err.Error()}
	}
	return placement, nil
}

type parser struct{ text, rest string }

func (p *parser) placement() (result Placement, err error) {
	if len(p.text) > maxText || !utf8.ValidString(p.text) {
		return result, fmt.Errorf("it is longer than %d bytes, or not UTF-8", maxText)
	}
	if p.space(); p.rest == "" {
		return result, nil
	}
	switch word := p.word(); strings.ToLower(word) {
	case "local":
	case "node":
		result.Kind = Node
		if result.Nodes, err = p.names("node"); err == nil && len(result.Nodes) != 1 {
			err = fmt.Errorf("node(…) takes one name, there are %d; rows(…) takes several", len(result.Nodes))
		}
	case "rows":
		result.Kind = Rows
		if p.next() == '(' {
			result.Nodes, err = p.names("node")
		}
	case "hash":
		result.Kind = Hash
		if result.Columns, err = p.names("column"); err == nil && p.keyword("on") {
			result.Nodes, err = p.names("node")
		}
		result.Dividing = err == nil && p.keyword("dividing")
	default:
		return result, fmt.Errorf("there is no placement %q", word+firstRune(p.restIf(word == "")))
	}
	if err == nil && p.next() != 0 {
		err = fmt.Errorf("%q is too much", p.rest)
	}
	return result, err
}

func (p *parser) restIf(wanted bool) string {
	if wanted {
		return p.rest
	}
	return ""
}

func firstRune(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

func (p *parser) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

// next is the next byte that is no space; 0 at the end.
func (p *parser) next() byte {
	if p.space(); p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func bare(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.'
}

// word takes a bare word, which is empty if there is none.
func (p *parser) word() string {
	p.space()
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !bare(r) })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func (p *parser) keyword(word string) bool {
	mark := p.rest
	if strings.EqualFold(p.word(), word) {
		return true
	}
	p.rest = mark
	return false
}

func (p *parser) take(b byte, after string) error {
	switch got := p.next(); {
	case got == b:
		p.rest = p.rest[1:]
		return nil
	case got == 0:
		return fmt.Errorf("%q is missing at the end, behind %s", b, after)
	}
	return fmt.Errorf("%q is expected behind %s, there is %q", b, after, firstRune(p.rest))
}

// names takes a list in parentheses, of at least one name and none twice.
func (p *parser) names(what string) (names []string, err error) {
	if err := p.take('(', "the word before it"); err != nil {
		return nil, err
	}
	for {
		name, err := p.name(what)
		if err != nil {
			return nil, err
		}
		same := func(other string) bool {
			return other == name || what == "column" && strings.EqualFold(other, name) // as SQL finds them
		}
		if slices.ContainsFunc(names, same) {
			return nil, fmt.Errorf("%s %q is there twice", what, name)
		}
		if names = append(names, name); len(names) > maxNames {
			return nil, fmt.Errorf("there are more than %d names", maxNames)
		}
		if p.next() != ',' {
			return names, p.take(')', fmt.Sprintf("%s %q", what, name))
		}
		p.rest = p.rest[1:]
	}
}

func (p *parser) name(what string) (name string, err error) {
	if p.next() == '"' {
		name, err = p.quoted()
	} else {
		name = p.word()
	}
	switch {
	case err != nil:
		return "", err
	case name == "" && p.rest == "":
		return "", fmt.Errorf("the name of a %s is missing at the end", what)
	case name == "":
		return "", fmt.Errorf("the name of a %s is expected, there is %q", what, firstRune(p.rest))
	case len(name) > maxName || strings.ContainsRune(name, 0):
		return "", fmt.Errorf("the name of a %s is longer than %d bytes, or has a zero byte", what, maxName)
	}
	return name, nil
}

func (p *parser) quoted() (string, error) {
	t := lex.PostgreSQL.Next(p.rest, 0)
	if t.Ends() {
		return "", fmt.Errorf("a quoted name has no end")
	}
	p.rest = p.rest[t.End():]
	return t.Body(), nil
}
