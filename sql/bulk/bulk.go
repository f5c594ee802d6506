// Package bulk recognizes INSERTs that list nothing but constants, which load rows and are long.
//
//	INSERT INTO t (a, b) VALUES (1, 'x'), (-2.5, NULL), …  ─ Constants ─► true: no parser finds anything in it
//
// Invariants:
//
//   - BU1: what it is true of is one statement without a syntax error, whose values mean the same to PostgreSQL and to
//     DuckDB: nothing in it is translated, named, typed or computed.
//
// It has no locks, and knows no tables: a value may still be none of its column.
package bulk

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// TextMax bounds the texts that are looked at: of longer ones a lex.Text does not keep the tokens.
const TextMax = 64 << 10

// digitsMost is how many digits a number may have: longer ones may have other types.
const digitsMost = 18

// Constants reports whether a text is INSERT INTO … VALUES of numbers, strings, NULL, TRUE and FALSE.
func Constants(read *lex.Text) bool {
	_, is := Rows(read)
	return is
}

// Rows is where the last row of a text ends of which Constants is true.
func Rows(read *lex.Text) (end int, are bool) {
	if len(read.SQL) > TextMax {
		return 0, false
	}
	r := &reader{read: read}
	if !r.next().Is("insert") || !r.next().Is("into") || !r.name() {
		return 0, false
	}
	t := r.next()
	for t.Is(".") {
		if !r.name() {
			return 0, false
		}
		t = r.next()
	}
	if t.Is("(") {
		if !r.list(r.name) {
			return 0, false
		}
		t = r.next()
	}
	if !t.Is("values") {
		return 0, false
	}
	for {
		if !r.next().Is("(") || !r.list(r.constant) {
			return 0, false
		}
		end = r.at
		if t = r.next(); t.Is(",") {
			continue
		}
		if t.Is(";") {
			t = r.next()
		}
		if t.Kind != lex.End {
			return 0, false
		}
		return end, true
	}
}

// reader reads tokens from left to right.
type reader struct {
	read *lex.Text
	at   int
}

func (r *reader) next() lex.Token {
	t := r.read.Next(r.at)
	r.at = t.End()
	return t
}

// list reads up to the parenthesis behind a list, which is open.
func (r *reader) list(member func() bool) bool {
	for {
		if !member() {
			return false
		}
		if t := r.next(); !t.Is(",") {
			return t.Is(")")
		}
	}
}

func (r *reader) name() bool {
	t := r.next()
	return t.Kind == lex.Quoted || t.Kind == lex.Word && !lex.IsReserved(lex.Fold(t.Text)) && !noNames[lex.Fold(t.Text)]
}

// noNames are further words that name neither tables nor columns in PostgreSQL unless they are quoted, and those that
// may stand where names do.
var noNames = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`authorization binary by collation concurrently cross current_catalog current_date
		current_role current_schema current_time current_timestamp current_user fetch freeze full grant ilike inner is
		isnull join left like localtime localtimestamp natural notnull outer overlaps overriding right session_user similar
		tablesample user values verbose`) {
		noNames[w] = true
	}
}

func (r *reader) constant() bool {
	t := r.next()
	if signed := t.IsAny("-", "+"); signed {
		t = r.next()
		return t.Kind == lex.Number && plain(t.Text)
	}
	switch t.Kind {
	case lex.Number:
		return plain(t.Text)
	case lex.String:
		return t.Text[0] == '\'' // not E'…', $$…$$ and the like
	case lex.Word:
		return t.IsAny("null", "true", "false")
	}
	return false
}

// plain reports whether a number is digits, perhaps with a point among them.
func plain(number string) bool {
	whole, fraction, point := strings.Cut(number, ".")
	return len(number) <= digitsMost && whole != "" && lex.OnlyDigits(whole) &&
		(!point || fraction != "" && lex.OnlyDigits(fraction))
}
