package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

func main() {
	if err := generate("images"); err != nil {
		fmt.Fprintln(os.Stderr, "makeimages:", err)
		os.Exit(1)
	}
}

// kind is one of the images, and what makes its contents.
type kind struct {
	image pgcatalog.Image
	file  string
	fill  func(exec func(sql string) error) error
}

// kinds are all of them, in the order in which they need each other.
var kinds = []kind{
	{pgcatalog.Functions, "functions.duckdb.gz", pgcatalog.MakeFunctions},
	{pgcatalog.Catalogs, "catalogs.duckdb.gz", pgcatalog.MakeCatalogs},
}

// generate writes those images below a directory that are not there, or not as they would be made.
func generate(directory string) error {
	scratch, err := os.MkdirTemp("", "csmsql-images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	made, err := makeAll(scratch)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		if now, err := embedded(k); err == nil && slices.Equal(now, made[k.file].contents) {
			fmt.Printf("%s is up to date\n", k.file)
			continue
		}
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(made[k.file].bytes); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, k.file), out.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes, of %d\n", k.file, out.Len(), len(made[k.file].bytes))
	}
	return nil
}

// result is an image that was made.
type result struct {
	bytes    []byte
	contents []string
}

// makeAll makes the images, with scratch for DuckDB's files.
func makeAll(scratch string) (map[string]result, error) {
	c, done, err := open()
	if err != nil {
		return nil, err
	}
	defer done()
	out := map[string]result{}
	for _, k := range kinds {
		path := filepath.Join(scratch, strings.TrimSuffix(k.file, ".gz"))
		// Small blocks, because most of them hold one small table.
		err := c.Exec(fmt.Sprintf("ATTACH %s AS %s (BLOCK_SIZE 16384, STORAGE_VERSION 'v1.5.0')", duckdb.QuoteLiteral(path), k.image.Name))
		if err != nil {
			return nil, err
		}
		if err := k.fill(c.Exec); err != nil {
			return nil, err
		}
		if err := c.Exec("CHECKPOINT " + k.image.Name); err != nil {
			return nil, err
		}
		contents, err := contentsOf(c, k.image.Name)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out[k.file] = result{data, contents}
	}
	return out, nil
}

// embedded is what an image contains as the program has it.
func embedded(k kind) ([]string, error) {
	c, done, err := open()
	if err != nil {
		return nil, err
	}
	defer done()
	file, err := k.image.File()
	if err != nil {
		return nil, err
	}
	if err := c.Attach(k.image.Name, file); err != nil {
		return nil, err
	}
	return contentsOf(c, k.image.Name)
}

func open() (_ *duckdb.Connection, done func(), err error) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1, Files: duckdb.FileAccess{All: true}})
	if err != nil {
		return nil, nil, err
	}
	c, err := db.Connect(nil)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return c, func() { c.Close(); db.Close() }, nil
}

// contentsOf lists the schemas, macros, views and tables of a database, with all rows.
func contentsOf(c *duckdb.Connection, name string) ([]string, error) {
	where := " WHERE database_name = " + duckdb.QuoteLiteral(name)
	list, err := c.Texts(context.Background(), "SELECT CAST(x AS VARCHAR) FROM ("+
		"SELECT 'schema' AS kind, schema_name AS schema, '' AS name, '' AS form, '' AS text FROM duckdb_schemas()"+where+
		" UNION ALL SELECT function_type, schema_name, function_name, CAST((parameters, parameter_types) AS VARCHAR),"+
		" macro_definition FROM duckdb_functions()"+where+
		" UNION ALL SELECT 'view', schema_name, view_name, '', sql FROM duckdb_views()"+where+
		" UNION ALL SELECT 'table', schema_name, table_name, '', sql FROM duckdb_tables()"+where+
		") AS x ORDER BY ALL")
	if err != nil {
		return nil, err
	}
	tables, err := c.Texts(context.Background(),
		"SELECT concat_ws('.', database_name, schema_name, table_name) FROM duckdb_tables()"+where+" ORDER BY ALL")
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		rows, err := c.Texts(context.Background(), "SELECT CAST(x AS VARCHAR) FROM "+table+" AS x")
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			list = append(list, table+" "+row)
		}
	}
	return list, nil
}
