package load

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
)

// Reread reads files as they were read when they were loaded.
func (l *Loader) Reread() upkeep.Files {
	return &rereading{loader: l, readers: map[bool]*duckdb.Database{}}
}

// rereading reads files as they were read when they were loaded.
type rereading struct {
	loader  *Loader
	readers map[bool]*duckdb.Database // whether they read for SQL
}

// Close implements upkeep.Files.
func (r *rereading) Close() {
	for _, db := range r.readers {
		db.Close()
	}
}

// Read implements upkeep.Files: it gives a file's rows as they were given when it was loaded.
func (r *rereading) Read(ctx context.Context, f *lineage.File, schema *arrow.Schema,
	add func(arrow.RecordBatch) error) error {
	access := duckdb.FileAccess{All: true}
	if f.SQL { // a reload may run for a user who could not read what is there now
		access = r.loader.Files
	}
	if r.readers[f.SQL] == nil {
		db, err := r.loader.open(access)
		if err != nil {
			return err
		}
		r.readers[f.SQL] = db
	}
	conn, err := r.readers[f.SQL].Connect(nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.Hear(ctx)()
	if f.Call == "" {
		return r.loader.readArrow(ctx, conn, access, f, schema, add)
	}
	src, err := cast.Query("SELECT * FROM "+f.Call, schema, f.Columns)
	if err != nil {
		return err
	}
	duck, err := conn.Prepare(src.Text)
	if err != nil {
		return dialect.InFile(f.Path, err)
	}
	defer duck.Close()
	rows, err := duck.Execute(ctx)
	if err != nil {
		return (&files.Reading{File: f.Path, Call: f.Call, Schema: schema, Columns: f.Columns}).Culprit(ctx, conn, err)
	}
	defer rows.Close()
	for {
		batch, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return (&files.Reading{File: f.Path, Call: f.Call, Schema: schema, Columns: f.Columns}).Culprit(ctx, conn, err)
		}
		err = add(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

func (l *Loader) readArrow(ctx context.Context, conn *duckdb.Connection, access duckdb.FileAccess, f *lineage.File,
	schema *arrow.Schema, add func(arrow.RecordBatch) error) error {
	file, err := files.Open(access, f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	a, err := files.OpenArrow(file, l.BatchBytes)
	if err != nil {
		return err
	}
	for {
		batch, err := a.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			if a.Fits(schema) {
				err = add(batch)
			} else {
				err = cast.Batch(ctx, conn, batch, schema, f.Columns, add)
			}
			batch.Release()
		}
		if err != nil {
			return err
		}
	}
}
