package sequence

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// functions are those of SQL whose calls are rewritten: DuckDB's own know its own sequences alone.
var functions = map[string]bool{"nextval": true, "currval": true, "lastval": true, "setval": true}

// Mentioned reports whether a text may call one of them.
func Mentioned(text string) bool {
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "vV")
		if i < 0 || at+i+3 > len(text) {
			return false
		}
		at += i
		if at >= 3 && strings.EqualFold(text[at:at+3], "val") && functions[strings.ToLower(wordAround(text, at))] {
			return true
		}
		at++
	}
}

// wordAround is the word in which a byte stands.
func wordAround(text string, at int) string {
	start, end := at, at
	for start > 0 && lex.IsNamePart(text[start-1]) {
		start--
	}
	for end < len(text) && lex.IsNamePart(text[end]) {
		end++
	}
	return text[start:end]
}

// Translate writes the calls of a text as those of functions that find the catalog's sequences. temporary are the names
// of the session's own, which DuckDB has, in lower case.
func Translate(read *lex.Text, temporary map[string]bool) (string, edit.List) {
	out := edit.New(read.SQL)
	var before, earlier lex.Token
	start := 0 // of the name with its qualifier
	for t := range read.Tokens() {
		if !before.Is(".") && !t.Is(".") {
			start = t.Start
		}
		name, ok := t.Name()
		open := read.Next(t.End())
		qualified := before.Is(".") && !strings.EqualFold(strings.Trim(earlier.Text, `"`), "pg_catalog")
		if ok && t.Kind != lex.String && functions[strings.ToLower(name)] && open.Is("(") && !qualified {
			translate(read, out, start, t, open, temporary)
		}
		earlier, before = before, t
	}
	return out.Text()
}

// translate writes one call; name is the function's, open the parenthesis behind it.
func translate(read *lex.Text, out *edit.Editor, start int, name, open lex.Token, temporary map[string]bool) {
	first := read.Next(open.End())
	depth, colons := 0, -1 // colons is where a :: begins that may be a cast's
	var casts [][2]int
	inside := first
	if first.Is("cast") && read.Next(first.End()).Is("(") { // CAST('s' AS regclass)
		inside = read.Next(read.Next(first.End()).End())
		as := read.Next(inside.End())
		kind := read.Next(as.End())
		if as.Is("as") && kind.Is("regclass") && read.Next(kind.End()).Is(")") {
			casts = append(casts, [2]int{first.Start, inside.Start}, [2]int{inside.End(), read.Next(kind.End()).End()})
		}
	}
	for t := first; !t.Ends(); t = read.Next(t.End()) {
		if depth == 0 && t.IsAny(",", ")") {
			break
		}
		if t.IsAny("(", "[") {
			depth++
		} else if t.IsAny(")", "]") {
			depth--
		}
		switch {
		case t.Is("regclass") && depth == 0 && colons >= 0:
			casts = append(casts, [2]int{colons, t.End()})
		case t.IsAny(":", "::") && colons < 0:
			colons = t.Start
			continue
		case t.IsAny(":", "pg_catalog", ".") && colons >= 0:
			continue
		}
		colons = -1
	}
	own := false
	if text, ok := inside.Value(); ok && inside.Kind == lex.String {
		named, err := ReadName(text)
		own = err == nil && temporary[strings.ToLower(named.Name)] &&
			(named.Schema == "" || named.Schema == "pg_temp" || named.Schema == "temp")
	}
	by := strings.ToLower(strings.Trim(name.Text, `"`))
	if !own {
		by = "csm_" + by
	}
	out.Replace(start, name.End(), by)
	for _, c := range casts {
		out.Replace(c[0], c[1], "")
	}
}

// ReadName reads a name that stands in a string, as nextval has it.
func ReadName(text string) (n statement.Name, err error) {
	var parts []string
	dotted := true
	for t := range lex.Client.Tokens(text) {
		if t.Is(".") && !dotted {
			dotted = true
			continue
		}
		part, ok := t.Name()
		if t.Kind == lex.Word {
			part = lex.Fold(t.Text)
		}
		if !ok || !dotted || t.Kind == lex.String {
			return n, sqlerror.New("42602", "invalid name syntax")
		}
		parts, dotted = append(parts, part), false
	}
	switch len(parts) {
	case 1:
		n.Name = parts[0]
	case 2:
		n.Schema, n.Name = parts[0], parts[1]
	case 3:
		n.Database, n.Schema, n.Name = parts[0], parts[1], parts[2]
	default:
		return n, sqlerror.New("42602", "invalid name syntax")
	}
	if dotted {
		return n, sqlerror.New("42602", "invalid name syntax")
	}
	return n, nil
}

// Find is the sequence that a name means.
func Find(v *snapshot.View, name statement.Name) (*catalog.View, Definition, error) {
	view := v.LookupView(name.Database, name.Schema, name.Name)
	d, is := Of(view)
	switch {
	case is:
		return view, d, nil
	case view != nil, v.Lookup(name.Database, name.Schema, name.Name) != nil:
		return nil, d, sqlerror.New("42809", "%q is not a sequence", name.Name)
	}
	return nil, d, sqlerror.New("42P01", "relation %q does not exist", name.String())
}

// byName finds calls with a constant name in a text that Translate has written.
var byName = regexp.MustCompile(`\bcsm_nextval\(\s*('(?:[^']|'')*')\s*\)`)

// byNumber finds calls with a sequence's number.
var byNumber = regexp.MustCompile(`\b` + mention.NextValue + `\(([0-9]+)\)`)

// Bind has the calls of an expression that is kept name sequences by their numbers (SQ4).
func Bind(v *snapshot.View, expression string) (string, error) {
	var failed error
	text := byName.ReplaceAllStringFunc(expression, func(call string) string {
		quoted := byName.FindStringSubmatch(call)[1]
		name, err := ReadName(strings.ReplaceAll(quoted[1:len(quoted)-1], "''", "'"))
		var view *catalog.View
		if err == nil {
			view, _, err = Find(v, name)
		}
		if err != nil {
			failed = err
			return call
		}
		return Call(view.ID)
	})
	return text, failed
}

// Call is the expression of a sequence's next value, by its number.
func Call(id catalog.TableID) string { return fmt.Sprintf("%s(%d)", mention.NextValue, id) }

// Calls are the numbers of the sequences whose next values an expression takes.
func Calls(expression string) (numbers []int64) {
	if !strings.Contains(expression, mention.NextValue) {
		return nil
	}
	for _, found := range byNumber.FindAllStringSubmatch(expression, -1) {
		if n, err := strconv.ParseInt(found[1], 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Only is the number of the sequence whose next value is all that an expression is.
func Only(expression string) (number int64, is bool) {
	found := byNumber.FindString(expression)
	if numbers := Calls(expression); found == expression && len(numbers) == 1 {
		return numbers[0], true
	}
	return 0, false
}

// Shown is an expression as PostgreSQL shows it: nextval('s'::regclass). path is where names need no schema.
func Shown(expression string, named func(number int64) (catalog.TableName, bool),
	visible func(catalog.TableName) bool) string {
	if !strings.Contains(expression, "csm_nextval") {
		return expression
	}
	text := byNumber.ReplaceAllStringFunc(expression, func(call string) string {
		name, ok := named(Calls(call)[0])
		if !ok {
			return call
		}
		shown := dialect.PlainIdentifier(name.Name)
		if !visible(name) {
			shown = dialect.PlainIdentifier(name.Schema) + "." + shown
		}
		return "nextval(" + lex.QuoteString(shown) + "::regclass)"
	})
	return strings.ReplaceAll(text, "csm_nextval(", "nextval(")
}
