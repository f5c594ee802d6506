package files

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/compressed"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// What a file must be before its rows are read: whole, and of the columns that are filled. DuckDB's table functions
// take what they can get.

// Check looks at a COPY's file, or files, before they are read. from is the table function that reads them; access says
// which files those may be.
func Check(ctx context.Context, conn *duckdb.Connection, access duckdb.FileAccess, head *statement.Copy, from string,
	columns []string) error {
	var files []string
	if compressed.Named(head.File) || isPattern(head.File) {
		var err error
		if files, err = filesOf(ctx, conn, head.File); err != nil {
			return Error(dialect.InFile(head.File, err))
		}
		for _, file := range files {
			if err := Whole(ctx, file, func(file string) (*os.File, error) { return Open(access, file) }); err != nil {
				return err
			}
		}
	}
	switch FormatOf(head) {
	case noderpc.FormatParquet:
		names, err := fileNames(conn, from)
		if err != nil {
			return Error(dialect.InFile(head.File, err))
		}
		if isPattern(head.File) {
			return checkFiles(conn, files, len(columns))
		}
		if len(names) != len(columns) {
			return sqlerror.New("22P04", "%s has %s, %d are copied", head.File, counted.Of(len(names), "column"), len(columns))
		}
	case FormatJSON:
		names, err := fileNames(conn, "read_json("+duckdb.QuoteLiteral(head.File)+")")
		if err != nil {
			return Error(dialect.InFile(head.File, err))
		}
		for _, n := range names {
			if !has(columns, n) && !slices.Equal(names, []string{"json"}) { // which is what a file without objects is said to have
				return sqlerror.New("22P04", "%s has a key %q that is not copied", head.File, n).WithHint("Name what is wanted: INSERT INTO … SELECT … FROM read_json('…').")
			}
		}
	}
	return nil
}

// checkFiles refuses Parquet files that are to be read as one and do not have the same columns: DuckDB would leave out
// what the first one lacks.
func checkFiles(conn *duckdb.Connection, files []string, columns int) error {
	var first []string
	for i, file := range files {
		names, err := fileNames(conn, "read_parquet("+duckdb.QuoteLiteral(file)+")")
		if err != nil {
			return Error(dialect.InFile(file, err))
		}
		if len(names) != columns {
			return sqlerror.New("22P04", "%s has %s, %d are copied", file, counted.Of(len(names), "column"), columns)
		}
		if i == 0 {
			first = names
		}
		for _, n := range first {
			if !has(names, n) {
				return sqlerror.New("22P04", "%s has no column %q, as %s has", file, n, files[0]).WithHint("Copy the files one by one: then columns are those of the table by their places.")
			}
		}
	}
	return nil
}

// isPattern reports whether a name may mean several files.
func isPattern(file string) bool { return strings.ContainsAny(file, "*?[") }

// filesOf are the files that a pattern means.
func filesOf(ctx context.Context, conn *duckdb.Connection, pattern string) ([]string, error) {
	return conn.Texts(ctx, "SELECT file FROM glob("+duckdb.QuoteLiteral(pattern)+") ORDER BY file ASC")
}

// parquetCall is the table function that reads a Parquet file, or several: columns by their names in the first one, and
// as a type that all of them have, for DuckDB would cast them to the first one's.
func parquetCall(file string) string {
	if isPattern(file) {
		return "read_parquet(" + duckdb.QuoteLiteral(file) + ", union_by_name = true)"
	}
	return "read_parquet(" + duckdb.QuoteLiteral(file) + ")"
}

func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// fileNames are the columns that a table function of DuckDB's gives.
func fileNames(conn *duckdb.Connection, call string) ([]string, error) {
	duck, err := conn.Prepare("SELECT * FROM " + call)
	if err != nil {
		return nil, err
	}
	defer duck.Close()
	schema, err := duck.Schema()
	if err != nil {
		return nil, err
	}
	names := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		names[i] = f.Name
	}
	return names, nil
}

// Whole refuses a compressed file that was cut off or is damaged.
func Whole(ctx context.Context, file string, open func(string) (*os.File, error)) error {
	if !compressed.Named(file) {
		return nil
	}
	f, err := open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := compressed.Check(ctx, file, f); err != nil {
		if ctx.Err() != nil {
			return err
		}
		e := sqlerror.New("22P04", "%s: %v", file, err).WithHint("Nothing was loaded.")
		e.Cause = err
		return e
	}
	return nil
}

const FormatJSON = "json"

// jsonCall is the table function that reads columns of a table from a JSON file, by their names and as their types:
// what DuckDB would find out about the values by itself changes texts that look like timestamps.
func jsonCall(file string, schema *arrow.Schema, columns []string) (string, error) {
	types, err := fileTypes(schema, columns)
	if err != nil {
		return "", err
	}
	for i, t := range types {
		if t == "BIT" { // DuckDB reads none
			types[i] = "VARCHAR"
		}
		if f := schema.Field(ingest.Index(schema, columns[i])); cast.HoldsBytes(f.Type) { // nor bytes, which casts of text make
			if types[i], err = columntype.SQL(arrow.Field{Type: cast.Plain(f.Type)}); err != nil {
				return "", err
			}
		}
	}
	return "read_json(" + duckdb.QuoteLiteral(file) + ", columns = " + structOf(columns, types) + ")", nil
}

// TypedCall is the table function that reads a file for a table that exists, whose types its columns have: a value that
// looks like a number or a date to DuckDB is left as it is where the table has text. call reads it as DuckDB sees fit.
func TypedCall(file, format, call string, schema *arrow.Schema, columns []string) (string, error) {
	switch format {
	case FormatJSON:
		return jsonCall(file, schema, columns)
	case noderpc.FormatCSV:
		types, err := fileTypes(schema, columns)
		return strings.TrimSuffix(call, ")") + ", types = " + structOf(columns, types) + ")", err
	}
	return call, nil
}

// fileTypes are the types of columns of a table, in DuckDB's words.
func fileTypes(schema *arrow.Schema, columns []string) ([]string, error) {
	types := make([]string, len(columns))
	for i, c := range columns {
		at := ingest.Index(schema, c)
		if at < 0 {
			return nil, sqlerror.New("42703", "column %q does not exist", c)
		}
		name, err := columntype.SQL(schema.Field(at))
		if err != nil {
			return nil, err
		}
		types[i] = name
	}
	return types, nil
}

// structOf is DuckDB's literal of names and their texts.
func structOf(names, texts []string) string {
	pairs := make([]string, len(names))
	for i, n := range names {
		pairs[i] = duckdb.QuoteLiteral(n) + ": " + duckdb.QuoteLiteral(texts[i])
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// CulpritApart is culprit, of a file or of several, on a connection of its own: an error aborts a session's
// transaction.
func (f *Reading) CulpritApart(ctx context.Context, connect func() (*duckdb.Connection, error), failed error) error {
	conn, err := connect()
	if err != nil {
		return dialect.InFile(f.File, failed)
	}
	defer conn.Close()
	if isPattern(f.File) && strings.HasPrefix(f.Call, "read_parquet(") && IsBadValue(failed) {
		if found := culpritOfFiles(ctx, conn, f, failed); found != nil {
			return found
		}
	}
	return f.Culprit(ctx, conn, failed)
}

// culpritOfFiles finds the Parquet file, of those that a pattern means, that has the bad value; nil: none is found.
func culpritOfFiles(ctx context.Context, conn *duckdb.Connection, f *Reading, failed error) error {
	names, err := fileNames(conn, f.Call) // the first file's, by which the others are read
	if err != nil {
		return nil
	}
	types, err := fileTypes(f.Schema, f.Columns)
	if err != nil {
		return nil
	}
	list, err := filesOf(ctx, conn, f.File)
	if err != nil {
		return nil
	}
	for _, file := range list {
		one := *f
		one.File, one.Call = file, parquetCall(file)
		if where, ok := parquetCulprit(ctx, conn, &one, names, types); ok {
			return dialect.InFile(file+where, failed)
		}
	}
	return nil
}

// firstBad finds the first of a batch's rows, and in it the first column, that fails by itself: every column by
// halving. column is -1 if none does.
func firstBad(rows int64, columns int, bad func(column int, from, to int64) error) (row int64, column int, failed error) {
	row, column = rows, -1
	for i := range columns {
		if row == 0 || bad(i, 0, row) == nil {
			continue
		}
		from, to := int64(0), row
		for to-from > 1 {
			if middle := (from + to) / 2; bad(i, from, middle) != nil {
				to = middle
			} else {
				from = middle
			}
		}
		if err := bad(i, from, to); err != nil {
			row, column, failed = from, i, err
		}
	}
	return row, column, failed
}
