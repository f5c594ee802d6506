package past

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Schema is that of the names that Read writes.
const Schema = "csm_past"

// Reference is what such a name means.
type Reference struct {
	Database, Schema, Name string
	Number                 uint64 // of the version; 0: it is one of a time
	Time                   string // as it was written, without quotes
}

// Table is what the table is called, as text.
func (r Reference) Table() string {
	var parts []string
	for _, part := range []string{r.Database, r.Schema, r.Name} {
		if part != "" {
			parts = append(parts, plain(part))
		}
	}
	return strings.Join(parts, ".")
}

// plain is a name as text, in quotes where it needs them.
func plain(name string) string {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (i == 0 || !lex.IsDigit(c)) {
			return lex.Quote(name)
		}
	}
	return name
}

// Encoded is the name below Schema that means the reference.
func (r Reference) Encoded() string {
	if r.Number > 0 {
		return r.Table() + "@" + strconv.FormatUint(r.Number, 10)
	}
	return r.Table() + "@" + r.Time
}

// Clause is the reference as a user writes it.
func (r Reference) Clause() string {
	if r.Number > 0 {
		return r.Table() + " AT (VERSION => " + strconv.FormatUint(r.Number, 10) + ")"
	}
	return r.Table() + " AT (TIMESTAMP => " + lex.QuoteString(r.Time) + ")"
}

// Parse is the inverse of Encoded; false: it is no such name.
func Parse(encoded string) (r Reference, ok bool) {
	at := strings.LastIndexByte(encoded, '@')
	if at < 0 {
		return r, false
	}
	var parts []string
	for t := range lex.PostgreSQL.Tokens(encoded[:at]) {
		if name, is := t.Name(); is {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 || len(parts) > 3 {
		return r, false
	}
	for len(parts) < 3 {
		parts = append([]string{""}, parts...)
	}
	r.Database, r.Schema, r.Name = parts[0], parts[1], parts[2]
	if number, err := strconv.ParseUint(encoded[at+1:], 10, 64); err == nil {
		r.Number = number
		return r, number > 0
	}
	r.Time = encoded[at+1:]
	return r, r.Time != ""
}

// layouts are how a time may be written; those without a zone are in the session's.
var layouts = []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// At is the time that the reference means in a zone.
func (r Reference) At(zone string) (time.Time, error) {
	in, err := time.LoadLocation(zone)
	if err != nil {
		in = time.UTC
	}
	text := strings.TrimSpace(r.Time)
	if len(text) > 10 && text[10] == 'T' {
		text = text[:10] + " " + text[11:]
	}
	for _, layout := range layouts {
		for _, suffix := range []string{"", "Z07:00", "-07", "-0700", " MST", " Z07:00"} {
			if t, err := time.ParseInLocation(layout+suffix, text, in); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, sqlerror.New("22007", "invalid input syntax for type timestamp with time zone: %q", r.Time)
}

// Mentioned reports whether a text may have such a clause. Most have not.
func Mentioned(sql string) bool {
	for at := strings.Index(sql, "=>"); at >= 0; {
		word := strings.ToLower(strings.TrimRight(sql[:at], " \t\r\n"))
		if strings.HasSuffix(word, "version") || strings.HasSuffix(word, "timestamp") {
			return true
		}
		next := strings.Index(sql[at+2:], "=>")
		if next < 0 {
			break
		}
		at += 2 + next
	}
	return false
}

// Read writes names in the place of the clauses of a text; made is nil: there is none.
func Read(read *lex.Text) (text string, made edit.List, err error) {
	if !Mentioned(read.SQL) {
		return read.SQL, nil, nil
	}
	r := reader{edits: edit.New(read.SQL), sql: read.SQL}
	for t := range read.Tokens() {
		r.tokens = append(r.tokens, t)
	}
	for i := range r.tokens {
		if err := r.clause(i); err != nil {
			return read.SQL, nil, err
		}
	}
	text, made = r.edits.Text()
	return text, made, nil
}

type reader struct {
	edits  *edit.Editor
	sql    string
	tokens []lex.Token
}

// at is a token, one that is nothing beyond the ends.
func (r *reader) at(i int) lex.Token {
	if i < 0 || i >= len(r.tokens) {
		return lex.Token{}
	}
	return r.tokens[i]
}

// refuse is an error at a token.
func (r *reader) refuse(i int, state, message string, args ...any) *sqlerror.Error {
	e := sqlerror.New(state, message, args...)
	e.At = utf8.RuneCountInString(r.sql[:r.at(i).Start]) + 1
	return e
}

// clause replaces the clause that begins at a token, if one does.
func (r *reader) clause(i int) error {
	if !r.at(i).Is("at") || !r.at(i+1).Is("(") || !r.at(i+2).IsAny("version", "timestamp") || i == 0 {
		return nil
	}
	value := r.arrow(i + 3)
	if value < 0 {
		return nil
	}
	end := value
	for depth := 0; depth > 0 || !r.at(end).Is(")"); end++ {
		switch {
		case end >= len(r.tokens):
			return nil // no parser reads it
		case r.at(end).Is("("):
			depth++
		case r.at(end).Is(")"):
			depth--
		}
	}
	first, last, named, err := r.relation(i)
	if err != nil {
		return err
	}
	ref := Reference{}
	parts := []*string{&ref.Name, &ref.Schema, &ref.Database}
	for k, at := 0, last; at >= first; k, at = k+1, at-2 {
		if k == len(parts) {
			return r.refuse(first, "42601", "improper qualified name (too many dotted names)")
		}
		*parts[k], _ = r.at(at).Name()
	}
	if ref.Schema == "" && r.common(ref.Name) {
		return r.refuse(first, "0A000", "AT (…) is not supported for WITH query %q", ref.Name).
			WithHint("Write it behind the table inside of the WITH query.")
	}
	if err := r.value(&ref, i+2, value, end); err != nil {
		return err
	}
	name := lex.Quote(Schema) + "." + lex.Quote(ref.Encoded())
	if !named && !r.alias(end+1) && !r.at(first-1).IsAny(unaliased...) && !r.clones(first-1) {
		name += " AS " + lex.Quote(aliasOf(r.at(last)))
	}
	r.edits.Replace(r.at(first).Start, r.at(last).End(), name)
	r.edits.Replace(r.at(i).Start, r.at(end).End(), "")
	return nil
}

// Words that stand before the name of a table, and those of DuckDB behind which it gets no alias.
var (
	beforeTable = []string{"from", "join", "only", "using", "table", "update", "into", "lateral"}
	// behindTable are the words that may stand behind a table and are no alias of it.
	behindTable = []string{
		"where", "on", "using", "join", "inner", "left", "right", "full", "cross", "natural", "asof", "positional", "semi",
		"anti", "order", "group", "having", "window", "qualify", "limit", "offset", "fetch", "for", "union", "intersect",
		"except", "returning", "set", "when", "tablesample", "sample", "pivot", "unpivot", "select",
	}
	unaliased = []string{"pivot", "pivot_wider", "unpivot", "pivot_longer", "summarize", "describe", "desc"}
)

// alias reports whether a token begins the alias of the table before it.
func (r *reader) alias(i int) bool {
	t := r.at(i)
	return t.Is("as") || t.Kind == lex.Quoted || t.Kind == lex.Word && !t.IsAny(behindTable...)
}

// aliasOf is what columns of a table are qualified by that was named so.
func aliasOf(t lex.Token) string {
	name, _ := t.Name()
	if t.Kind == lex.Word {
		return lex.Fold(name)
	}
	return name
}

// arrow is the token behind =>, -1 if that is not there.
func (r *reader) arrow(i int) int {
	t := r.at(i)
	switch {
	case t.Text == "=>":
		return i + 1
	case t.Text == "=" && r.at(i+1).Text == ">" && r.at(i+1).Start == t.End():
		return i + 2
	}
	return -1
}

// relation finds the name of the table before a clause; named: it has an alias.
func (r *reader) relation(at int) (first, last int, named bool, err error) {
	last = at - 1
	if r.at(last).Is(")") { // x(a, b), names of columns
		for depth := 0; last >= 0; last-- {
			if r.at(last).Is(")") {
				depth++
			} else if r.at(last).Is("(") {
				if depth--; depth == 0 {
					break
				}
			}
		}
		last, named = last-1, true
	}
	switch before := r.at(last - 1); {
	case before.Is("as"):
		last, named = last-2, true
	case named || before.Kind == lex.Quoted,
		before.Kind == lex.Word && !before.IsAny(beforeTable...) && !before.IsAny(unaliased...) && !r.clones(last-1):
		last, named = last-1, true
	}
	for first = last; r.at(first - 1).Is("."); first -= 2 {
		if _, ok := r.at(first - 2).Name(); !ok {
			break
		}
	}
	if _, ok := r.at(last).Name(); !ok || first < 0 {
		return first, last, named, r.refuse(at, "0A000", "AT (…) is supported behind the name of a table only")
	}
	return first, last, named, nil
}

// clones reports whether a token is CLONE of a CREATE TABLE, behind whose name it stands.
func (r *reader) clones(i int) bool {
	if !r.at(i).Is("clone") {
		return false
	}
	for i--; i > 1; i -= 2 {
		if _, ok := r.at(i).Name(); !ok {
			return false
		}
		if !r.at(i - 1).Is(".") {
			return r.at(i-1).IsAny("table", "exists")
		}
	}
	return false
}

// common reports whether a name is that of a WITH query of the text.
func (r *reader) common(name string) bool {
	for i, t := range r.tokens {
		if !r.at(i-1).IsAny("with", "recursive", ",") {
			continue
		}
		is, ok := t.Name()
		if !ok || !lex.Same(is, name) {
			continue
		}
		i++
		if r.at(i).Is("(") {
			for ; i < len(r.tokens) && !r.at(i).Is(")"); i++ {
			}
			i++
		}
		if !r.at(i).Is("as") {
			continue
		}
		for i++; r.at(i).IsAny("not", "materialized"); i++ {
		}
		if r.at(i).Is("(") {
			return true
		}
	}
	return false
}

// value reads what the version, or the time, is.
func (r *reader) value(ref *Reference, kind, first, end int) error {
	t := r.at(first)
	if r.at(kind).Is("version") {
		number, err := strconv.ParseUint(t.Text, 10, 63)
		if err != nil || number == 0 || end != first+1 {
			return r.refuse(first, "0A000", "a version is a whole number above 0, and a constant").
				WithHint("SELECT version, committed_at FROM csm.versions lists those there are.")
		}
		ref.Number = number
		return nil
	}
	if t.IsAny("timestamp", "timestamptz", "date") {
		for first++; r.at(first).IsAny("with", "without", "time", "zone"); first++ {
		}
		t = r.at(first)
	}
	end = r.withoutCast(first, end)
	if t.Kind != lex.String || end != first+1 {
		return r.refuse(first, "0A000", "the time of a version is a constant").
			WithHint("AT (TIMESTAMP => '2026-01-31 12:00:00+00')")
	}
	text, ok := t.Value()
	if ref.Time = text; !ok || text == "" || strings.ContainsAny(text, "@\x00") {
		return r.refuse(first, "22007", "invalid input syntax for type timestamp with time zone: %q", text)
	}
	if _, err := ref.At("UTC"); err != nil {
		e := *err.(*sqlerror.Error)
		e.At = utf8.RuneCountInString(r.sql[:t.Start]) + 1
		return &e
	}
	return nil
}

// withoutCast is the end of a value before ::timestamptz, if that is behind it.
func (r *reader) withoutCast(first, end int) int {
	k := first + 1
	for r.at(k).Is(":") || r.at(k).Is("::") {
		k++
	}
	if k > first+1 && end == k+1 && r.at(k).IsAny("timestamp", "timestamptz", "date") {
		return first + 1
	}
	return end
}

// Calls writes calls of csm_table in the place of what Read wrote, for DuckDB to look up.
func Calls(text string) (string, edit.List) {
	return rewrite(text, func(encoded string) string {
		return "csm_table(" + lex.QuoteString(Schema) + ", " + lex.QuoteString(encoded) + ")"
	})
}

// Shown is a text as a user would write it.
func Shown(text string) string {
	shown, _ := rewrite(text, func(encoded string) string {
		if r, ok := Parse(encoded); ok {
			return r.Clause()
		}
		return lex.Quote(Schema) + "." + lex.Quote(encoded)
	})
	return shown
}

func rewrite(text string, by func(encoded string) string) (string, edit.List) {
	if !strings.Contains(text, Schema) {
		return text, nil
	}
	e := edit.New(text)
	var schema lex.Token
	dot := false
	for t := range lex.PostgreSQL.Tokens(text) {
		name, ok := t.Name()
		ok = ok && t.Kind != lex.String
		switch {
		case dot && ok:
			e.Replace(schema.Start, t.End(), by(name))
			schema, dot = lex.Token{}, false
		case ok && name == Schema:
			schema, dot = t, false
		default:
			dot = schema.Text != "" && t.Is(".")
			if !dot {
				schema = lex.Token{}
			}
		}
	}
	return e.Text()
}
