package frontend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/textblock"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgcopy"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// copyOut is COPY … TO STDOUT.
type copyOut struct {
	*prepared
	options pgcopy.Options
}

// CopyOut implements wire.CopyOutStatement.
func (c *copyOut) CopyOut() pgcopy.Options { return c.options }

// copyIn is COPY … FROM STDIN.
type copyIn struct {
	*prepared
	options pgcopy.Options
	columns *arrow.Schema // that the stream fills, in its order
}

// CopyInFormat implements wire.CopyInStatement.
func (c *copyIn) CopyInFormat() (isBinary bool, columns int) {
	return c.options.Format == pgcopy.Binary, c.columns.NumFields()
}

// CopyIn implements wire.CopyInStatement.
func (c *copyIn) CopyIn(ctx context.Context, stream io.Reader) (tag string, err error) {
	if c.options.Format == pgcopy.Binary {
		// Clients that end the stream without the format's trailer (pgx does) have said all, says PostgreSQL.
		stream = io.MultiReader(stream, strings.NewReader("\xff\xff"))
	}
	reader, err := pgcopy.NewReader(stream, c.columns.NumFields(), c.options)
	if err != nil {
		return "", err
	}
	s := c.session
	reader.Account(func(bytes int64) error { return s.engine.TakeAside(account.Copy, bytes) })
	defer func() { s.calls.after(func() { s.Give(account.Copy, reader.Taken()) }) }()
	s.backend.executed.Add(1)
	rows := files.Stream{Next: reader.Next, Line: reader.Line}
	if c.options.Format == pgcopy.Binary {
		rows.Next = c.textRows(reader)
	}
	if reader.Cuts() {
		rows.Blocks = blocksOf(reader, stream)
	}
	whole := outcome.WithClock(ctx, s.client.Untime)
	l := &leaving{session: s, sql: c.sql, since: time.Now(), reads: true, outcome: &outcome.Outcome{}}
	if s.call(ctx, l, func() { tag, err = c.engine.CopyInFrom(outcome.With(whole, l.outcome), rows) }) {
		s.backend.failed.Add(1)
		return "", context.Cause(ctx)
	}
	if err != nil {
		s.backend.failed.Add(1)
		err = c.located(err)
	}
	return tag, err
}

// blocksOf are the blocks of a stream, whose reading wire can break off.
func blocksOf(reader *pgcopy.Reader, stream io.Reader) *textblock.Source {
	return &textblock.Source{
		Columns: reader.Columns(),
		Next:    func(most int) (textblock.Block, error) { return reader.Block(most) },
		Stop: func() {
			if s, ok := stream.(wire.CopyInStream); ok {
				s.Interrupt()
			}
		},
	}
}

// located makes the error of a malformed row PostgreSQL's: with the column that is missing, and the row's line.
func (c *copyIn) located(err error) error {
	var data *pgcopy.DataError
	if !errors.As(err, &data) {
		return err
	}
	e := &engine.Error{State: data.SQLState(), Message: data.Message, ContextText: fmt.Sprintf("COPY %s, line %d", c.engine.Copy().Name.Name, data.Line), Cause: err}
	if data.Missing >= 0 && data.Missing < c.columns.NumFields() {
		e.Message = fmt.Sprintf("missing data for column \"%s\"", c.columns.Field(data.Missing).Name)
	}
	return e
}

// textRows turns the fields of a binary stream into text, which is what the engine takes.
func (c *copyIn) textRows(reader *pgcopy.Reader) func() ([][]byte, error) {
	types := make([]uint32, c.columns.NumFields())
	for i, field := range c.columns.Fields() {
		types[i] = pgformat.TypeOf(field).OID
	}
	return func() ([][]byte, error) {
		row, err := reader.Next()
		if err != nil {
			return nil, err
		}
		for i, field := range row {
			if field == nil || i >= len(types) {
				continue
			}
			value, err := pgformat.Decode(types[i], pgformat.BinaryFormat, field, nil)
			if err != nil {
				return nil, err
			}
			text, _, err := scalarText(types[i], value)
			if err != nil {
				return nil, err
			}
			row[i] = []byte(text)
		}
		return row, nil
	}
}

// copyTarget finds the columns that a COPY FROM fills, by preparing a query that selects them.
func (s *session) copyTarget(ctx context.Context, head *statement.Copy) (*arrow.Schema, error) {
	probe, err := s.engine.Prepare(ctx, dialect.CopyQuery(head))
	if err != nil {
		return nil, err
	}
	defer probe.Close()
	return probe.Schema(), nil
}

// copyOptions reads the WITH clause. schema is that of the rows of COPY TO, nil for COPY FROM: see columnOptions.
func copyOptions(head *statement.Copy, schema *arrow.Schema) (pgcopy.Options, error) {
	var options pgcopy.Options
	for _, o := range head.Options {
		if err := copyOption(&options, o); err != nil {
			return options, err
		}
	}
	if schema == nil {
		return options, nil
	}
	return columnOptions(head, schema, options)
}

func copyOption(options *pgcopy.Options, o statement.Option) error {
	switch o.Name {
	case "format":
		format, ok := map[string]pgcopy.Format{"text": pgcopy.Text, "csv": pgcopy.CSV, "binary": pgcopy.Binary}[strings.ToLower(o.Value)]
		if !ok {
			return optionError("COPY format %q is not one that clients speak: text, csv, binary", o.Value)
		}
		options.Format = format
	case "delimiter", "delim":
		return oneByte(&options.Delimiter, o)
	case "quote":
		return oneByte(&options.Quote, o)
	case "escape":
		return oneByte(&options.Escape, o)
	case "null", "nullstr":
		value := o.Value
		options.Null = &value
	case "header":
		if strings.EqualFold(strings.TrimSpace(o.Value), "match") {
			return &wire.Error{State: "0A000", Message: "COPY … HEADER MATCH is not supported", Help: "HEADER skips the line; name the columns in the order that it has."}
		}
		options.Header = isOn(o.Value)
	case "encoding":
		if name := strings.ReplaceAll(strings.ToLower(o.Value), "-", ""); name != "utf8" && name != "unicode" {
			return optionError("COPY encoding %q is not supported: only UTF8 is", o.Value)
		}
	case "freeze": // rows are written so that no VACUUM need touch them, always; pgbench says it
	case "force_quote", "force_not_null", "force_null":
	default:
		return &wire.Error{State: "42601", Message: "option \"" + o.Name + "\" not recognized"}
	}
	return nil
}

// columnOptions reads the options that name columns.
func columnOptions(head *statement.Copy, schema *arrow.Schema, options pgcopy.Options) (pgcopy.Options, error) {
	for _, o := range head.Options {
		into := map[string]*[]int{
			"force_quote": &options.ForceQuote, "force_not_null": &options.ForceNotNull, "force_null": &options.ForceNull,
		}[o.Name]
		if into == nil {
			continue
		}
		if strings.TrimSpace(o.Value) == "*" && o.Name == "force_quote" {
			options.ForceQuoteAll = true
			continue
		}
		for _, name := range strings.Split(strings.Trim(o.Value, "() "), ",") {
			name = strings.Trim(strings.TrimSpace(name), `"`)
			at := slices.IndexFunc(schema.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
			if at < 0 {
				return options, &wire.Error{State: "42703", Message: "column \"" + name + "\" of the COPY option " + o.Name + " does not exist"}
			}
			*into = append(*into, at)
		}
	}
	return options, nil
}

func oneByte(into *byte, o statement.Option) error {
	value := o.Value
	if value == `\t` {
		value = "\t"
	}
	if len(value) != 1 {
		return optionError("COPY %s must be a single one-byte character, not %q", o.Name, o.Value)
	}
	*into = value[0]
	return nil
}

func isOn(value string) bool {
	switch strings.ToLower(value) {
	case "false", "off", "0", "no":
		return false
	}
	return true
}
