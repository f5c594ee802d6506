package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// fileCulprit turns an error about a value of a file, which DuckDB had read before it found that the table cannot take it, into one that
// says where the value stands. It reads the file once more: a CSV file with the table's types, so that its reader finds it; a Parquet file
// column by column. call is the table function that reads it, columns are the table's that it fills.
func fileCulprit(ctx context.Context, conn *duckdb.Connection, file, call string, schema *arrow.Schema, columns []string, failed error) error {
	var d *duckdb.Error
	if !errors.As(failed, &d) || !strings.HasPrefix(d.State, "22") || csvLine.MatchString(d.Message) {
		return inFile(file, failed)
	}
	types := make([]string, len(columns))
	for i, c := range columns {
		at := fieldIndex(schema, c)
		if at < 0 {
			return inFile(file, failed)
		}
		name, err := sqlType(schema.Field(at))
		if err != nil {
			return inFile(file, failed)
		}
		types[i] = name
	}
	switch {
	case strings.HasPrefix(call, "read_csv("):
		pairs := make([]string, len(columns))
		for i, c := range columns {
			pairs[i] = duckdb.QuoteLiteral(c) + ": " + duckdb.QuoteLiteral(types[i])
		}
		_, err := conn.Texts(ctx, "SELECT count(COLUMNS(*))::VARCHAR FROM "+strings.TrimSuffix(call, ")")+", types = {"+strings.Join(pairs, ", ")+"})")
		if again := (*duckdb.Error)(nil); errors.As(err, &again) && csvLine.MatchString(again.Message) {
			return inFile(file, again)
		}
	case strings.HasPrefix(call, "read_parquet("):
		if where, ok := parquetCulprit(ctx, conn, call, columns, types); ok {
			e := inFile(file, failed)
			if shown := (*Error)(nil); errors.As(e, &shown) {
				shown.Message = file + where + ": " + strings.TrimPrefix(shown.Message, file+": ")
			}
			return e
		}
	}
	return inFile(file, failed)
}

// parquetCulprit says in which row group, row and column of a Parquet file the first value stands that a type does not take.
func parquetCulprit(ctx context.Context, conn *duckdb.Connection, call string, columns, types []string) (where string, ok bool) {
	found := make([]string, len(columns))
	for i, c := range columns {
		name := duckdb.QuoteIdentifier(c)
		found[i] = fmt.Sprintf("SELECT min(file_row_number) AS row, %s AS name FROM %s, file_row_number = true) WHERE %s IS NOT NULL AND TRY_CAST(%s AS %s) IS NULL",
			duckdb.QuoteLiteral(c), strings.TrimSuffix(call, ")"), name, name, types[i])
	}
	groups := "SELECT row_group_id AS id, sum(n) OVER (ORDER BY row_group_id) AS upto FROM (SELECT DISTINCT row_group_id, row_group_num_rows AS n FROM " +
		strings.Replace(call, "read_parquet(", "parquet_metadata(", 1) + ")"
	cells, err := conn.Texts(ctx, "WITH bad AS (SELECT row, name FROM ("+strings.Join(found, " UNION ALL ")+") WHERE row IS NOT NULL ORDER BY row LIMIT 1), groups AS ("+groups+
		") SELECT format(', row group {}, row {}, column \"{}\"', (SELECT min(id) FROM groups WHERE upto > row), row + 1, name) FROM bad")
	if err != nil || len(cells) != 1 {
		return "", false
	}
	return cells[0], !slices.Contains(cells, "")
}
