package engine

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// COPY of Arrow IPC files on the server's side, which DuckDB does not do: FORMAT arrow is a file, FORMAT arrows a stream. UUID and JSON are the
// extension types arrow.uuid and arrow.json in them.

// copyFromArrow reads a file's rows into the columns that the COPY fills, by position.
func (st *Statement) copyFromArrow(ctx context.Context, head *statement.Copy) (*Rows, error) {
	s := st.session
	if err := files.CheckArrow(head.File); err != nil {
		return nil, err
	}
	for _, o := range head.Options {
		if o.Name != "format" && o.Name != "freeze" && o.Name != "encoding" {
			return nil, sqlerror.New("0A000", "COPY option %q is not supported", o.Name)
		}
	}
	var count int64
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(head.Name)
		if err != nil {
			return err
		}
		if err := s.mayFreeze(tx, head, version.Table()); err != nil {
			return err
		}
		schema := version.Table().Columns
		columns, err := files.Columns(schema, head.Columns)
		if err != nil {
			return err
		}
		f, err := files.Open(s.engine.config.Files, head.File)
		if err != nil {
			return err
		}
		defer f.Close()
		file, err := files.OpenArrow(f, s.engine.memory.Whole)
		if err != nil {
			return err
		}
		if have := file.Schema.NumFields(); have != len(columns) {
			return sqlerror.New("22P04", "%s has %s, %d are copied", head.File, counted.Of(have, "column"), len(columns))
		}
		target, err := s.engine.upkeep.TargetFor(ctx, version, s.settings.Zone())
		if err != nil {
			return err
		}
		w := ingest.NewWriter(target)
		defer w.Abort()
		s.yield()
		read := s.engine.sourceFile(head.File, true, columns, nil)
		add := func(rows arrow.RecordBatch) error { return w.Add(ctx, rows) }
		if err := file.Each(ctx, s.conn, s.culpritConnection, schema, columns, add); err != nil {
			return err
		}
		count = w.Rows()
		chunks, parts, err := w.FinishParts(ctx)
		if err != nil || len(chunks) == 0 {
			return err
		}
		return tx.AppendFrom(version.Table().Name, chunks, upkeep.LaidOut(read.Origin(count), target, parts).Encode())
	})
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", count), count), nil
}

// copyToArrow writes a query's rows.
func (st *Statement) copyToArrow(ctx context.Context, head *statement.Copy, text string) (*Rows, error) {
	s := st.session
	if err := files.CheckArrow(head.File); err != nil {
		return nil, err
	}
	options, err := files.ArrowOptions(head)
	if err != nil {
		return nil, err
	}
	v, err := s.seeRead(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	plan, err := s.planQuery(ctx, st.source(text), v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	rows, err := plan.execute(ctx, v, nil)
	if err != nil {
		return nil, err
	}
	defer rows.close()
	err = files.Write(s.engine.config.Files, head.File, func(f *os.File) error {
		return files.WriteArrow(ctx, f, rows.schema, rows.Next, files.FormatOf(head) == files.FormatArrowStream, options)
	})
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", rows.count), rows.count), nil
}
