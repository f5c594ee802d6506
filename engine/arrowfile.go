package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/ipcframe"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Arrow IPC files come in three steps, of which most columns need only the first:
//
//	file ─► storage    extension types become their storage, marked in the field's metadata, which is how tables have them: arrow-go
//	                   makes types of those that some package of the process has registered, and leaves the others marked
//	     ─► normal     as DuckDB's results do (exec/duckdb): arrow.bool8 is Boolean, DuckDB's own opaque types are numbers and text
//	     ─► the table  as it is if the types are the table's. Otherwise DuckDB converts it (conformBatch), which also looks whether JSON is
//	                   JSON, and gives columns that the file lacks their defaults

// arrowFile is an Arrow IPC file or stream that is being read.
type arrowFile struct {
	name    string
	next    func() (arrow.RecordBatch, error) // as the file has it; io.EOF at the end
	storage *arrow.Schema
	schema  *arrow.Schema // normal
}

// openArrow tells files from streams. limit bounds the bytes of one batch. f stays the caller's.
func openArrow(f *os.File, limit int64) (a *arrowFile, err error) {
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
		if err := duckdb.CheckMarks(fields[i]); err != nil {
			return nil, sqlerror.New("22P04", "%s, column %q: %v", f.Name(), fields[i].Name, err)
		}
	}
	storage := arrow.NewSchema(fields, nil)
	return &arrowFile{f.Name(), next, storage, duckdb.NormalSchema(storage)}, nil
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
				return nil, endOfFile
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
			if r.Err() != nil && !isEnd(r.Err()) {
				return nil, r.Err()
			}
			return nil, endOfFile
		}
		b := r.RecordBatch()
		b.Retain()
		return b, nil
	}, r.Schema(), nil
}

// Next gives the next batch, of the file's normal schema, which the caller releases.
func (a *arrowFile) Next(context.Context) (_ arrow.RecordBatch, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = sqlerror.New("22P04", "%s is damaged: %v", a.name, r)
		}
	}()
	batch, err := a.next()
	if err != nil {
		if isEnd(err) {
			return nil, err
		}
		return nil, sqlerror.New("22P04", "%s: %v", a.name, err)
	}
	if err := descriptor.ValidateData(batch, false); err != nil {
		batch.Release()
		return nil, sqlerror.New("22P04", "%s: %v", a.name, err)
	}
	return duckdb.NormalBatch(storageBatch(batch, a.storage), a.storage, a.schema), nil
}

// storageField is f with its extension types as marks, and without any other metadata: a file does not say what a column's default is.
func storageField(f arrow.Field) arrow.Field {
	if x, ok := f.Type.(arrow.ExtensionType); ok {
		f.Type = x.StorageType()
		f.Metadata = arrow.NewMetadata([]string{duckdb.ExtensionName, duckdb.ExtensionMetadata}, []string{x.ExtensionName(), x.Serialize()})
	} else if name, ok := f.Metadata.GetValue(duckdb.ExtensionName); ok {
		data, _ := f.Metadata.GetValue(duckdb.ExtensionMetadata)
		f.Metadata = arrow.NewMetadata([]string{duckdb.ExtensionName, duckdb.ExtensionMetadata}, []string{name, data})
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
		data := conform.Retyped(batch.Column(i).Data(), storage.Field(i).Type)
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(storage, columns, batch.NumRows())
}

// fits tells whether the file's columns can be stored as they are: they are the table's, in its order, and none is JSON, which is a promise
// about text that somebody has to check.
func (a *arrowFile) fits(schema *arrow.Schema) bool {
	return slices.EqualFunc(a.schema.Fields(), schema.Fields(), func(f, column arrow.Field) bool {
		have, err := columntype.SQL(f)
		want, _ := columntype.SQL(column)
		return err == nil && have == want && !strings.Contains(have, "JSON") && strings.EqualFold(f.Name, column.Name)
	})
}

// arrowFile loads an Arrow IPC file or stream.
func (l *loading) arrowFile(ctx context.Context, tx *catalog.Transaction, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return sqlerror.New("58P01", "cannot read %s: %v", file, errors.Unwrap(err))
	}
	defer f.Close()
	a, err := openArrow(f, l.engine.memory.whole)
	if err != nil {
		return err
	}
	if err := l.begin(ctx, tx, a.schema); err != nil {
		return err
	}
	columns := make([]string, a.schema.NumFields())
	for i, field := range a.schema.Fields() {
		columns[i] = field.Name
	}
	if err := sameColumns(file, l.schema, columns); err != nil {
		return err
	}
	l.read = append(l.read, l.engine.sourceFile(file, false, columns, nil))
	next := func() (arrow.RecordBatch, error) { return a.Next(ctx) }
	if a.fits(l.schema) {
		return l.take(ctx, file, 0, next, func(batch arrow.RecordBatch) error { return l.writer.Add(ctx, batch) })
	}
	conn, err := l.reader.Connect(nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	rows := int64(0)
	return l.take(ctx, file, 0, next, func(batch arrow.RecordBatch) error {
		err := cast.Batch(ctx, conn, batch, l.schema, columns, func(rows arrow.RecordBatch) error { return l.writer.Add(ctx, rows) })
		if err != nil {
			return arrowCulprit(ctx, conn, file, rows, batch, l.schema, columns, err)
		}
		rows += batch.NumRows()
		return nil
	})
}
