package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
)

// Reading is a file whose columns are read into a table's.
type Reading struct {
	File    string
	Call    string        // the table function that reads it
	Schema  *arrow.Schema // the table's
	Columns []string      // the table's that are filled, in the order in which the call gives them
}

// IsBadValue reports whether an error is about a value, which has a place in the file.
func IsBadValue(err error) bool {
	var d *duckdb.Error
	return errors.As(err, &d) && strings.HasPrefix(d.State, "22")
}

// Culprit turns an error about a value of a file, which DuckDB had read before it found that the table cannot take it,
// into one that says where the value stands. It reads the file once more: a CSV file with the table's types, so that
// its reader finds it; a Parquet or a JSON file column by column.
func (f *Reading) Culprit(ctx context.Context, conn *duckdb.Connection, failed error) error {
	var d *duckdb.Error
	errors.As(failed, &d)
	json := strings.HasPrefix(f.Call, "read_json(")
	if d == nil || !IsBadValue(failed) && !json || dialect.CSVLine.MatchString(d.Message) {
		return dialect.InFile(f.File, failed)
	}
	types, err := fileTypes(f.Schema, f.Columns)
	if err != nil {
		return dialect.InFile(f.File, failed)
	}
	switch {
	case json:
		if found := jsonCulprit(ctx, conn, f, types); found != nil {
			return found
		}
	case strings.HasPrefix(f.Call, "read_csv("):
		_, err := conn.Texts(ctx, "SELECT count(COLUMNS(*))::VARCHAR FROM "+strings.TrimSuffix(f.Call, ")")+", types = "+structOf(f.Columns, types)+")")
		if again := (*duckdb.Error)(nil); errors.As(err, &again) && dialect.CSVLine.MatchString(again.Message) {
			return dialect.InFile(f.File, again)
		}
	case strings.HasPrefix(f.Call, "read_parquet("):
		names, err := fileNames(conn, f.Call)
		if err != nil {
			break
		}
		if where, ok := parquetCulprit(ctx, conn, f, names, types); ok {
			return dialect.InFile(f.File+where, failed)
		}
	}
	return dialect.InFile(f.File, failed)
}

// jsonCulprit finds the first value of a JSON file that its column's type does not take.
func jsonCulprit(ctx context.Context, conn *duckdb.Connection, f *Reading, types []string) error {
	texts, found := make([]string, len(types)), make([]string, len(types))
	for i, c := range f.Columns {
		texts[i] = "VARCHAR"
		name := duckdb.QuoteIdentifier(c)
		found[i] = fmt.Sprintf("SELECT min_by([csm_row::VARCHAR, '%d', %s], csm_row) AS found, min(csm_row) AS first FROM csm_file WHERE TRY_CAST(%s AS %s) IS NULL AND %s IS NOT NULL",
			i, name, name, types[i], name)
	}
	cells, err := conn.Texts(ctx, "WITH csm_file AS (SELECT *, row_number() OVER () AS csm_row FROM read_json("+duckdb.QuoteLiteral(f.File)+
		", columns = "+structOf(f.Columns, texts)+")) SELECT unnest(found) FROM (SELECT found FROM ("+strings.Join(found, " UNION ALL ")+
		") WHERE first IS NOT NULL ORDER BY first LIMIT 1)")
	if err != nil || len(cells) != 3 {
		return nil
	}
	i, err := strconv.Atoi(cells[1])
	if err != nil || i >= len(types) {
		return nil
	}
	_, bad := conn.Texts(ctx, "SELECT CAST(CAST("+duckdb.QuoteLiteral(cells[2])+" AS "+types[i]+") AS VARCHAR)")
	if !IsBadValue(bad) {
		return nil
	}
	return dialect.InFile(fmt.Sprintf("%s, row %s, column %q", f.File, cells[0], f.Columns[i]), bad)
}

// parquetCulprit says in which row group, row and column of a Parquet file the first value stands that a type does not
// take. names are the file's for the columns.
func parquetCulprit(ctx context.Context, conn *duckdb.Connection, f *Reading, names,
	types []string) (where string, ok bool) {
	if len(names) != len(types) {
		return "", false
	}
	found := make([]string, len(types))
	for i, c := range f.Columns {
		name := duckdb.QuoteIdentifier(names[i])
		found[i] = fmt.Sprintf("SELECT min(file_row_number) AS row, %s AS name FROM %s, file_row_number = true) WHERE %s IS NOT NULL AND TRY_CAST(%s AS %s) IS NULL",
			duckdb.QuoteLiteral(c), strings.TrimSuffix(f.Call, ")"), name, name, types[i])
	}
	groups := "SELECT row_group_id AS id, sum(n) OVER (ORDER BY row_group_id) AS upto FROM (SELECT DISTINCT row_group_id, row_group_num_rows AS n FROM " +
		strings.Replace(f.Call, "read_parquet(", "parquet_metadata(", 1) + ")"
	cells, err := conn.Texts(ctx, "WITH bad AS (SELECT row, name FROM ("+strings.Join(found, " UNION ALL ")+") WHERE row IS NOT NULL ORDER BY row LIMIT 1), groups AS ("+groups+
		") SELECT format(', row group {}, row {}, column \"{}\"', (SELECT min(id) FROM groups WHERE upto > row), row + 1, name) FROM bad")
	if err != nil || len(cells) != 1 {
		return "", false
	}
	return cells[0], !slices.Contains(cells, "")
}
