package load

import (
	"context"
	"errors"
	"os"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// arrowFile loads an Arrow IPC file or stream.
func (l *loading) arrowFile(ctx context.Context, tx *catalog.Transaction, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return sqlerror.New("58P01", "cannot read %s: %v", file, errors.Unwrap(err))
	}
	defer f.Close()
	a, err := files.OpenArrow(f, l.BatchBytes)
	if err != nil {
		return err
	}
	if err := l.begin(ctx, tx, a.Schema); err != nil {
		return err
	}
	columns := make([]string, a.Schema.NumFields())
	for i, field := range a.Schema.Fields() {
		columns[i] = field.Name
	}
	if err := files.SameColumns(file, l.schema, columns); err != nil {
		return err
	}
	l.read = append(l.read, lineage.Open(l.Name, file, false, columns, nil))
	next := func() (arrow.RecordBatch, error) { return a.Next(ctx) }
	if a.Fits(l.schema) {
		return l.take(ctx, file, 0, next, func(batch arrow.RecordBatch) error { return l.writer.Add(ctx, batch) })
	}
	conn, err := l.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	rows := int64(0)
	return l.take(ctx, file, 0, next, func(batch arrow.RecordBatch) error {
		err := cast.Batch(ctx, conn, batch, l.schema, columns, func(rows arrow.RecordBatch) error { return l.writer.Add(ctx, rows) })
		if err != nil {
			return a.Culprit(ctx, func() (*duckdb.Connection, error) { return l.reader.Connect(nil) }, rows, batch, l.schema, columns, err)
		}
		rows += batch.NumRows()
		return nil
	})
}
