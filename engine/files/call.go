package files

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// FormatOf is the format that was asked for, or the one that the file's name says.
func FormatOf(head *statement.Copy) string {
	for _, o := range head.Options {
		if o.Name == "format" {
			return strings.ToLower(o.Value)
		}
	}
	switch format := FormatOfName(head.File); format {
	case "":
		return noderpc.FormatCSV
	case FormatArrow:
		if strings.EqualFold(filepath.Ext(head.File), ".arrows") {
			return FormatArrowStream
		}
		return format
	default:
		return format
	}
}

// FormatOfName is the format that a file's name says; "": none.
func FormatOfName(file string) string {
	name := strings.ToLower(file)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	switch filepath.Ext(name) {
	case ".parquet", ".pq":
		return noderpc.FormatParquet
	case ".csv", ".tsv", ".tbl", ".txt":
		return noderpc.FormatCSV
	case ".arrow", ".arrows", ".ipc", ".feather":
		return noderpc.FormatArrow
	case ".json", ".ndjson", ".jsonl":
		return FormatJSON
	}
	return ""
}

// Error hides nothing and adds what to do about files that are out of reach.
func Error(err error) error {
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
	e := &sqlerror.Error{State: d.State, Message: dialect.PostgresWords(d.Message), HintText: d.HintText, Cause: err}
	if d.State == "42501" {
		e.HintText = outOfReach
	}
	return e
}

// WriteOptions are a COPY's options as DuckDB spells them.
func WriteOptions(head *statement.Copy) (string, error) {
	var list []string
	format := FormatOf(head)
	if format != "csv" && format != noderpc.FormatParquet && format != FormatJSON {
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
			value, err := Header(o.Value)
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

// Header is HEADER's value, as DuckDB spells it; none means that there is one.
func Header(value string) (string, error) {
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

// Call is the DuckDB table function that reads a COPY's file.
func Call(head *statement.Copy, schema *arrow.Schema, columns []string) (string, error) {
	switch format := FormatOf(head); format {
	case noderpc.FormatParquet, FormatJSON:
		for _, o := range head.Options {
			if taken, err := commonOption(o); err != nil {
				return "", err
			} else if !taken {
				return "", notFor(o.Name, format)
			}
		}
		if format == FormatJSON {
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
			value, err := Header(o.Value)
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

// Rows is how many rows a Parquet file says that it has; 0: unknown.
func Rows(ctx context.Context, conn *duckdb.Connection, file, format string) int64 {
	if format != noderpc.FormatParquet {
		return 0
	}
	said, err := conn.Texts(ctx, "SELECT CAST(num_rows AS VARCHAR) FROM parquet_file_metadata("+duckdb.QuoteLiteral(file)+")")
	if err != nil || len(said) == 0 {
		return 0
	}
	total, _ := strconv.ParseInt(said[0], 10, 64) // 0 if it says none
	return total
}

// SameColumns: by name, in any order; nothing may be missing that is NOT NULL without default, and nothing unknown.
func SameColumns(file string, schema *arrow.Schema, columns []string) error {
	for _, c := range columns {
		at := ingest.Index(schema, c)
		if at < 0 {
			return sqlerror.New("42703", "%s has a column %q, the table has not", file, c)
		}
		if cast.Generated(schema.Field(at)) != "" {
			return sqlerror.New("42P10", "%s has a column %q, which the table generates", file, c)
		}
	}
	for _, f := range schema.Fields() {
		if _, hasDefault := f.Metadata.GetValue(cast.DefaultKey); f.Nullable || hasDefault || cast.Generated(f) != "" {
			continue
		}
		found := false
		for _, c := range columns {
			found = found || strings.EqualFold(c, f.Name)
		}
		if !found {
			return sqlerror.New("23502", "%s has no column %q, which is NOT NULL", file, f.Name)
		}
	}
	return nil
}
