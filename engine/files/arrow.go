package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ipcframe"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Arrow IPC files come in three steps, of which most columns need only the first:
//
//	file ─► storage    extension types become their storage, marked in the field's metadata, which is how tables have them: arrow-go
//	                   makes types of those that some package of the process has registered, and leaves the others marked
//	     ─► normal     as DuckDB's results do (exec/duckdb): arrow.bool8 is Boolean, DuckDB's own opaque types are numbers and text
//	     ─► the table  as it is if the types are the table's. Otherwise DuckDB converts it (conformBatch), which also looks whether JSON is
//	                   JSON, and gives columns that the file lacks their defaults

// Arrow is an Arrow IPC file or stream that is being read.
type Arrow struct {
	name    string
	next    func() (arrow.RecordBatch, error) // as the file has it; io.EOF at the end
	storage *arrow.Schema
	Schema  *arrow.Schema // normal
}

// OpenArrow opens an Arrow IPC file or stream. limit bounds the bytes of one batch. f stays the caller's.
func OpenArrow(f *os.File, limit int64) (a *Arrow, err error) {
	defer func() { // arrow-go looks at some of what it reads without looking first
		if r := recover(); r != nil {
			a, err = nil, sqlerror.New("22P04", "%s is not an Arrow IPC file: %v", f.Name(), r)
		}
	}()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, sqlerror.New("42809", "%s is no regular file", f.Name())
	} else if err := ipcframe.Check(f, info.Size(), limit); err != nil {
		if large := (*ipcframe.TooLargeError)(nil); errors.As(err, &large) {
			return nil, sqlerror.New("53200", "%s: %v", f.Name(), err).WithHint("Write the file with batches of fewer rows, or start the node with more --memory.")
		}
		return nil, sqlerror.New("22P04", "%s is not an Arrow IPC file: %v", f.Name(), err)
	}
	next, schema, err := ipcBatches(f)
	if err != nil {
		return nil, sqlerror.New("22P04", "%s is not an Arrow IPC file: %v", f.Name(), err)
	}
	fields := schema.Fields()
	for i := range fields {
		fields[i] = storageField(fields[i])
		if err := normal.CheckMarks(fields[i]); err != nil {
			return nil, sqlerror.New("22P04", "%s, column %q: %v", f.Name(), fields[i].Name, err)
		}
	}
	storage := arrow.NewSchema(fields, nil)
	return &Arrow{f.Name(), next, storage, normal.Schema(storage)}, nil
}

func ipcBatches(f *os.File) (func() (arrow.RecordBatch, error), *arrow.Schema, error) {
	stream, err := ipcframe.IsStream(f)
	if err != nil {
		return nil, nil, err
	}
	if !stream {
		r, err := ipc.NewFileReader(f)
		if err != nil {
			return nil, nil, err
		}
		i := 0
		return func() (arrow.RecordBatch, error) {
			if i == r.NumRecords() {
				return nil, io.EOF
			}
			b, err := r.RecordBatchAt(i)
			i++
			return b, err
		}, r.Schema(), nil
	}
	r, err := ipc.NewReader(f)
	if err != nil {
		return nil, nil, err
	}
	return func() (arrow.RecordBatch, error) {
		if !r.Next() {
			if r.Err() != nil && !errors.Is(r.Err(), io.EOF) {
				return nil, r.Err()
			}
			return nil, io.EOF
		}
		b := r.RecordBatch()
		b.Retain()
		return b, nil
	}, r.Schema(), nil
}

// Next gives the next batch, of the file's normal schema, which the caller releases.
func (a *Arrow) Next(context.Context) (_ arrow.RecordBatch, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = sqlerror.New("22P04", "%s is damaged: %v", a.name, r)
		}
	}()
	batch, err := a.next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, sqlerror.New("22P04", "%s: %v", a.name, err)
	}
	if err := descriptor.ValidateData(batch, false); err != nil {
		batch.Release()
		return nil, sqlerror.New("22P04", "%s: %v", a.name, err)
	}
	return normal.Batch(storageBatch(batch, a.storage), a.storage, a.Schema), nil
}

// storageField is f with its extension types as marks, and without any other metadata: a file does not say what a
// column's default is.
func storageField(f arrow.Field) arrow.Field {
	if x, ok := f.Type.(arrow.ExtensionType); ok {
		f.Type = x.StorageType()
		f.Metadata = arrow.NewMetadata([]string{normal.ExtensionName, normal.ExtensionMetadata},
			[]string{x.ExtensionName(), x.Serialize()})
	} else if name, ok := f.Metadata.GetValue(normal.ExtensionName); ok {
		data, _ := f.Metadata.GetValue(normal.ExtensionMetadata)
		f.Metadata = arrow.NewMetadata([]string{normal.ExtensionName, normal.ExtensionMetadata}, []string{name, data})
	} else {
		f.Metadata = arrow.Metadata{}
	}
	switch t := f.Type.(type) {
	case *arrow.ListType:
		f.Type = arrow.ListOfField(storageField(t.ElemField()))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(storageField(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), storageField(t.ElemField()))
	case *arrow.MapType:
		sorted := t.KeysSorted
		m := arrow.MapOfFields(storageField(t.KeyField()), storageField(t.ItemField()))
		m.KeysSorted = sorted
		f.Type = m
	case *arrow.StructType:
		fields := slices.Clone(t.Fields())
		for i := range fields {
			fields[i] = storageField(fields[i])
		}
		f.Type = arrow.StructOf(fields...)
	}
	return f
}

// storageBatch takes a batch over and gives the same buffers under their storage's types.
func storageBatch(batch arrow.RecordBatch, storage *arrow.Schema) arrow.RecordBatch {
	defer batch.Release()
	columns := make([]arrow.Array, batch.NumCols())
	for i := range columns {
		data := descriptor.Retyped(batch.Column(i).Data(), storage.Field(i).Type)
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(storage, columns, batch.NumRows())
}

// Fits reports whether the file's columns can be stored as they are: they are the table's, in its order, and none is
// JSON, which is a promise about text that has to be checked.
func (a *Arrow) Fits(schema *arrow.Schema) bool {
	if cast.Generates(schema) {
		return false
	}
	return slices.EqualFunc(a.Schema.Fields(), schema.Fields(), func(f, column arrow.Field) bool {
		have, err := columntype.SQL(f)
		want, _ := columntype.SQL(column)
		return err == nil && have == want && !strings.Contains(have, "JSON") && strings.EqualFold(f.Name, column.Name)
	})
}

// Each adds the rows, as they are, or cast to the columns that they go into. connect makes a connection on which errors
// do not matter, to find the value that is wrong.
func (a *Arrow) Each(ctx context.Context, conn *duckdb.Connection, connect func() (*duckdb.Connection, error),
	schema *arrow.Schema, columns []string, add func(arrow.RecordBatch) error) error {
	direct, rows := a.Fits(schema), int64(0)
	for {
		batch, err := a.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if direct {
			err = add(batch)
		} else if err = cast.Batch(ctx, conn, batch, schema, columns, add); IsBadValue(err) {
			err = a.Culprit(ctx, connect, rows, batch, schema, columns, err)
		}
		rows += batch.NumRows()
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// Culprit says in which row and column of the file the first value stands that the table does not take. batch begins
// after before rows; columns are the table's that it fills. It looks on a connection of its own: an error aborts a
// transaction.
func (a *Arrow) Culprit(ctx context.Context, connect func() (*duckdb.Connection, error), before int64,
	batch arrow.RecordBatch,
	schema *arrow.Schema, columns []string, failed error) error {
	if !IsBadValue(failed) {
		return dialect.InFile(a.name, failed)
	}
	conn, err := connect()
	if err != nil {
		return dialect.InFile(a.name, failed)
	}
	defer conn.Close()
	row, column, found := firstBad(batch.NumRows(), len(columns), func(column int, from, to int64) error {
		piece := batch.NewSlice(from, to)
		defer piece.Release()
		one := duckdb.Project(piece, []int{column})
		defer one.Release()
		return cast.Batch(ctx, conn, one, schema, columns[column:column+1], func(arrow.RecordBatch) error { return nil })
	})
	if column < 0 || !IsBadValue(found) {
		return dialect.InFile(a.name, failed)
	}
	return dialect.InFile(fmt.Sprintf("%s, row %d, column %q", a.name, before+row+1, columns[column]), found)
}
