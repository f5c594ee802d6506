package temporary

import (
	"cmp"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/statement"
)

// update is the text of an UPDATE in which texts are as DuckDB writes values of the types of the columns that they are
// given to. What is wrong otherwise, DuckDB says of the text as it is.
func update(conn *duckdb.Connection, text string, head *statement.Update) (string, edit.List, error) {
	texts := assigned(text)
	if len(texts) == 0 {
		return text, nil, nil
	}
	schema, err := schemaOf(conn, "SELECT * FROM "+Qualified(head.Name.Name))
	if err != nil {
		return text, nil, nil
	}
	var failed error
	text, moved := dialect.ReplaceTokens(text, func(_ string, offset int) (string, bool) {
		value, ok := texts[offset]
		at := ingest.Index(schema, value.column)
		if !ok || at < 0 {
			return "", false
		}
		by, err := literal.Of(schema.Field(at)).Translate(value.text)
		failed = cmp.Or(failed, err)
		return duckdb.QuoteLiteral(by), by != value.text
	})
	return text, moved, failed
}

// assignedText is a text that an UPDATE gives a column.
type assignedText struct{ column, text string }

// assigned are those of an UPDATE, by where they stand in it.
func assigned(text string) map[int]assignedText {
	tree := dialect.TreeOf(text)
	if tree == nil || len(tree.Stmts) != 1 {
		return nil
	}
	found := map[int]assignedText{}
	for _, n := range tree.Stmts[0].GetStmt().GetUpdateStmt().GetTargetList() {
		target := n.GetResTarget()
		value := target.GetVal()
		if row := value.GetMultiAssignRef(); row != nil {
			values := row.GetSource().GetRowExpr().GetArgs()
			if at := int(row.GetColno()) - 1; at < len(values) {
				value = values[at]
			}
		}
		if c := value.GetAConst(); c != nil {
			if s, ok := c.GetVal().(*pg.A_Const_Sval); ok {
				found[int(c.GetLocation())] = assignedText{target.GetName(), s.Sval.GetSval()}
			}
		}
	}
	return found
}
