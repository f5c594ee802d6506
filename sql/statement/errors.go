package statement

import (
	"errors"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

func unsupported(message, advice string) error {
	return &sqlerror.Error{State: "0A000", Message: message, HintText: advice}
}

// position turns a byte offset into PostgreSQL's position.
func position(sql string, offset int) int {
	return utf8.RuneCountInString(sql[:offset]) + 1
}

// tooComplex reports whether PostgreSQL's parser, or its tree's decoder, has given up on nesting; another parser may
// not.
func tooComplex(message string) bool {
	return strings.HasPrefix(message, "memory exhausted") || strings.Contains(message, "recursion depth")
}

var errTooDeep = &sqlerror.Error{State: "54001", Message: "stack depth limit exceeded: the statement is nested too deeply",
	HintText: "Break the expression up, or replace a chain of OR by IN (…)."}

func syntaxError(err error) error {
	if tooComplex(err.Error()) {
		return errTooDeep
	}
	out := &sqlerror.Error{State: "42601", Message: err.Error()}
	var p *parser.Error
	if errors.As(err, &p) {
		out.Message = p.Message
		out.At = p.Cursorpos // pg_query counts characters from 1, as the protocol does
		switch {             // what PostgreSQL's lexer finds within strings
		case p.Message == "invalid Unicode escape" && p.Filename == "scan.l":
			out.State, out.HintText = "22025", `Unicode escapes must be \uXXXX or \UXXXXXXXX.`
		case strings.HasPrefix(p.Message, "invalid byte sequence for encoding"):
			out.State = "22021"
		}
	}
	return out
}

// encodingError is about texts that no parser may see: C ends a string at a zero byte.
func encodingError(sql string) error {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return &sqlerror.Error{State: "22021", Message: `invalid byte sequence for encoding "UTF8": 0x00`}
	}
	if !utf8.ValidString(sql) {
		return &sqlerror.Error{State: "22021", Message: `invalid byte sequence for encoding "UTF8"`, HintText: "The client's encoding must be UTF8."}
	}
	return nil
}

// unexpected is the syntax error that the next token is.
func (c *cursor) unexpected() error {
	t := c.peek(0)
	message := `syntax error at or near "` + t.Text + `"`
	switch t.Kind {
	case lex.End:
		message = "syntax error at end of input"
	case lex.Incomplete:
		message = `unterminated string, identifier or comment at or near "` + t.Text + `"`
	}
	return &sqlerror.Error{State: "42601", Message: message, At: c.position(t.Start)}
}

// clause is what the next words are called: those that PostgreSQL has as keywords, three at most, in capitals.
func (c *cursor) clause() string {
	words := []string{strings.ToUpper(c.peek(0).Text)}
	if scanned, err := tree.Scan(c.sql[c.peek(0).Start:]); err == nil {
		for i := 1; i < min(len(scanned.Tokens), 3) && scanned.Tokens[i].KeywordKind != pg.KeywordKind_NO_KEYWORD; i++ {
			words = append(words, strings.ToUpper(c.peek(i).Text))
		}
	}
	return strings.Join(words, " ")
}

// refuse says that what begins with the next token is understood and not supported.
func (c *cursor) refuse(message, advice string) error {
	return &sqlerror.Error{State: "0A000", Message: message + " is not supported", At: c.position(c.peek(0).Start), HintText: advice}
}
