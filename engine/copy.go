package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// COPY, but for what comes from the client (copyin.go): DuckDB reads and writes the files.

func (st *Statement) prepareCopy(ctx context.Context, head *statement.Copy) error {
	if err := saidTwice(head.Options); err != nil {
		return err
	}
	if !head.Client {
		if err := head.Check(formatOf(head)); err != nil {
			return err
		}
	}
	if head.From {
		return st.prepareCopyFrom(ctx, head)
	}
	return st.prepareCopyTo(ctx, head)
}

// Copy is the statement's COPY … STDIN or STDOUT, nil when it is something else.
func (st *Statement) Copy() *statement.Copy {
	if head, ok := st.parsed.Head.(*statement.Copy); ok && head.Client {
		return head
	}
	return nil
}

// copyQuery is what COPY … TO reads.
func copyQuery(head *statement.Copy) string {
	if head.Query != "" {
		return head.Query
	}
	columns := "*"
	if head.Columns != nil {
		quoted := make([]string, len(head.Columns))
		for i, c := range head.Columns {
			quoted[i] = duckdb.QuoteIdentifier(c)
		}
		columns = strings.Join(quoted, ", ")
	}
	return "SELECT " + columns + " FROM " + dialect.QuoteName(head.Name)
}

func (st *Statement) prepareCopyTo(ctx context.Context, head *statement.Copy) error {
	s := st.session
	text := copyQuery(head)
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.release()
	plan, err := s.planQuery(ctx, text, st.treeOf(text), v)
	if err != nil {
		return st.pointAt(cast.Verbatim(text).Relocate(err, st.parsed.Text), head.Name.Name)
	}
	if head.Client {
		st.setPlan(plan)
		st.schema = plan.schema
		st.run = func(ctx context.Context, args []any) (*Rows, error) {
			rows, err := st.read(ctx, args)
			if err == nil {
				rows.tag = func(n int64) string { return fmt.Sprintf("COPY %d", n) }
			}
			return rows, err
		}
		return nil
	}
	plan.close()
	st.run = func(ctx context.Context, _ []any) (*Rows, error) {
		if format := formatOf(head); format == formatArrow || format == formatArrows {
			return st.copyToArrow(ctx, head, text)
		}
		return st.copyToFile(ctx, head, text)
	}
	return nil
}

// copyToFile lets DuckDB write the file, if the session may.
func (st *Statement) copyToFile(ctx context.Context, head *statement.Copy, text string) (*Rows, error) {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.release()
	plan, err := s.planDuck(ctx, text, st.treeOf(text), v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	v.read.Begin()
	for _, t := range plan.scans {
		if err := t.start(ctx, nil); err != nil {
			return nil, err
		}
	}
	options, err := duckOptions(head)
	if err != nil {
		return nil, err
	}
	given := plan.given
	if formatOf(head) == "json" { // DuckDB writes its own text of bytes there
		if given, err = cast.BytesShown(given, plan.schema); err != nil {
			return nil, err
		}
	}
	s.yield()
	s.visible = v
	duck, err := s.conn.Prepare("COPY (" + given + "\n) TO " + duckdb.QuoteLiteral(head.File) + options)
	s.visible = nil
	if err != nil {
		return nil, fileError(err)
	}
	defer duck.Close()
	rows, err := duck.Execute(ctx)
	if err != nil {
		return nil, v.lease.ErrorOr(fileError(v.read.Blame(ctx, err)), v.read)
	}
	defer rows.Close()
	n := privateCount(rows)
	if err := s.engine.trustworthy(ctx, plan.faults, v.read, v.lease); err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", n), n), nil
}

// fileError hides nothing and adds what to do about files that are out of reach.
func fileError(err error) error {
	d, ok := err.(*duckdb.Error)
	if !ok {
		return err
	}
	if csv := dialect.CSVFailure("", d); csv != nil {
		return csv
	}
	if unknown := formatHasNot(d.Message); unknown != nil {
		return unknown
	}
	e := &Error{State: d.State, Message: dialect.PostgresWords(d.Message), HintText: d.HintText, Cause: err}
	if d.State == "42501" {
		e.HintText = outOfReach
	}
	return e
}

// duckOptions are a COPY's options as DuckDB spells them.
func duckOptions(head *statement.Copy) (string, error) {
	var list []string
	format := formatOf(head)
	if format != "csv" && format != noderpc.FormatParquet && format != formatJSON {
		return "", formatUnknown(format)
	}
	list = append(list, "FORMAT "+format)
	header := format != "csv" // a CSV file has one only when it is asked for: COPY FROM would take it for a row
	for _, o := range head.Options {
		if taken, err := commonOption(o); err != nil {
			return "", err
		} else if taken {
			continue
		}
		if csvOptions[o.Name] && format != "csv" {
			return "", notFor(o.Name, format)
		}
		switch o.Name {
		case "header":
			header = true
			value, err := headerOption(o.Value)
			if err != nil {
				return "", err
			}
			list = append(list, "HEADER "+value)
		case "null", "nullstr":
			list = append(list, "NULLSTR "+duckdb.QuoteLiteral(o.Value))
		case "delimiter", "delim", "sep", "separator", "quote", "escape", "compression", "codec":
			if err := delimiterOption(o); err != nil {
				return "", err
			}
			list = append(list, strings.ToUpper(o.Name)+" "+duckdb.QuoteLiteral(o.Value))
		case "row_group_size":
			if n, err := strconv.ParseUint(o.Value, 10, 32); err != nil || n == 0 {
				return "", sqlerror.New("22023", "COPY option \"row_group_size\" is not %q", o.Value).WithHint("It is a number of rows, from 1.")
			}
			list = append(list, "ROW_GROUP_SIZE "+o.Value)
		default:
			return "", refuseOption(o.Name, format)
		}
	}
	if !header {
		list = append(list, "HEADER false")
	}
	return " (" + strings.Join(list, ", ") + ")", nil
}

// vacuous takes what FREEZE and ENCODING say if that is what is done anyway.
func vacuous(o statement.Option) error {
	name := strings.ToLower(strings.NewReplacer("-", "", "_", "", "'", "").Replace(o.Value))
	if o.Name == "encoding" && name != "utf8" && name != "unicode" {
		return sqlerror.New("0A000", "COPY encoding %q is not supported", o.Value).WithHint("Only UTF8 is.")
	}
	return nil // rows are written so that no VACUUM need touch them, always; when FREEZE may be said is mayFreeze's
}

// delimiterOption refuses a delimiter that is none.
func delimiterOption(o statement.Option) error {
	if (o.Name == "delimiter" || synonyms[o.Name] == "delimiter") && o.Value == "" {
		return sqlerror.New("22023", "COPY delimiter must not be empty")
	}
	return nil
}

// headerOption is HEADER's value, as DuckDB spells it; none means that there is one.
func headerOption(value string) (string, error) {
	switch strings.ToLower(value) {
	case "true", "on", "1", "yes", "":
		return "true", nil
	case "false", "off", "0", "no":
		return "false", nil
	case "match":
		return "", sqlerror.New("0A000", "COPY … HEADER MATCH is not supported").WithHint("HEADER skips the line; name the columns in the order that it has.")
	}
	return "", sqlerror.New("42601", "header requires a Boolean value, not %q", value)
}

// formatOf is the format that was asked for, or the one that the file's name says.
func formatOf(head *statement.Copy) string {
	for _, o := range head.Options {
		if o.Name == "format" {
			return strings.ToLower(o.Value)
		}
	}
	switch format := formatOfFile(head.File); format {
	case "":
		return noderpc.FormatCSV
	case formatArrow:
		if strings.EqualFold(filepath.Ext(head.File), ".arrows") {
			return formatArrows
		}
		return format
	default:
		return format
	}
}

func (st *Statement) prepareCopyFrom(ctx context.Context, head *statement.Copy) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.release()
	version, err := s.target(v, head.Name)
	if err == errTemporary {
		return sqlerror.New("0A000", "COPY FROM into a temporary table is not supported").WithHint("INSERT INTO t SELECT … works.")
	}
	if err != nil {
		return st.pointAt(err, head.Name.Name)
	}
	if _, err := copyColumns(version.Table().Columns, head.Columns); err != nil {
		return st.pointAt(err, head.Name.Name)
	}
	if head.Client {
		st.run = func(context.Context, []any) (*Rows, error) {
			return nil, sqlerror.New("08P01", "COPY FROM STDIN needs a stream of rows")
		}
		return nil
	}
	st.run = func(ctx context.Context, _ []any) (*Rows, error) {
		if format := formatOf(head); format == formatArrow || format == formatArrows {
			return st.copyFromArrow(ctx, head)
		}
		return st.copyFromFile(ctx, head)
	}
	return nil
}

// copyColumns are the columns that a COPY fills, in its order.
func copyColumns(schema *arrow.Schema, names []string) ([]string, error) {
	if names == nil {
		for _, f := range schema.Fields() {
			names = append(names, f.Name)
		}
		return names, nil
	}
	seen := map[string]bool{}
	for _, n := range names {
		if ingest.Index(schema, n) < 0 {
			return nil, sqlerror.New("42703", "column %q of relation does not exist", n)
		}
		if seen[strings.ToLower(n)] {
			return nil, sqlerror.New("42701", "column %q specified more than once", n)
		}
		seen[strings.ToLower(n)] = true
	}
	return names, nil
}

// copyFromFile reads the file with DuckDB, if the session may.
func (st *Statement) copyFromFile(ctx context.Context, head *statement.Copy) (*Rows, error) {
	s := st.session
	var count int64
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, head.Name)
		if err != nil {
			return err
		}
		if err := s.mayFreeze(tx, head, version.Table()); err != nil {
			return err
		}
		schema := version.Table().Columns
		columns, err := copyColumns(schema, head.Columns)
		if err != nil {
			return err
		}
		s.yield()
		from, err := readerCall(head, schema, columns)
		if err != nil {
			return err
		}
		if err := s.checkFile(ctx, head, from, columns); err != nil {
			return err
		}
		src, err := cast.Query("SELECT * FROM "+from, schema, columns)
		if err != nil {
			return err
		}
		duck, err := s.conn.Prepare(src.Text)
		if err != nil {
			return fileError(dialect.InFile(head.File, err))
		}
		defer duck.Close()
		culprit := func(err error) error {
			if err == nil || isEnd(err) {
				return err
			}
			return fileError(s.copyFileCulprit(ctx, &fileColumns{head.File, from, schema, columns}, err))
		}
		rows, err := duck.Execute(ctx)
		if err != nil {
			return culprit(err)
		}
		defer rows.Close()
		read := s.engine.sourceFile(head.File, true, columns, func(file string) (string, error) {
			absolute := *head
			absolute.File = file
			return readerCall(&absolute, schema, columns)
		})
		count, err = s.engine.store(ctx, tx, version.Table().Name, s.zone(), func(context.Context) (arrow.RecordBatch, error) { return rows.Next() }, read.Origin)
		return culprit(err)
	})
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", count), count), nil
}

// readerCall is the DuckDB table function that reads a COPY's file.
func readerCall(head *statement.Copy, schema *arrow.Schema, columns []string) (string, error) {
	switch format := formatOf(head); format {
	case noderpc.FormatParquet, formatJSON:
		for _, o := range head.Options {
			if taken, err := commonOption(o); err != nil {
				return "", err
			} else if !taken {
				return "", notFor(o.Name, format)
			}
		}
		if format == formatJSON {
			return jsonCall(head.File, schema, columns)
		}
		return parquetCall(head.File), nil
	case "csv", "text":
		return csvCall(head, schema, columns, format)
	default:
		return "", formatUnknown(format)
	}
}

func csvCall(head *statement.Copy, schema *arrow.Schema, columns []string, format string) (string, error) {
	types := make([]string, len(columns))
	for i, c := range columns {
		name, err := columntype.SQL(schema.Field(ingest.Index(schema, c)))
		if err != nil {
			return "", err
		}
		types[i] = duckdb.QuoteLiteral(c) + ": " + duckdb.QuoteLiteral(name)
	}
	options := map[string]string{"delim": "','", "header": "false", "auto_detect": "false", "quote": `'"'`, "escape": `'"'`}
	if format == "text" {
		options["delim"], options["quote"], options["nullstr"] = `'\t'`, "''", `'\N'`
	}
	for _, o := range head.Options {
		if taken, err := commonOption(o); err != nil {
			return "", err
		} else if taken {
			continue
		}
		switch o.Name {
		case "header":
			value, err := headerOption(o.Value)
			if err != nil {
				return "", err
			}
			options["header"] = value
		case "delimiter", "delim", "sep", "separator":
			if err := delimiterOption(o); err != nil {
				return "", err
			}
			options["delim"] = duckdb.QuoteLiteral(o.Value)
		case "null", "nullstr":
			options["nullstr"] = duckdb.QuoteLiteral(o.Value)
		case "quote", "escape":
			options[o.Name] = duckdb.QuoteLiteral(o.Value)
		default:
			return "", refuseOption(o.Name, format)
		}
	}
	call := "read_csv(" + duckdb.QuoteLiteral(head.File) + ", columns = {" + strings.Join(types, ", ") + "}"
	for _, name := range []string{"delim", "header", "auto_detect", "quote", "escape", "nullstr"} {
		if v, ok := options[name]; ok {
			call += ", " + name + " = " + v
		}
	}
	return call + ")", nil
}
