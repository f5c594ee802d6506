package cast

import (
	"cmp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// The values of VALUES lists become their columns' types one by one, as in PostgreSQL. DuckDB brings those of one place
// in all rows to one type first, which is lossy: of 9007199254740993 beside 1e0 it makes ...992, of 1.10 beside 2.25 in
// a column of text '1.10', of 1 beside 2.5 '1.0'. So each value is cast by itself, but where the kinds of all values of
// a column show that nothing is lost on the way: then it would only make long lists longer.

// profile is what is known of the values of one column of a VALUES list.
type profile struct {
	kinds    uint16 // a bit for each statement.ValueKind that occurs
	whole    int    // the most digits before the point,
	fraction int    // behind it,
	least    int    // and the fewest there
}

func bit(k statement.ValueKind) uint16 { return 1 << k }

func (p *profile) add(v *statement.Value) {
	const decimal = 1 << statement.DecimalValue
	if v.Kind == statement.DecimalValue {
		if p.kinds&decimal == 0 {
			p.least = v.Fraction
		}
		p.least = min(p.least, v.Fraction)
	}
	p.kinds |= bit(v.Kind)
	p.whole, p.fraction = max(p.whole, v.Whole), max(p.fraction, v.Fraction)
}

// harmless reports whether the type that DuckDB finds for all values of a column changes none of them on their way to
// its own type.
func (p *profile) harmless(t arrow.DataType) bool {
	kinds := p.kinds &^ bit(statement.NullValue)
	integers := kinds&bit(statement.IntegerValue) != 0
	switch kinds {
	case 0, bit(statement.TextValue), bit(statement.BooleanValue), bit(statement.FloatValue):
		return true
	case bit(statement.IntegerValue):
		return p.whole <= 18 || p.whole <= 38 && !arrow.IsFloating(t.ID()) // HUGEINT takes another way to a float
	case bit(statement.DecimalValue), bit(statement.DecimalValue) | bit(statement.IntegerValue):
	default:
		return false
	}
	digits := p.whole + p.fraction
	if integers {
		digits = max(p.whole, 19) + p.fraction // a BIGINT is a DECIMAL(19,0)
	}
	same := !integers && p.least == p.fraction
	switch {
	case arrow.IsDecimal(t.ID()), arrow.IsInteger(t.ID()):
		return digits <= 38
	case t.ID() == arrow.FLOAT64:
		return p.whole+p.fraction <= 15 || same && digits <= 18
	}
	return same && digits <= 18 && (t.ID() == arrow.FLOAT32 || t.ID() == arrow.STRING)
}

// valueList rewrites a VALUES list.
type valueList struct {
	head     *statement.Insert
	text     string // the list
	schema   *arrow.Schema
	fields   []arrow.Field // of its columns, in their order
	types    []string      // and their names
	forms    []literal.Form
	profiles []profile
	rows     int

	out    *edit.Editor // of text
	failed error
	// defaults: the word DEFAULT stays.
	defaults bool
}

// readValues looks at an INSERT's list; nil if it has none, or more than one.
func readValues(head *statement.Insert) *valueList {
	l := &valueList{head: head, text: head.Query[len(head.With):]}
	if !head.Values(func(v *statement.Value) bool {
		for v.Column >= len(l.profiles) {
			l.profiles = append(l.profiles, profile{})
		}
		l.profiles[v.Column].add(v)
		l.rows = v.Row + 1
		return true
	}) {
		return nil
	}
	return l
}

// Values wraps the VALUES list of an INSERT so that it gives the columns of a table; not is: it has no list, or more
// than one.
func Values(head *statement.Insert, schema *arrow.Schema) (src Source, is bool, err error) {
	l := readValues(head)
	if l == nil {
		return Source{}, false, nil
	}
	src, err = l.source(schema)
	return src, true, err
}

// Source wraps the list so that it gives the columns of a table.
func (l *valueList) source(schema *arrow.Schema) (Source, error) {
	columns, err := InsertColumns(l.head, schema, make([]string, len(l.profiles)))
	if err != nil {
		return Source{}, err
	}
	query, moved, err := l.typed(schema, columns)
	if err != nil {
		return Source{}, err
	}
	columns, err = Taken(l.head, schema, columns, func(i int) bool {
		return l.profiles[i].kinds != bit(statement.DefaultValueWord)
	})
	if err != nil {
		return Source{}, err
	}
	src, err := Query(query, schema, columns)
	src.Inner, src.Edits = l.head.Query, moved
	return src, err
}

// typed is the INSERT's query with values that become their columns' types by themselves.
func (l *valueList) typed(schema *arrow.Schema, columns []string) (string, edit.List, error) {
	l.schema = schema
	again := false
	for i, c := range columns {
		f := schema.Field(ingest.Index(schema, c))
		name, err := columntype.SQL(f)
		if err != nil {
			return "", nil, err
		}
		l.fields, l.types, l.forms = append(l.fields, f), append(l.types, name), append(l.forms, literal.Of(f))
		kinds := l.profiles[i].kinds
		again = again || l.casts(i) || kinds&(bit(statement.DefaultValueWord)|bit(statement.ParameterValue)) != 0 ||
			kinds&(bit(statement.TextValue)|bit(statement.ExpressionValue)) != 0 && l.forms[i].Translates()
	}
	if !again {
		return l.head.Query, nil, nil
	}
	l.out = edit.New(l.text)
	l.head.Values(func(v *statement.Value) bool {
		if v.Column < len(l.fields) {
			l.write(v)
		}
		return l.failed == nil
	})
	if l.failed != nil {
		return "", nil, l.failed
	}
	text, made := l.out.Text()
	return l.head.With + text, made.Shift(len(l.head.With)), nil
}

// casts reports whether every value of a column is cast by itself.
func (l *valueList) casts(column int) bool {
	return l.rows > 1 && !l.profiles[column].harmless(l.fields[column].Type)
}

// write puts what a value is to be in its place.
func (l *valueList) write(v *statement.Value) {
	written := l.text[v.Start:v.End]
	by, cast := written, l.casts(v.Column)
	switch v.Kind {
	case statement.NullValue:
		return
	case statement.ParameterValue:
		cast = true
	case statement.DefaultValueWord:
		if l.defaults {
			return
		}
		text, ok := Default(l.fields[v.Column])
		if !ok {
			text = "NULL"
		}
		by = "(" + text + ")"
	case statement.ExpressionValue:
		text, err := dialect.SpelledFor(written, l.fields[v.Column])
		if err != nil {
			l.failed = err
			return
		}
		by = text
	case statement.TextValue:
		text, err := l.forms[v.Column].Translate(v.Text)
		if err != nil {
			l.failed = err
			return
		}
		if text != v.Text {
			by = duckdb.QuoteLiteral(text)
		}
	}
	if cast {
		by = "CAST(" + by + " AS " + l.types[v.Column] + ")"
	}
	if by != written {
		l.out.Replace(v.Start, v.End, by)
	}
}

// InsertColumns are the names of the columns that an INSERT's query fills, in the query's order; given are its own.
func InsertColumns(head *statement.Insert, schema *arrow.Schema, given []string) ([]string, error) {
	columns := head.Columns
	switch {
	case head.ByName:
		columns = given
	case columns == nil:
		if len(given) > schema.NumFields() {
			return nil, sqlerror.New("42601", "INSERT has more expressions than target columns")
		}
		for i := range given {
			columns = append(columns, schema.Field(i).Name)
		}
	}
	if len(given) > len(columns) {
		return nil, sqlerror.New("42601", "INSERT has more expressions than target columns")
	}
	if len(given) < len(columns) {
		return nil, sqlerror.New("42601", "INSERT has more target columns than expressions")
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if ingest.Index(schema, c) < 0 {
			return nil, sqlerror.New("42703", "column %q of relation %q does not exist", c, head.Name.Name)
		}
		if seen[strings.ToLower(c)] {
			return nil, sqlerror.New("42701", "column %q specified more than once", c)
		}
		seen[strings.ToLower(c)] = true
	}
	return columns, nil
}

// TypedRows gives parameters and literals that are values by themselves the types of their columns.
func TypedRows(head *statement.Insert, schema *arrow.Schema, columns []string,
	rows dialect.RowSource) (string, edit.List, error) {
	if len(rows.Parameters) == 0 && len(rows.Texts) == 0 {
		return head.Query, nil, nil
	}
	var failed error
	query, moved := dialect.ReplaceTokens(head.Query, func(token string, offset int) (string, bool) {
		if column, ok := rows.Parameters[offset]; ok && column < len(columns) && dialect.IsParameter(token) {
			name, err := columntype.SQL(schema.Field(ingest.Index(schema, columns[column])))
			failed = cmp.Or(failed, err)
			return "CAST(" + token + " AS " + name + ")", true
		}
		if text, ok := rows.Texts[offset]; ok && text.Column < len(columns) {
			by, err := literal.Of(schema.Field(ingest.Index(schema, columns[text.Column]))).Translate(text.Value)
			failed = cmp.Or(failed, err)
			return duckdb.QuoteLiteral(by), by != text.Value
		}
		return "", false
	})
	return query, moved, failed
}

// Listed is the query of an INSERT with values that become their columns' types by themselves, the edits that made it so,
// and the columns that it fills. given asks what the columns of a query are called.
func Listed(head *statement.Insert, schema *arrow.Schema,
	given func(query string) ([]string, error)) (query string, moved edit.List, columns []string, err error) {
	if l := readValues(head); l != nil {
		l.defaults = true
		if columns, err = InsertColumns(head, schema, make([]string, len(l.profiles))); err == nil {
			query, moved, err = l.typed(schema, columns)
		}
		return query, moved, columns, err
	}
	rows, shown := dialect.ReadRows(dialect.TreeOf(head.Query))
	names := make([]string, rows.Width)
	if !shown {
		if names, err = given(head.Query); err != nil {
			return "", nil, nil, err
		}
	}
	if columns, err = InsertColumns(head, schema, names); err == nil {
		query, moved, err = TypedRows(head, schema, columns, rows)
	}
	return query, moved, columns, err
}

// Insert is what an INSERT stores, as a query that gives the table's columns; given asks what the columns of its own
// query are called.
func Insert(head *statement.Insert, schema *arrow.Schema, given func(query string) ([]string, error)) (Source, error) {
	if head.Query == "" { // DEFAULT VALUES
		return Query("SELECT 1 AS csm_one", schema, []string{""})
	}
	if !head.ByName {
		if src, is, err := Values(head, schema); is {
			return src, err
		}
	}
	rows, shown := dialect.ReadRows(dialect.TreeOf(head.Query))
	names := make([]string, rows.Width)
	if !shown || head.ByName {
		var err error
		if names, err = given(head.Query); err != nil {
			return Source{}, err
		}
	}
	columns, err := InsertColumns(head, schema, names)
	if err != nil {
		return Source{}, err
	}
	query, moved, err := TypedRows(head, schema, columns, rows)
	if err != nil {
		return Source{}, err
	}
	if columns, err = Taken(head, schema, columns, func(int) bool { return true }); err != nil {
		return Source{}, err
	}
	src, err := Query(query, schema, columns)
	src.Inner, src.Edits = head.Query, moved
	return src, err
}
