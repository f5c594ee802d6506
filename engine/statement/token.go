package statement

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// token is one token of PostgreSQL's scanner with its text.
type token struct {
	text       string // as written
	word       string // lower case for words and unquoted identifiers, else ""
	kind       pg.Token
	start, end int
}

func scan(sql string) ([]token, error) {
	result, err := pg.Scan(sql)
	if err != nil {
		return nil, syntaxError(sql, err)
	}
	tokens := make([]token, 0, len(result.Tokens))
	for _, t := range result.Tokens {
		if t.Token == pg.Token_SQL_COMMENT || t.Token == pg.Token_C_COMMENT {
			continue
		}
		x := token{text: sql[t.Start:t.End], kind: t.Token, start: int(t.Start), end: int(t.End)}
		if c := x.text[0]; c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 {
			x.word = strings.ToLower(x.text)
		}
		tokens = append(tokens, x)
	}
	return tokens, nil
}

// Split cuts a text into its statements, each a piece of sql without the semicolon. A text that cannot be scanned is
// one statement, whose Parse says what is wrong with it.
func Split(sql string) []string {
	if !strings.Contains(sql, ";") {
		return keep(nil, sql)
	}
	tokens, err := scan(sql)
	if err != nil {
		return keep(nil, sql)
	}
	var out []string
	start, empty := 0, true
	for _, t := range tokens {
		if t.text != ";" {
			empty = false
			continue
		}
		if !empty {
			out = keep(out, sql[start:t.start])
		}
		start, empty = t.end, true
	}
	if !empty {
		out = keep(out, sql[start:])
	}
	return out
}

func keep(out []string, s string) []string {
	if s = strings.TrimSpace(s); s != "" && !onlyComments(s) {
		out = append(out, s)
	}
	return out
}

func onlyComments(s string) bool {
	if !strings.HasPrefix(s, "--") && !strings.HasPrefix(s, "/*") {
		return false
	}
	tokens, err := scan(s)
	return err == nil && len(tokens) == 0
}

// cursor reads tokens from left to right.
type cursor struct {
	sql    string
	tokens []token
	at     int
}

func (c *cursor) peek(ahead int) token {
	if c.at+ahead < len(c.tokens) {
		return c.tokens[c.at+ahead]
	}
	return token{start: len(c.sql), end: len(c.sql)}
}

func (c *cursor) next() token {
	t := c.peek(0)
	c.at++
	return t
}

func (c *cursor) done() bool { return c.at >= len(c.tokens) }

// accept takes the words if they are next, all or none.
func (c *cursor) accept(words ...string) bool {
	for i, w := range words {
		t := c.peek(i)
		if t.word != w && t.text != w {
			return false
		}
	}
	c.at += len(words)
	return true
}

// rest is the text from the next token to the end.
func (c *cursor) rest() string { return strings.TrimSpace(c.sql[c.peek(0).start:]) }

// skipParentheses moves past a balanced group if one is next and returns the text inside it.
func (c *cursor) skipParentheses() (string, bool) {
	if c.peek(0).text != "(" {
		return "", false
	}
	from, depth := c.peek(0).end, 0
	for !c.done() {
		switch t := c.next(); t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return c.sql[from:t.start], true
			}
		}
	}
	return "", false
}

// identifier takes a name, folded as PostgreSQL folds it: lower case unless quoted.
func (c *cursor) identifier() (string, bool) {
	t := c.peek(0)
	switch {
	case t.word != "":
		c.at++
		return t.word, true
	case strings.HasPrefix(t.text, `"`) && len(t.text) > 2:
		c.at++
		return strings.ReplaceAll(t.text[1:len(t.text)-1], `""`, `"`), true
	}
	return "", false
}

// name takes a name of up to three parts; a leading database name is dropped when it is database.
func (c *cursor) name() (Name, error) {
	var parts []string
	for {
		part, ok := c.identifier()
		if !ok {
			return Name{}, c.unexpected()
		}
		parts = append(parts, part)
		if !c.accept(".") {
			break
		}
	}
	switch len(parts) {
	case 1:
		return Name{Name: parts[0]}, nil
	case 2:
		return Name{Schema: parts[0], Name: parts[1]}, nil
	case 3:
		return Name{Database: parts[0], Schema: parts[1], Name: parts[2]}, nil
	}
	return Name{}, c.failure("42601", "a name has at most three parts: database.schema.table")
}

// names takes a parenthesized list of identifiers if one is next.
func (c *cursor) names() ([]string, error) {
	if !c.accept("(") {
		return nil, nil
	}
	var out []string
	for {
		name, ok := c.identifier()
		if !ok {
			return nil, c.unexpected()
		}
		out = append(out, name)
		if c.accept(")") {
			return out, nil
		}
		if !c.accept(",") {
			return nil, c.unexpected()
		}
	}
}

func (c *cursor) unexpected() error {
	t := c.peek(0)
	if t.text == "" {
		return c.failure("42601", "syntax error at end of input")
	}
	return c.failure("42601", `syntax error at or near "`+t.text+`"`)
}

func (c *cursor) failure(state, message string) error {
	return &Error{State: state, Message: message, At: position(c.sql, c.peek(0).start)}
}
