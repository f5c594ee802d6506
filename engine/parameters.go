package engine

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
)

// replaceTokens puts what replace says in place of single tokens.
func replaceTokens(text string, replace func(token string, offset int) (string, bool)) (string, edit.List) {
	scanned, err := pg.Scan(text)
	if err != nil {
		return text, nil
	}
	edited := edit.New(text)
	for _, t := range scanned.Tokens {
		start, end := int(t.Start), int(t.End)
		if by, ok := replace(text[start:end], start); ok {
			edited.Replace(start, end, by)
		}
	}
	return edited.Text()
}

func isParameter(token string) bool {
	return len(token) > 1 && token[0] == '$' && token[1] >= '0' && token[1] <= '9'
}

// parametersAsText makes every parameter text. DuckDB cannot plan a parameter that nothing around it gives a type; PostgreSQL
// takes it for text.
func parametersAsText(text string) (string, edit.List) {
	return replaceTokens(text, func(token string, _ int) (string, bool) {
		return "CAST(" + token + " AS VARCHAR)", isParameter(token)
	})
}

// rowSource is the part of an INSERT's query that shows what its columns are made of: VALUES, or a select list without a star.
type rowSource struct {
	width      int
	parameters map[int]int     // offset of a parameter that is a value by itself → its column
	texts      map[int]rowText // offset of a string literal that is passed on as a value
}

// rowText is a string literal in a row, and its column.
type rowText struct {
	value  string
	column int
}

// readRows looks at the tree of an INSERT's query; ok is false when only planning tells how many columns it has.
func readRows(tree *pg.ParseResult) (source rowSource, ok bool) {
	if tree == nil || len(tree.Stmts) != 1 {
		return source, false
	}
	s := tree.Stmts[0].GetStmt().GetSelectStmt()
	source.parameters, source.texts = map[int]int{}, map[int]rowText{}
	switch {
	case s == nil:
		return source, false
	case len(s.ValuesLists) > 0:
		for _, list := range s.ValuesLists {
			items := list.GetList().GetItems()
			source.width = max(source.width, len(items))
			for column, item := range items {
				source.note(item, column)
			}
		}
		return source, true
	case s.Op != pg.SetOperation_SETOP_NONE:
		source.noteArms(s)
		return source, false
	case len(s.TargetList) == 0:
		return source, false
	}
	for column, target := range s.TargetList {
		value := target.GetResTarget().GetVal()
		if isStar(value) {
			return source, false
		}
		source.note(value, column)
	}
	source.width = len(s.TargetList)
	return source, true
}

// noteArms looks at the strings in the select lists of a UNION's queries. Its columns have types of their own, which parameters are part of.
func (r *rowSource) noteArms(s *pg.SelectStmt) {
	eachArm(s, func(row []*pg.Node) {
		if slices.ContainsFunc(row, isStar) {
			return
		}
		for column, value := range row {
			r.noteText(value, column)
		}
	})
}

func isStar(n *pg.Node) bool {
	return slices.ContainsFunc(n.GetColumnRef().GetFields(), func(f *pg.Node) bool { return f.GetAStar() != nil })
}

func (r *rowSource) note(value *pg.Node, column int) {
	if p := value.GetParamRef(); p != nil {
		r.parameters[int(p.Location)] = column
	}
	r.noteText(value, column)
}

func (r *rowSource) noteText(value *pg.Node, column int) {
	eachResult(value, func(c *pg.A_Const) { r.texts[int(c.Location)] = rowText{c.GetSval().Sval, column} })
}
