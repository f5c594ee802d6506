package lex

import (
	"iter"
	"strings"
)

// Dialect says whose tokens are meant.
type Dialect uint8

const (
	PostgreSQL Dialect = iota // PostgreSQL's own lexer
	Client                    // a client's text, which may be either's: PostgreSQL's tokens, and DuckDB's blanks
	DuckDB                    // DuckDB's lexer, of version 1.5
)

// Kind is the kind of a token.
type Kind uint8

const (
	End        Kind = iota // behind the last token
	Word                   // an unquoted identifier or keyword
	Quoted                 // "identifier", U&"identifier"
	String                 // 'string', E'string', U&'string', x'bits', $tag$string$tag$
	Number                 // 1, 1.5e-3, 0xff
	Parameter              // $1
	Symbol                 // one character of punctuation or of an operator
	Incomplete             // a string, quoted identifier or comment that does not end
)

// Token is a piece of a text. The one of the kind End has none, and begins where the text ends.
type Token struct {
	Text  string
	Start int // in bytes
	Kind  Kind
}

// End is where the token ends, in bytes.
func (t Token) End() int { return t.Start + len(t.Text) }

// Ends reports whether no token follows: at the end of the text, and at what does not end.
func (t Token) Ends() bool { return t.Kind == End || t.Kind == Incomplete }

// Is reports whether t is the keyword (given in lower case) or the symbol.
func (t Token) Is(s string) bool {
	switch t.Kind {
	case Word:
		return Same(t.Text, s)
	case Symbol:
		return t.Text == s
	}
	return false
}

// IsAny reports whether t is one of several keywords or symbols.
func (t Token) IsAny(list ...string) bool {
	for _, s := range list {
		if t.Is(s) {
			return true
		}
	}
	return false
}

// Tokens are those of a text from left to right, up to what does not end.
func (d Dialect) Tokens(sql string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for t := d.Next(sql, 0); !t.Ends() && yield(t); t = d.Next(sql, t.End()) {
		}
	}
}

// Next is the first token at or after an offset where no token is divided.
func (d Dialect) Next(sql string, at int) Token {
	at, whole := d.SkipBlank(sql, at)
	if !whole {
		return Token{sql[at:], at, Incomplete}
	}
	if at == len(sql) {
		return Token{Start: at}
	}
	Found.Tell(Finding{sql, at})
	k, stop := d.measure(sql, at)
	if stop < 0 {
		return Token{sql[at:], at, Incomplete}
	}
	return Token{sql[at:stop], at, k}
}

// measure returns the kind of the token at at and where it ends; less than zero: it does not.
func (d Dialect) measure(sql string, at int) (Kind, int) {
	c, next := sql[at], byte(0)
	if at+1 < len(sql) {
		next = sql[at+1]
	}
	switch {
	case c == '\'':
		return String, d.stringEnd(sql, at+1, ' ')
	case c == '"':
		return Quoted, quoteEnd(sql, at+1)
	case next == '\'' && strings.IndexByte("eEbBxX", c) >= 0:
		return String, d.stringEnd(sql, at+2, c|0x20)
	case c|0x20 == 'u' && strings.HasPrefix(sql[at+1:], "&'"):
		return String, d.stringEnd(sql, at+3, ' ')
	case c|0x20 == 'u' && strings.HasPrefix(sql[at+1:], `&"`):
		return Quoted, quoteEnd(sql, at+3)
	case IsLetter(c):
		return Word, d.WordEnd(sql, at+1)
	case IsDigit(c), c == '.' && IsDigit(next) && !afterDot(sql, at):
		return Number, d.numberEnd(sql, at)
	case c == '$' && IsDigit(next), c == '?' && IsDigit(next) && d == DuckDB:
		return Parameter, d.parameterEnd(sql, at+1)
	case c == '$':
		if stop, ok := dollarEnd(sql, at); ok {
			return String, stop
		}
	}
	return Symbol, at + 1
}

// WordEnd is where the letters, digits and dollars end that stand at an offset: before what is a blank.
func (d Dialect) WordEnd(sql string, at int) int {
	for at < len(sql) && IsNamePart(sql[at]) {
		if sql[at] >= 0x80 && d != PostgreSQL && wideSpace(sql[at:]) > 0 {
			break
		}
		at++
	}
	return at
}

// afterDot reports whether a point is the second one of two: 1..2 are two numbers and an operator.
func afterDot(sql string, at int) bool {
	return (at-len(strings.TrimRight(sql[:at], ".")))%2 == 1
}

// numberEnd is generous for PostgreSQL, whose lexer refuses what a number may not look like. But a number has one
// point, and none behind an exponent, and 0xe+1 has no exponent.
func (d Dialect) numberEnd(sql string, at int) int {
	if d == DuckDB {
		return duckNumberEnd(sql, at)
	}
	whole := true // neither was there
	hexadecimal := sql[at] == '0' && at+1 < len(sql) && sql[at+1]|0x20 == 'x'
	for at < len(sql) {
		switch c := sql[at]; {
		case c == '.' && (!whole || strings.HasPrefix(sql[at:], "..")): // 1..10
			return at
		case c == '.', c != '_' && c < 0x80 && IsLetter(c):
			whole = false
		case (c == '+' || c == '-') && !hexadecimal && sql[at-1]|0x20 == 'e' && at+1 < len(sql) && IsDigit(sql[at+1]):
		case c != '.' && !IsLetter(c) && !IsDigit(c), c >= 0x80:
			return at
		}
		at++
	}
	return at
}

// duckNumberEnd ends a number where DuckDB does, which takes what follows for another token: 1.5e-3x is a number and
// its alias.
func duckNumberEnd(sql string, at int) int {
	at = integerEnd(sql, at)
	if at < len(sql) && sql[at] == '.' && !strings.HasPrefix(sql[at:], "..") {
		at = integerEnd(sql, at+1)
	}
	if at < len(sql) && sql[at]|0x20 == 'e' {
		exponent := at + 1
		if exponent < len(sql) && (sql[exponent] == '+' || sql[exponent] == '-') {
			exponent++
		}
		if end := integerEnd(sql, exponent); end > exponent {
			return end
		}
	}
	return at
}

// integerEnd passes digits, with single underscores between them.
func integerEnd(sql string, at int) int {
	for start := at; at < len(sql); at++ {
		if !IsDigit(sql[at]) && (sql[at] != '_' || at == start || at+1 == len(sql) || !IsDigit(sql[at+1])) {
			break
		}
	}
	return at
}

// parameterEnd passes a parameter's number.
func (d Dialect) parameterEnd(sql string, at int) int {
	if d == DuckDB {
		return integerEnd(sql, at)
	}
	for at < len(sql) && IsDigit(sql[at]) {
		at++
	}
	return at
}

func quoteEnd(sql string, at int) int {
	for {
		i := strings.IndexByte(sql[at:], '"')
		if i < 0 {
			return -1
		}
		if at += i + 1; at == len(sql) || sql[at] != '"' {
			return at
		}
		at++
	}
}

// stringEnd finds the end of a string whose first quote is before at. In 'e' strings backslashes escape; in 'b' and
// 'x' strings a double quote is no quote. A string goes on in the next line if that begins with a quote, as the
// standard says.
func (d Dialect) stringEnd(sql string, at int, prefix byte) int {
	for at < len(sql) {
		switch sql[at] {
		case '\\':
			if prefix == 'e' {
				at++
			}
			at++
		case '\'':
			at++
			switch more := d.continuation(sql, at); {
			case at < len(sql) && sql[at] == '\'' && prefix != 'b' && prefix != 'x':
				at++
			case more > 0:
				at = more
			default:
				return at
			}
		default:
			at++
		}
	}
	return -1
}

// continuation is where a string goes on behind its closing quote, or zero.
func (d Dialect) continuation(sql string, at int) int {
	line := false
	for at < len(sql) {
		switch c := sql[at]; {
		case c == '\n' || c == '\r':
			line = true
			at++
		case isSpace(c):
			at++
		case c >= 0x80 && d != PostgreSQL && wideSpace(sql[at:]) > 0:
			at += wideSpace(sql[at:])
		case strings.HasPrefix(sql[at:], "--"):
			at = lineEnd(sql, at)
		case c == '\'' && line:
			return at + 1
		default:
			return 0
		}
	}
	return 0
}

// dollarEnd finds the end of $tag$…$tag$; not ok when the dollar begins no string. An end below zero: it is not there.
func dollarEnd(sql string, at int) (int, bool) {
	i := at + 1
	for i < len(sql) && (IsLetter(sql[i]) || IsDigit(sql[i])) {
		i++
	}
	if i == len(sql) || sql[i] != '$' {
		return 0, false
	}
	tag := sql[at : i+1]
	stop := strings.Index(sql[i+1:], tag)
	if stop < 0 {
		return -1, true
	}
	return i + 1 + stop + len(tag), true
}
