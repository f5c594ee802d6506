package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/check"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reference"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/spelling"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Config says where a loader works.
type Config struct {
	// Name is the node's, and Node the node itself.
	Name   string
	Node   *member.Node
	Keeper *upkeep.Keeper
	Keys   *reference.Keeper
	// Database is what DuckDBs of the loader's own share memory with: FileMemory of it.
	Database       *duckdb.Database
	FileMemory     int64
	SpillDirectory string
	// BatchBytes bounds one batch of an Arrow file.
	BatchBytes int64
	// Threads is how many goroutines work on one load; DatabaseThreads how many DuckDB starts, 0: as it likes.
	Threads         func() int
	DatabaseThreads int
	// Files says which files SQL may reach.
	Files duckdb.FileAccess
	Fault faults.Hook
	// Sequences gives columns that a file has not the values of their sequences.
	Sequences duckdb.Counter
}

// Loader fills tables for programs and operators, without SQL. Safe for concurrent use.
type Loader struct{ Config }

// New is a loader.
func New(c Config) *Loader { return &Loader{c} }

// Load reads Parquet, CSV, JSON or Arrow IPC files into a table, all or nothing. It reads with the process' own rights.
// progress may be nil.
func (l *Loader) Load(ctx context.Context, request noderpc.LoadRequest,
	progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	var result noderpc.LoadResult
	if len(request.Files) == 0 {
		return result, sqlerror.New("22023", "no files to load")
	}
	if request.Table.Schema == "" {
		request.Table.Schema = duckdb.SchemaName
	}
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	reader, err := l.open(duckdb.FileAccess{All: true})
	if err != nil {
		return result, err
	}
	defer reader.Close()
	one := &loading{Loader: l, reader: reader, request: request, progress: progress}
	if result, err = one.run(ctx); err != nil {
		l.Node.Settle(ctx)
	}
	return result, member.ExplainFull(err)
}

// open starts a DuckDB that reads files.
func (l *Loader) open(access duckdb.FileAccess) (*duckdb.Database, error) {
	return duckdb.Open(duckdb.Options{
		PostgresText: true,
		MemoryBytes:  l.FileMemory, Within: l.Database, SpillDirectory: l.SpillDirectory,
		Threads: l.DatabaseThreads, Files: access,
	})
}

// loading is one Load.
type loading struct {
	*Loader
	reader   *duckdb.Database // a DuckDB of its own: the sessions' one cannot reach files
	request  noderpc.LoadRequest
	progress func(noderpc.Progress)
	writer   *ingest.Writer
	target   ingest.Target     // the writer's
	read     []*lineage.Source // the files so far
	schema   *arrow.Schema     // the table's
	exists   bool
}

func (l *loading) run(ctx context.Context) (result noderpc.LoadResult, err error) {
	name := l.request.Table
	snapshot, err := l.Node.Catalog.Snapshot(ctx, catalog.Holder{Description: "load"})
	if err != nil {
		return result, err
	}
	defer snapshot.Close()
	holder := l.Node.Hold("load of table " + name.String())
	defer l.Node.LetGo(holder)
	ctx = custody.With(ctx, holder)
	tx := l.Node.Catalog.Begin(snapshot)
	defer tx.Rollback()
	if err := l.makeRoom(tx); err != nil {
		return result, err
	}
	for _, file := range l.request.Files {
		if err := l.file(ctx, tx, file); err != nil {
			if l.writer != nil {
				err = errors.Join(err, l.writer.Abort())
			}
			return result, err
		}
	}
	result.Rows = l.writer.Rows()
	chunks, parts, err := l.writer.FinishParts(ctx)
	if err != nil {
		return result, errors.Join(err, l.writer.Abort())
	}
	result.Chunks = int64(len(chunks))
	for _, c := range chunks {
		result.Bytes += c.Bytes()
	}
	l.Fault.At(faults.LoadSealed)
	if err := tx.AppendFrom(name, chunks, upkeep.LaidOut(lineage.OfFiles(l.read, result.Rows), l.target, parts).Encode()); err != nil {
		return result, err
	}
	if err := l.Keys.Changed(ctx, tx, snapshot.Contents, nil); err != nil {
		return result, err
	}
	if err := tx.Commit(ctx); err != nil {
		return result, err
	}
	result.Revision = l.Node.Catalog.Revision()
	return result, nil
}

// makeRoom looks at what is there under the table's name.
func (l *loading) makeRoom(tx *catalog.Transaction) error {
	name := l.request.Table
	if !tx.Contents().HasSchema(name.Schema) {
		return sqlerror.New("3F000", "schema %q does not exist", name.Schema).WithHint("CREATE SCHEMA " + name.Schema + " first.")
	}
	version, exists := tx.Contents().Table(name)
	if _, view := tx.Contents().View(name); view {
		return sqlerror.New("42809", "%q is a view, and files are loaded into tables", name.String())
	}
	if exists {
		if err := materialized.Refuse(version.Table()); err != nil {
			return err
		}
	}
	switch l.request.Options.Mode {
	case noderpc.LoadReplace:
		if exists {
			return tx.DropTable(name)
		}
	case noderpc.LoadAppend:
		if !exists {
			return sqlerror.New("42P01", "relation %q does not exist", name.String()).WithHint("Load it without --append to create it.")
		}
		if l.request.Options.Placement != "" {
			return sqlerror.New("22023", "relation %q has a placement already", name.String()).WithHint("ALTER TABLE … SET PLACEMENT '…' changes it.")
		}
		if l.request.Options.Replicas != 0 {
			return sqlerror.New("22023", "relation %q says already how many replicas there are", name.String()).WithHint("ALTER TABLE … SET (replicas = …) changes it.")
		}
		l.exists, l.schema = true, version.Table().Columns
	default:
		if exists {
			return sqlerror.New("42P07", "relation %q already exists", name.String()).WithHint("Say --append to add to it or --replace to replace it.")
		}
	}
	return nil
}

// begin makes the table from what the first file looks like, unless it exists.
func (l *loading) begin(ctx context.Context, tx *catalog.Transaction, found *arrow.Schema) error {
	if l.writer != nil {
		return nil
	}
	if !l.exists {
		schema, err := columntype.Table(ingest.LogicalSchema(found), nil)
		if err != nil {
			return err
		}
		options := catalog.TableOptions{}
		if options.Placement, err = l.Keeper.ResolvePlacement(l.request.Options.Placement, schema); err != nil {
			return err
		}
		if options.Replicas, err = l.Keeper.ResolveReplicas(l.request.Options.Replicas); err != nil {
			return err
		}
		if _, err := tx.CreateTable(ctx, l.request.Table, schema, options); err != nil {
			return err
		}
		l.schema = schema
	}
	version, _ := tx.Contents().Table(l.request.Table)
	target, err := l.Keeper.TargetFor(ctx, version, check.UTC)
	if err != nil {
		return err
	}
	l.writer, l.target = ingest.NewWriter(target), target
	return nil
}

func (l *loading) file(ctx context.Context, tx *catalog.Transaction, file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return sqlerror.New("58P01", "cannot read %s: %v", file, errors.Unwrap(err))
	}
	if info.IsDir() {
		return sqlerror.New("42809", "%s is a directory; name its files", file)
	}
	format := l.request.Format
	if format == "" {
		format = files.FormatOfName(file)
	}
	switch format {
	case noderpc.FormatArrow:
		for name := range l.request.Options.Parameters {
			return sqlerror.New("22023", "option %q is for CSV files", name)
		}
		err = l.arrowFile(ctx, tx, file)
	case noderpc.FormatParquet, noderpc.FormatCSV, files.FormatJSON:
		err = l.duckFile(ctx, tx, file, format)
	default:
		return sqlerror.New("22023", "cannot tell the format of %s", file).WithHint("Say --format parquet, csv, arrow or json.")
	}
	return err
}

// connect opens a connection whose rows may take values of sequences.
func (l *loading) connect() (*duckdb.Connection, error) {
	conn, err := l.reader.Connect(nil)
	if err == nil {
		conn.OnSequence(l.Sequences)
	}
	return conn, err
}

// duckFile reads a file with DuckDB.
func (l *loading) duckFile(ctx context.Context, tx *catalog.Transaction, file, format string) error {
	if err := files.Whole(ctx, file, func(file string) (*os.File, error) { return os.Open(file) }); err != nil {
		return err
	}
	conn, err := l.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.Hear(ctx)()
	from, err := l.readerCall(file, format)
	if err != nil {
		return err
	}
	text := "SELECT * FROM " + from
	duck, err := conn.Prepare(text)
	if err != nil {
		return dialect.InFile(file, err)
	}
	found, err := duck.Stored(false)
	if err != nil {
		duck.Close()
		return err
	}
	if err := l.begin(ctx, tx, conform.Schema(found)); err != nil {
		duck.Close()
		return err
	}
	columns := make([]string, found.NumFields())
	for i, f := range found.Fields() {
		columns[i] = f.Name
	}
	if err := files.SameColumns(file, l.schema, columns); err != nil {
		duck.Close()
		return err
	}
	duck.Close()
	if l.exists {
		if from, err = files.TypedCall(file, format, from, l.schema, columns); err != nil {
			return err
		}
		text = "SELECT * FROM " + from
	}
	src, err := cast.Query(text, l.schema, columns)
	if err != nil {
		return err
	}
	if duck, err = conn.Prepare(src.Text); err != nil {
		return dialect.InFile(file, err)
	}
	defer duck.Close()
	total := files.Rows(ctx, conn, file, format)
	l.read = append(l.read, lineage.Open(l.Name, file, false, columns, func(file string) (string, error) {
		call, err := l.readerCall(file, format)
		if err == nil && l.exists {
			call, err = files.TypedCall(file, format, call, l.schema, columns)
		}
		return call, err
	}))
	rows, err := duck.Execute(ctx)
	if err != nil {
		return (&files.Reading{File: file, Call: from, Schema: l.schema, Columns: columns}).Culprit(ctx, conn, err)
	}
	defer rows.Close()
	return l.take(ctx, file, total, func() (arrow.RecordBatch, error) {
		batch, err := rows.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			err = (&files.Reading{File: file, Call: from, Schema: l.schema, Columns: columns}).Culprit(ctx, conn, err)
		}
		return batch, err
	}, func(batch arrow.RecordBatch) error { return l.writer.Add(ctx, batch) })
}

// readerCall is the DuckDB table function for a file.
func (l *loading) readerCall(file, format string) (string, error) {
	options := ""
	for name, value := range l.request.Options.Parameters {
		switch name {
		case "delimiter", "delim", "quote", "escape", "null", "header":
			if format != noderpc.FormatCSV {
				return "", sqlerror.New("22023", "option %q is for CSV files", name)
			}
		default:
			e := sqlerror.New("22023", "unknown option %q", name).WithHint("Options of CSV files: delimiter, quote, escape, null, header.")
			if near := spelling.Nearest(name, []string{"delimiter", "quote", "escape", "null", "header"}); near != "" {
				e = e.WithHint(fmt.Sprintf("Did you mean %q?", near))
			}
			return "", e
		}
		switch name {
		case "delimiter", "delim":
			if name = "delim"; value == "" {
				return "", sqlerror.New("22023", "option \"delimiter\" is empty").WithHint("It is what stands between two values: delimiter=| for example.")
			}
		case "null":
			name = "nullstr"
		case "header":
			header, err := files.Header(value)
			if err != nil {
				return "", err
			}
			options += ", header = " + header
			continue
		}
		options += ", " + name + " = " + duckdb.QuoteLiteral(value)
	}
	return "read_" + format + "(" + duckdb.QuoteLiteral(file) + options + ")", nil
}

// take writes a file's rows.
func (l *loading) take(ctx context.Context, file string, total int64, next func() (arrow.RecordBatch, error),
	add func(arrow.RecordBatch) error) error {
	step := filepath.Base(file)
	var rows, reported int64
	l.progress(noderpc.Progress{Step: step, RowsTotal: total})
	for {
		batch, err := next()
		if errors.Is(err, io.EOF) {
			l.progress(noderpc.Progress{Step: step, Rows: rows, RowsTotal: max(total, rows)})
			l.read[len(l.read)-1].End(rows)
			return nil
		}
		if err != nil {
			return err
		}
		rows += batch.NumRows()
		err = add(batch)
		batch.Release()
		if err != nil {
			return err
		}
		l.Fault.At(faults.LoadBatch)
		if rows-reported >= 100_000 {
			reported = rows
			l.progress(noderpc.Progress{Step: step, Rows: rows, RowsTotal: total})
		}
	}
}
