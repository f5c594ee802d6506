package alteration

import (
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// actionWords are what PostgreSQL calls the actions that it does not do to a materialized view, whose columns are those
// of its query.
var actionWords = map[statement.ActionKind]string{
	statement.AddColumn: "ADD COLUMN", statement.DropColumn: "DROP COLUMN", statement.AddKey: "ADD CONSTRAINT",
	statement.RemoveConstraint: "DROP CONSTRAINT", statement.SetType: "ALTER COLUMN ... SET DATA TYPE",
	statement.SetDefault: "ALTER COLUMN ... SET DEFAULT", statement.DropDefault: "ALTER COLUMN ... DROP DEFAULT",
	statement.SetNotNull: "ALTER COLUMN ... SET NOT NULL", statement.DropNotNull: "ALTER COLUMN ... DROP NOT NULL",
	statement.AddIdentity:    "ALTER COLUMN ... ADD IDENTITY",
	statement.SetIdentity:    "ALTER COLUMN ... SET GENERATED",
	statement.DropIdentity:   "ALTER COLUMN ... DROP IDENTITY",
	statement.DropExpression: "ALTER COLUMN ... DROP EXPRESSION",
	statement.RestoreTo:      "RESTORE TO",
}

// ofMaterialized is the error of what is not done to a materialized view; nil of other tables.
func ofMaterialized(table catalog.Table, head *statement.AlterTable) error {
	if !materialized.Is(table) {
		return nil
	}
	for _, action := range head.Actions {
		if words, refused := actionWords[action.Kind]; refused {
			e := sqlerror.New("42809", "ALTER action %s cannot be performed on relation %q", words, table.Name.Name)
			e.DetailText = "This operation is not supported for materialized views."
			return e
		}
	}
	return nil
}
