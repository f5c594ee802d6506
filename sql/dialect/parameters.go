package dialect

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/tree"
)

// ReplaceTokens puts what replace says in place of single tokens.
func ReplaceTokens(text string, replace func(token string, offset int) (string, bool)) (string, edit.List) {
	scanned, err := tree.Scan(text)
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

// IsParameter reports whether a token is one: $1.
func IsParameter(token string) bool {
	return len(token) > 1 && token[0] == '$' && token[1] >= '0' && token[1] <= '9'
}

// ParametersAsText makes every parameter text. DuckDB cannot plan a parameter that nothing around it gives a type;
// PostgreSQL takes it for text.
func ParametersAsText(text string) (string, edit.List) {
	return ReplaceTokens(text, func(token string, _ int) (string, bool) {
		return "CAST(" + token + " AS VARCHAR)", IsParameter(token)
	})
}

// RowSource is the part of an INSERT's query that shows what its columns are made of: VALUES, or a select list without
// a star.
type RowSource struct {
	Width      int
	Parameters map[int]int     // offset of a parameter that is a value by itself → its column
	Texts      map[int]RowText // offset of a string literal that is passed on as a value
}

// RowText is a string literal in a row, and its column.
type RowText struct {
	Value  string
	Column int
}

// ReadRows looks at the tree of an INSERT's query; ok is false when only planning shows how many columns it has.
func ReadRows(tree *pg.ParseResult) (source RowSource, ok bool) {
	if tree == nil || len(tree.Stmts) != 1 {
		return source, false
	}
	s := tree.Stmts[0].GetStmt().GetSelectStmt()
	source.Parameters, source.Texts = map[int]int{}, map[int]RowText{}
	switch {
	case s == nil:
		return source, false
	case len(s.ValuesLists) > 0:
		for _, list := range s.ValuesLists {
			items := list.GetList().GetItems()
			source.Width = max(source.Width, len(items))
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
	source.Width = len(s.TargetList)
	return source, true
}

// noteArms looks at the strings in the select lists of a UNION's queries. Its columns have types of their own, which
// parameters are part of.
func (r *RowSource) noteArms(s *pg.SelectStmt) {
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

func (r *RowSource) note(value *pg.Node, column int) {
	if p := value.GetParamRef(); p != nil {
		r.Parameters[int(p.Location)] = column
	}
	r.noteText(value, column)
}

func (r *RowSource) noteText(value *pg.Node, column int) {
	eachResult(value, func(c *pg.A_Const) { r.Texts[int(c.Location)] = RowText{c.GetSval().Sval, column} })
}
