package dbgen_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/queries/dbgen"
)

// update rewrites testdata/checksums-sf0.01.txt from the REFERENCE tables. It
// never writes what the generator made into the golden.
var update = flag.Bool("update", false, "rewrite goldens from the reference tables beside the repository")

const (
	referenceFolder = "../../../shared/tpch/sf0.01"
	checksumFile    = "testdata/checksums-sf0.01.txt"
)

// TestChecksumsSF001 compares every column with a hash of the official one (D1).
func TestChecksumsSF001(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(checksumFile, []byte(referenceChecksums(t)), 0o644))
	}
	golden, err := os.ReadFile(checksumFile)
	require.NoError(t, err)
	var made strings.Builder
	for _, table := range dbgen.Tables() {
		batch := wholeTable(t, memory.NewGoAllocator(), 0.01, table)
		appendChecksums(&made, table, batch.Schema(), batch.NumRows(), func(column int) []arrow.Array {
			return []arrow.Array{batch.Column(column)}
		})
		batch.Release()
	}
	require.Equal(t, string(golden), made.String())
}

// TestChecksumNoticesOrderAndValue shows that the golden can fail.
func TestChecksumNoticesOrderAndValue(t *testing.T) {
	sum := func(values ...int64) string {
		builder := array.NewInt64Builder(memory.NewGoAllocator())
		defer builder.Release()
		builder.AppendValues(values, nil)
		return checksum([]arrow.Array{builder.NewArray()})
	}
	require.NotEqual(t, sum(1, 2), sum(2, 1))
	require.NotEqual(t, sum(1, 2), sum(1, 3))
	require.NotEqual(t, sum(1, 23), sum(12, 3))
	require.Equal(t, sum(1, 2), sum(1, 2))
}

// TestRowByRowSF001 compares value by value with the official tables.
func TestRowByRowSF001(t *testing.T) {
	for _, table := range dbgen.Tables() {
		t.Run(table.String(), func(t *testing.T) {
			want := readReference(t, table)
			defer want.Release()
			got := wholeTable(t, memory.NewGoAllocator(), 0.01, table)
			defer got.Release()
			requireLogicalSchema(t, dbgen.Schema(table), want.Schema())
			require.Equal(t, want.NumRows(), got.NumRows())
			for column, field := range want.Schema().Fields() {
				row := 0
				for _, chunk := range want.Column(column).Data().Chunks() {
					for i := range chunk.Len() {
						if official, ours := canonical(chunk, i), canonical(got.Column(column), row); official != ours {
							t.Fatalf("row %d, column %s: official %q, ours %q", row, field.Name, official, ours)
						}
						row++
					}
				}
			}
		})
	}
}

// requireLogicalSchema compares names and types; the reference files cannot
// say that a column is not nullable, and hold DECIMAL(15,2) in 128 bits.
func requireLogicalSchema(t *testing.T, ours, official *arrow.Schema) {
	t.Helper()
	require.Equal(t, official.NumFields(), ours.NumFields())
	for i, field := range ours.Fields() {
		require.Equal(t, official.Field(i).Name, field.Name)
		require.Equal(t, typeName(official.Field(i).Type), typeName(field.Type), field.Name)
		require.False(t, field.Nullable, field.Name)
	}
}

func typeName(dataType arrow.DataType) string {
	if decimal, ok := dataType.(arrow.DecimalType); ok {
		return fmt.Sprintf("decimal(%d,%d)", decimal.GetPrecision(), decimal.GetScale())
	}
	return dataType.String()
}

func referenceChecksums(t *testing.T) string {
	t.Helper()
	var result strings.Builder
	for _, table := range dbgen.Tables() {
		official := readReference(t, table)
		appendChecksums(&result, table, official.Schema(), official.NumRows(), func(column int) []arrow.Array {
			return official.Column(column).Data().Chunks()
		})
		official.Release()
	}
	return result.String()
}

func appendChecksums(target *strings.Builder, table dbgen.Table, schema *arrow.Schema, rows int64, chunks func(int) []arrow.Array) {
	for i, field := range schema.Fields() {
		fmt.Fprintf(target, "%-8s %6d %-15s %s\n", table, rows, field.Name, checksum(chunks(i)))
	}
}

// checksum hashes the values of a column in order, each with an end mark.
func checksum(chunks []arrow.Array) string {
	hash := fnv.New128a()
	for _, chunk := range chunks {
		for i := range chunk.Len() {
			hash.Write([]byte(canonical(chunk, i)))
			hash.Write([]byte{0})
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// canonical renders a value independently of its physical layout.
func canonical(values arrow.Array, i int) string {
	if values.IsNull(i) {
		return "NULL"
	}
	switch values := values.(type) {
	case *array.Int64:
		return fmt.Sprint(values.Value(i))
	case *array.Int32:
		return fmt.Sprint(values.Value(i))
	case *array.Date32:
		return fmt.Sprint(int32(values.Value(i)))
	case *array.Decimal64:
		return fmt.Sprint(int64(values.Value(i)))
	case *array.Decimal128:
		return values.Value(i).BigInt().String()
	case *array.String:
		return values.Value(i)
	case *array.StringView:
		return values.Value(i)
	case *array.Dictionary:
		return canonical(values.Dictionary(), values.GetValueIndex(i))
	}
	panic(fmt.Sprintf("no canonical form of %s", values.DataType()))
}

func readReference(t *testing.T, table dbgen.Table) arrow.Table {
	t.Helper()
	path := filepath.Join(referenceFolder, table.String()+".parquet")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the official tables are not beside the repository (%s); the committed checksums still hold the generator to them", path)
	}
	reader, err := file.OpenParquetFile(path, false)
	require.NoError(t, err)
	defer reader.Close()
	arrowReader, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{}, memory.NewGoAllocator())
	require.NoError(t, err)
	result, err := arrowReader.ReadTable(context.Background())
	require.NoError(t, err)
	return result
}

func wholeTable(t testing.TB, mem memory.Allocator, sf float64, table dbgen.Table) arrow.RecordBatch {
	t.Helper()
	g := generator(t, sf)
	batch, err := g.Batch(context.Background(), mem, table, 0, g.Units(table))
	require.NoError(t, err)
	return batch
}
