package definition

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// MakeRoom looks whether the name of a new table is taken, and frees it for OR REPLACE. exists: IF NOT EXISTS applies,
// of which skipped notifies the client.
func MakeRoom(tx *catalog.Transaction, v *snapshot.View, name catalog.TableName, ifNotExists, orReplace bool,
	skipped func(state, message string)) (exists bool, err error) {
	version := v.Find(name.Schema, name.Name)
	switch {
	case version == nil:
		return false, nil
	case ifNotExists:
		skipped("42P07", fmt.Sprintf("relation %q already exists, skipping", name.Name))
		return true, nil
	case orReplace && materialized.Is(version.Table()):
		return false, sqlerror.New("42809", "%q is not a table", name.Name).
			WithHint("Use DROP MATERIALIZED VIEW to remove a materialized view.")
	case orReplace:
		named, err := ReferencesTo(tx.Contents(), []catalog.TableName{version.Table().Name})
		if err == nil && len(named) > 0 {
			err = Referenced(named)
		}
		if err != nil {
			return false, err
		}
		return false, tx.DropTable(version.Table().Name)
	}
	return false, sqlerror.New("42P07", "relation %q already exists", name.Name)
}

// Room is the name of a table that a statement makes, with room for it; see MakeRoom.
func Room(tx *catalog.Transaction, v *snapshot.View, head *statement.CreateTable,
	skipped func(state, message string)) (name catalog.TableName, exists bool, err error) {
	if name, err = v.Qualify(head.Name); err == nil {
		exists, err = MakeRoom(tx, v, name, head.IfNotExists, head.OrReplace, skipped)
	}
	return name, exists, err
}
