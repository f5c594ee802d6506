package calling

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/catalog/mention"
)

// The expressions of tables and domains go wherever those do: to clones, to other columns, through ALTER TABLE. So an
// expression has the record of its calls with it (CQ3), as a comment before what is computed:
//
//	/*csm_calls csm_function__17 {"text":"public.half(a) > 1",…}*/CAST((CAST((a) AS int) / 2) AS int) > 1
const (
	opens  = "/*csm_calls "
	closes = "*/"
)

// IsReserved reports whether an expression that a user wrote looks like one with a record.
func IsReserved(expression string) bool {
	return strings.HasPrefix(strings.TrimSpace(expression), opens)
}

// Split is the record of an expression's calls, nil: it has none, and what is computed.
func Split(expression string) (r *Record, computes string) {
	behind, ok := strings.CutPrefix(expression, opens)
	if !ok {
		return nil, expression
	}
	text, computes, ok := strings.Cut(behind, closes)
	if !ok {
		return nil, expression
	}
	r = &Record{}
	at := strings.Index(text, "{")
	if at < 0 || json.Unmarshal([]byte(text[at:]), r) != nil || r.Text == "" {
		return &Record{unreadable: text}, computes
	}
	return r, computes
}

// Computes is what of an expression is computed.
func Computes(expression string) string {
	_, computes := Split(expression)
	return computes
}

// Shown is an expression as its user sees it, with the calls.
func Shown(expression string) string {
	r, computes := Split(expression)
	if r == nil || r.unreadable != "" {
		return computes
	}
	return r.Text
}

// Before is what computes as an expression with the record; r nil: it calls nothing.
func (r *Record) Before(computes string) string {
	if r == nil {
		return computes
	}
	text := r.unreadable
	if text == "" {
		for _, n := range r.Functions {
			text += mention.Called + strconv.FormatUint(n, 10) + " "
		}
		data, err := json.Marshal(r)
		if err != nil {
			panic(err) // of texts and numbers
		}
		text += strings.ReplaceAll(string(data), "*", `\u002a`) // which ends no comment
	}
	return opens + text + closes + computes
}

// Edited is an expression in which an edit has changed what is computed and the calls.
func Edited(expression string, edit func(text string) (string, error)) (string, error) {
	r, computes := Split(expression)
	if r != nil && r.unreadable == "" {
		text, err := edit(r.Text)
		if err != nil {
			return expression, err
		}
		next := *r
		next.Text, r = text, &next
	}
	computes, err := edit(computes)
	if err != nil {
		return expression, err
	}
	return r.Before(computes), nil
}
