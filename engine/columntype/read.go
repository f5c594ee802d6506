package columntype

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Type is the type of a column.
type Type struct {
	// DuckDB is the type's name for DuckDB, which may not know it.
	DuckDB string
	Declared
}

func refuse(name, advice string) error {
	return sqlerror.New("0A000", "columns of type %s cannot be stored", name).WithHint(advice)
}

// The longest strings that PostgreSQL lets one declare.
const maxLength = 10485760

// inside finds the parentheses of a type within another one, which DuckDB would forget; the types that keep theirs are
// left out.
var inside = regexp.MustCompile(`(?i)\b(varchar|char|character|varying|bpchar|nvarchar|text|string|bit|time|timestamp|timestamptz|timetz|interval|float|double)\s*\(\s*[0-9]`)

// Read says what a type means that was written for a column.
func Read(text string) (Type, error) {
	const system = "pg_catalog." // DuckDB's types are not there
	if len(text) > len(system) && strings.EqualFold(text[:len(system)], system) {
		text = text[len(system):]
	}
	name := parsed(text)
	if name == nil { // DuckDB's own way to write it
		if m := inside.FindStringSubmatch(text); m != nil {
			return Type{}, refuse(strings.ToLower(m[1])+"(…) within another type", "Leave the parentheses out: "+strings.ToLower(m[1])+".")
		}
		return Type{DuckDB: text}, nil
	}
	t, err := element(text, name)
	if err != nil || len(name.ArrayBounds) == 0 {
		return t, err
	}
	if t.Declared.Length > 0 {
		return Type{}, refuse(t.Declared.String()+"[]", "Use text[].")
	}
	return Type{DuckDB: arrayOf(t.DuckDB, text)}, nil
}

// arrayOf gives an element's type the brackets, or the word, of the text.
func arrayOf(element, text string) string {
	if at := strings.IndexByte(text, '['); at >= 0 {
		return element + text[at:]
	}
	return element + "[]" // integer ARRAY
}

// parsed is the type as PostgreSQL's parser reads it; nil: it does not, or the text is more than a type.
func parsed(text string) *pg.TypeName {
	const head = "SELECT NULL::"
	tree, err := tree.Parse(head + text + "\n")
	if err != nil || len(tree.Stmts) != 1 {
		return nil
	}
	s := tree.Stmts[0].Stmt.GetSelectStmt()
	if s == nil || len(s.TargetList) != 1 || len(s.FromClause) > 0 || s.WhereClause != nil || s.Op != pg.SetOperation_SETOP_NONE {
		return nil
	}
	target := s.TargetList[0].GetResTarget()
	cast := target.GetVal().GetTypeCast()
	if cast == nil || target.Name != "" || cast.Arg.GetAConst() == nil {
		return nil
	}
	return cast.TypeName
}

// element is the type without the brackets of an array.
func element(text string, name *pg.TypeName) (Type, error) {
	parts := make([]string, len(name.Names))
	for i, n := range name.Names {
		parts[i] = n.GetString_().GetSval()
	}
	last := parts[len(parts)-1]
	switch {
	case name.PctType:
		return Type{}, sqlerror.New("0A000", "%%TYPE, the type of another column, is not supported").WithHint("Write the type itself.")
	case name.Setof:
		return Type{}, sqlerror.New("42P16", "a column cannot be a set: %s", text)
	case len(parts) == 1 && last == "char": // "char", in quotes: char is pg_catalog.bpchar
		return Type{}, refuse(`"char"`, "Use char(1).")
	case len(parts) > 1 && parts[0] != "pg_catalog":
		return Type{DuckDB: text}, nil // a type that the session made, or none
	}
	if advice, ok := refused[last]; ok {
		return Type{}, refuse(last, advice)
	}
	if pseudo[last] {
		return Type{}, sqlerror.New("42P16", "a column has pseudo-type %s", last)
	}
	return modified(text, last, name)
}

// modified reads the parentheses.
func modified(text, last string, name *pg.TypeName) (Type, error) {
	numbers, plain := modifiers(name.Typmods)
	bare := withoutBounds(text, name)
	switch last {
	case "varchar", "bpchar":
		d := Declared{}
		if len(numbers) > 0 {
			d = Declared{Name: "varchar", Length: numbers[0]}
		}
		if last == "bpchar" {
			d.Name = "char"
		}
		if len(numbers) > 1 || !plain {
			return Type{}, sqlerror.New("22023", "invalid type modifier: %s", text)
		}
		return Type{DuckDB: "VARCHAR", Declared: d}, checkLength(last, numbers)
	case "numeric", "decimal", "dec", "enum", "union", "struct", "row", "map": // DuckDB keeps what is in theirs
		return Type{DuckDB: bare}, nil
	case "float4", "float8":
		if strings.Contains(bare, "(") { // float(24), float(53): PostgreSQL's parser has looked
			return Type{DuckDB: map[string]string{"float4": "REAL", "float8": "DOUBLE"}[last]}, nil
		}
		return Type{DuckDB: bare}, nil
	case "interval":
		if len(numbers) == 0 || len(numbers) == 2 && numbers[0] == allFields && numbers[1] == 6 {
			return Type{DuckDB: "INTERVAL"}, nil
		}
		return Type{}, refuse(text, "Use interval, which has microseconds and all fields.")
	case "time", "timestamp", "timestamptz", "timetz":
		return timeType(text, last, numbers)
	case "varbit", "bitstring":
		if len(numbers) > 0 {
			return Type{}, refuse(text, "Leave the length out, and have a CHECK of it: CHECK (length(c) <= n).")
		}
		return Type{DuckDB: "BIT"}, nil
	}
	if last == "jsonb" {
		bare = "json"
	}
	if len(name.Typmods) > 0 {
		return Type{}, sqlerror.New("42601", "type modifier is not allowed for type %q", last).WithHint("Leave the parentheses out.")
	}
	return Type{DuckDB: bare}, nil
}

// allFields is how PostgreSQL's parser writes an interval of all fields.
const allFields = 0x7FFF

// microseconds is the precision of PostgreSQL's times, and of DuckDB's except those with a name of their own.
const microseconds = 6

func timeType(text, last string, numbers []int) (Type, error) {
	duck := map[string]string{
		"time": "TIME", "timetz": "TIME WITH TIME ZONE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMP WITH TIME ZONE",
	}[last]
	if len(numbers) == 0 || numbers[0] == microseconds {
		return Type{DuckDB: duck}, nil
	}
	if last == "timestamp" {
		switch numbers[0] {
		case 0:
			return Type{DuckDB: "TIMESTAMP_S"}, nil
		case 3:
			return Type{DuckDB: "TIMESTAMP_MS"}, nil
		case 9:
			return Type{DuckDB: "TIMESTAMP_NS"}, nil
		}
		return Type{}, refuse(text, "Use timestamp, timestamp(0), timestamp(3) or timestamp(9).")
	}
	return Type{}, refuse(text, "Leave the precision out: values have microseconds.")
}

func checkLength(last string, numbers []int) error {
	display := map[string]string{"varchar": "varchar", "bpchar": "char"}[last]
	switch {
	case len(numbers) == 0:
		return nil
	case numbers[0] < 1:
		return sqlerror.New("22023", "length for type %s must be at least 1", display)
	case numbers[0] > maxLength:
		return sqlerror.New("22023", "length for type %s cannot exceed %d", display, maxLength).WithHint("Use text.")
	}
	return nil
}

// modifiers are the numbers in parentheses; plain: there is nothing else.
func modifiers(list []*pg.Node) (numbers []int, plain bool) {
	for _, n := range list {
		c := n.GetAConst()
		if c == nil || c.GetIval() == nil && c.Val != nil {
			return numbers, false
		}
		numbers = append(numbers, int(c.GetIval().GetIval()))
	}
	return numbers, true
}

// withoutBounds is the text without the brackets of an array.
func withoutBounds(text string, name *pg.TypeName) string {
	if len(name.ArrayBounds) == 0 {
		return text
	}
	if at := strings.IndexByte(text, '['); at >= 0 {
		return strings.TrimSpace(text[:at])
	}
	return strings.TrimSpace(arrayWord.ReplaceAllString(text, ""))
}

var arrayWord = regexp.MustCompile(`(?i)\s+array\s*$`)
