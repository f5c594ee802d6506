package columntype

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Table is the schema of a table made of a result, whose types are logical (ingest.LogicalSchema), under the first so
// many names: 42601 if there are too many of them, 42701 if two columns are called the same.
func Table(result *arrow.Schema, names []string) (*arrow.Schema, error) {
	fields := result.Fields()
	if len(names) > len(fields) {
		return nil, sqlerror.New("42601", "too many column names were specified")
	}
	seen := map[string]int{}
	for i := range fields {
		if i < len(names) {
			fields[i].Name = names[i]
		}
		fields[i].Nullable, fields[i].Metadata = true, Extension(fields[i])
		if _, err := SQL(fields[i]); err != nil {
			return nil, err
		}
		key := strings.ToLower(fields[i].Name)
		if n := seen[key]; n > 0 {
			return nil, sqlerror.New("42701", "column %q specified more than once", fields[i].Name).
				WithHint("Give the query's columns different names with AS.")
		}
		seen[key]++
	}
	return arrow.NewSchema(fields, nil), nil
}
