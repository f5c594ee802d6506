package upkeep

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Maintained are the tables that a VACUUM or an ANALYZE means; find gives that of a name, nil of a temporary one.
func Maintained(contents *catalog.Contents, head *statement.NoOp, find func(statement.Name) (*catalog.TableVersion,
	error)) (list []*catalog.TableVersion, err error) {
	if len(head.Tables) == 0 {
		return contents.Tables(), nil
	}
	for _, table := range head.Tables {
		version, err := find(table.Name)
		if err == nil && version != nil {
			list, err = append(list, version), refuseMissing(version, table)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// refuseMissing is the error of columns that the statement names and the table has not.
func refuseMissing(version *catalog.TableVersion, table statement.Maintained) error {
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
