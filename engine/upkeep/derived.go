package upkeep

import (
	"context"
	"errors"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// NotDerived says why a table does not come back from its query; without an error, because its rows are others now.
// Lost chunks of the query's own tables are reported as they are: they may come back first.
func NotDerived(table catalog.Table, contents *catalog.Contents, o *lineage.Origin, err error) error {
	var damaged *reader.DamagedError
	var pgError interface{ SQLState() string }
	stopped := errors.As(err, &pgError) &&
		(strings.HasPrefix(pgError.SQLState(), "57") || pgError.SQLState() == "53200")
	if stopped || errors.As(err, &damaged) || errors.Is(err, context.Canceled) {
		return err
	}
	var changed []string
	for _, t := range o.Query.Tables {
		now, there := tableByID(contents, t.ID)
		switch {
		case !there:
			changed = append(changed, t.Name+" is gone")
		case now.Version() != t.Version:
			changed = append(changed, t.Name+" was written since")
		}
	}
	what := "its query gives other rows now"
	if err != nil {
		what = "its query fails: " + err.Error()
	}
	if len(changed) > 0 {
		what += " (" + strings.Join(changed, ", ") + ")"
	}
	e := sqlerror.New("58000", "table %v cannot be reloaded: %s", table.Name, what).
		WithHint("Nothing was changed. Recreate the table with CREATE OR REPLACE TABLE … AS.")
	e.DetailText, e.Cause = o.String(), err
	return e
}

func tableByID(contents *catalog.Contents, id uint64) (*catalog.TableVersion, bool) {
	return contents.TableOf(catalog.TableID(id), catalog.TableName{})
}
