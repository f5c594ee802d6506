package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// A row becomes a struct of the table's columns and of what is done, which one CASE decides: so every condition is
// asked once of a row, in the order of the clauses, and values are computed for the clause that is taken and no other.
// Rows of the source that are joined with none are put aside first: the target's names mean nothing there.
//
//	WITH joined AS MATERIALIZED (
//	  SELECT s.k AS s0, …, t.number, CASE WHEN t.number IS NOT NULL THEN decision END AS becomes
//	  FROM source LEFT JOIN csm_numbered.t AS t ON (condition))
//	SELECT struct_extract(becomes, 'c0'), …, number, struct_extract(becomes, 'does') FROM (
//	  SELECT number, becomes FROM joined WHERE number IS NOT NULL
//	  UNION ALL SELECT NULL, decision FROM (SELECT s0 AS k, … FROM joined WHERE number IS NULL) AS s
//	) AS rows(number, becomes) WHERE becomes IS NOT NULL
//
// where a decision is CASE WHEN (condition) THEN struct_pack(c0 := value, …, does := action) … END.

// actions are what the last column of the query says.
var actions = map[statement.MergeAction]int{
	statement.MergeUpdate: 1, statement.MergeDelete: 2, statement.MergeInsert: 3,
}

// Query implements rewrite.Change.
func (m *Merge) Query(n *snapshot.Numbers, table string) (string, error) { return m.Text(n, table) }

// Text implements rewrite.Change: what rows become, their numbers, and which action that is.
func (m *Merge) Text(n *snapshot.Numbers, table string) (string, error) {
	q := &query{Merge: m, numbers: n, table: n.Version.Table(), name: n.Column}
	text, err := q.text(table)
	if err != nil {
		return "", err
	}
	fields := append(q.table.Columns.Fields(),
		arrow.Field{Name: q.name, Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: q.name + "_does", Type: arrow.PrimitiveTypes.Int32})
	schema := arrow.NewSchema(fields, nil)
	src, err := cast.Query(text, schema, conform.Names(schema))
	return src.Text, err
}

// query is the text that is being written.
type query struct {
	*Merge
	numbers *snapshot.Numbers
	table   catalog.Table
	source  []string // the columns of the source
	name    string   // which the user's words have nowhere, as a part or whole
}

func (q *query) text(table string) (string, error) {
	with := q.head.With
	var err error
	if q.source, err = q.numbers.Describe(with + " SELECT * FROM " + q.head.Source); err != nil {
		return "", err
	}
	matched, left := q.side(true), q.side(false)
	words := q.head.On
	for _, w := range matched {
		words += " " + wordsOf(w)
	}
	target, number := rewrite.FromNumbered(q.numbers, table, q.alias, words)
	join := " JOIN "
	if left != nil {
		join = " LEFT JOIN "
	}
	from := q.head.Source + join + target + " ON (" + q.plain(q.head.On, q.table) + "\n)"
	becomes := "NULL"
	if matched != nil {
		if becomes, err = q.decision(matched); err != nil {
			return "", err
		}
	}
	if left == nil {
		return q.rows(with, "SELECT "+number+", "+becomes+" FROM "+from), nil
	}
	inserted, err := q.decision(left)
	if err != nil {
		return "", err
	}
	list := make([]string, len(q.source))
	for i, name := range q.source {
		list[i] = duckdb.QuoteIdentifier(q.head.SourceAlias) + "." + duckdb.QuoteIdentifier(name)
	}
	none := "SELECT CAST(NULL AS BIGINT), " + inserted + " FROM (SELECT "
	as := " AS " + duckdb.QuoteIdentifier(q.head.SourceAlias)
	if matched == nil {
		for i, name := range q.source {
			list[i] += " AS " + duckdb.QuoteIdentifier(name)
		}
		return q.rows(with, none+strings.Join(list, ", ")+" FROM "+from+" WHERE "+number+" IS NULL)"+as), nil
	}
	var again []string
	for i, name := range q.source {
		aside := fmt.Sprint(q.name, "_", i)
		list[i] += " AS " + aside
		again = append(again, aside+" AS "+duckdb.QuoteIdentifier(name))
	}
	list = append(list, number+" AS "+q.name,
		"CASE WHEN "+number+" IS NOT NULL THEN "+becomes+" END AS "+q.name+"_becomes")
	joined := q.name + "_joined"
	with = strings.TrimRight(with, " \t\r\n") + "\n"
	if q.head.With == "" {
		with = "WITH "
	} else {
		with += ", "
	}
	with += joined + " AS MATERIALIZED (SELECT " + strings.Join(list, ", ") + " FROM " + from + ") "
	return q.rows(with, "SELECT "+q.name+", "+q.name+"_becomes FROM "+joined+" WHERE "+q.name+" IS NOT NULL UNION ALL "+
		none+strings.Join(again, ", ")+" FROM "+joined+" WHERE "+q.name+" IS NULL)"+as), nil
}

// rows take apart what a query gives: the numbers of rows, and what they become.
func (q *query) rows(with, query string) string {
	becomes := q.name + "_becomes"
	list := make([]string, q.table.Columns.NumFields(), q.table.Columns.NumFields()+2)
	for i := range list {
		list[i] = fmt.Sprintf("struct_extract(%s, 'c%d')", becomes, i)
	}
	list = append(list, q.name, "struct_extract("+becomes+", 'does')")
	return with + "SELECT " + strings.Join(list, ", ") + " FROM (" + query + ") AS " + q.name + "_rows(" +
		q.name + ", " + becomes + ") WHERE " + becomes + " IS NOT NULL"
}

// decision is what clauses make of a row, NULL if nothing.
func (q *query) decision(clauses []statement.When) (string, error) {
	text := "CASE"
	if !slices.ContainsFunc(clauses, func(w statement.When) bool { return w.Action != statement.MergeNothing }) {
		row, err := q.row(statement.When{Action: statement.MergeInsert}) // says of which type the NULL is
		if err != nil {
			return "", err
		}
		text += " WHEN false THEN " + row
	}
	for _, w := range clauses {
		row, err := q.row(w)
		if err != nil {
			return "", err
		}
		condition := "true"
		if w.Condition != "" {
			condition = "(" + q.plain(w.Condition, q.table) + "\n)"
		}
		text += " WHEN " + condition + " THEN " + row
	}
	return text + " END", nil
}

// row is what one clause makes of a row.
func (q *query) row(w statement.When) (row string, err error) {
	var list []string
	switch w.Action {
	case statement.MergeNothing:
		return "NULL", nil
	case statement.MergeInsert:
		list, err = q.inserted(w)
	case statement.MergeUpdate, statement.MergeDelete:
		set := slices.Clone(w.Set)
		for i := range set {
			set[i].Value = q.plain(set[i].Value, q.table)
		}
		list, err = rewrite.Updated(&statement.Update{Name: q.head.Name, Alias: q.head.Alias, Set: set}, q.table,
			duckdb.QuoteIdentifier(q.alias))
	}
	if err != nil {
		return "", err
	}
	for i, value := range list {
		list[i] = fmt.Sprintf("c%d := %s", i, value)
	}
	return fmt.Sprintf("struct_pack(%s, does := %d)", strings.Join(list, ", "), actions[w.Action]), nil
}

// inserted are the values of a new row, each of its column's type.
func (q *query) inserted(w statement.When) ([]string, error) {
	schema := q.table.Columns
	head := &statement.Insert{Name: q.head.Name, Columns: w.Columns, ColumnsAt: w.ColumnsAt, Overriding: w.Overriding}
	given := map[string]statement.MergeValue{}
	if w.Values != nil {
		values := q.expanded(w.Values)
		columns, err := cast.InsertColumns(head, schema, make([]string, len(values)))
		if err == nil {
			columns, err = cast.Taken(head, schema, columns, func(i int) bool { return !values[i].Default })
		}
		if err != nil {
			return nil, err
		}
		for i, c := range columns {
			given[strings.ToLower(c)] = values[i]
		}
	}
	list := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return nil, err
		}
		value, is := given[strings.ToLower(f.Name)]
		text, has := cast.Default(f)
		switch {
		case is && !value.Default:
			text = cast.ForColumn(q.plain(value.Text, q.table), f)
		case !has:
			text = "NULL"
		}
		list[i] = "CAST((" + text + "\n) AS " + name + ")"
	}
	return list, nil
}

// expanded are values in which s.* is the columns of the source.
func (q *query) expanded(values []statement.MergeValue) (list []statement.MergeValue) {
	for _, v := range values {
		if !q.isStar(v.Text) {
			list = append(list, v)
			continue
		}
		for _, name := range q.source {
			list = append(list, statement.MergeValue{
				Text: duckdb.QuoteIdentifier(q.head.SourceAlias) + "." + duckdb.QuoteIdentifier(name),
			})
		}
	}
	return list
}

func (q *query) isStar(value string) bool {
	var tokens []lex.Token
	for t := range lex.Client.Tokens(q.plain(value, q.table)) {
		tokens = append(tokens, t)
	}
	if len(tokens) != 3 || !tokens[1].Is(".") || !tokens[2].Is("*") {
		return false
	}
	name, ok := tokens[0].Name()
	return ok && strings.EqualFold(name, q.head.SourceAlias)
}

var errTwice = sqlerror.New("21000", "MERGE command cannot affect row a second time").
	WithHint("Ensure that not more than one source row matches any one target row.")
