package upkeep

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// RefuseMissing is the error of a VACUUM or an ANALYZE that names columns which a table has not; version is nil of a
// temporary one.
func RefuseMissing(version *catalog.TableVersion, table statement.Maintained) error {
	if version == nil {
		return nil
	}
	for i, column := range table.Columns {
		if ingest.Index(version.Table().Columns, column) < 0 {
			e := sqlerror.New("42703", "column %q of relation %q does not exist", column, version.Table().Name.Name)
			e.At = table.ColumnsAt[i]
			return e
		}
	}
	return nil
}

// Reports are what VERBOSE asks for about tables, of which some may be nil.
func Reports(list []*catalog.TableVersion, head *statement.NoOp) (texts []string) {
	if !head.Verbose {
		return nil
	}
	doing := map[bool]string{true: "analyzing", false: "vacuuming"}[head.Tag == "ANALYZE"]
	for _, version := range list {
		if version != nil {
			name := version.Table().Name
			texts = append(texts, fmt.Sprintf("%s \"%s.%s\": %s, none of them dead, statistics are up to date", doing,
				name.Schema, name.Name, counted.Of(version.Rows(), "row")))
		}
	}
	return texts
}
