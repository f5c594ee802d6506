package columntype

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// RefuseUnlike is the error of the first of a result's columns that would be stored as another type than it has. names
// are those of such types, empty for other columns; called are the names that the table gives its first columns.
func RefuseUnlike(names []string, result *arrow.Schema, called []string) error {
	for i, name := range names {
		if name == "" {
			continue
		}
		column := result.Field(i).Name
		if i < len(called) {
			column = called[i]
		}
		hint := "Cast it: CAST(… AS VARCHAR)."
		if name == "TIME_NS" {
			hint = "Cast it: CAST(… AS TIME), which has microseconds, or CAST(… AS VARCHAR)."
		}
		return sqlerror.New("0A000", "column %q: columns of type %s cannot be stored", column, name).WithHint(hint)
	}
	return nil
}
