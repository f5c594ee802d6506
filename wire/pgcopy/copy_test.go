package pgcopy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/wire/pgcopy"
)

func textBatch(rows [][]*string) arrow.RecordBatch {
	fields := make([]arrow.Field, len(rows[0]))
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: arrow.BinaryTypes.String, Nullable: true}
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer builder.Release()
	for _, row := range rows {
		for i, value := range row {
			if value == nil {
				builder.Field(i).AppendNull()
			} else {
				builder.Field(i).(*array.StringBuilder).Append(*value)
			}
		}
	}
	return builder.NewRecordBatch()
}

func encode(t require.TestingT, batch arrow.RecordBatch, options pgcopy.Options) []byte {
	encoder, err := pgcopy.NewEncoder(batch.Schema(), options, time.UTC)
	require.NoError(t, err)
	out := encoder.AppendHeader(nil)
	require.NoError(t, encoder.Bind(batch))
	for row := range int(batch.NumRows()) {
		out, err = encoder.AppendRow(out, row)
		require.NoError(t, err)
	}
	return encoder.AppendTrailer(out)
}

func decode(stream io.Reader, columns int, options pgcopy.Options) (rows [][]*string, err error) {
	reader, err := pgcopy.NewReader(stream, columns, options)
	if err != nil {
		return nil, err
	}
	for {
		fields, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		row := make([]*string, len(fields))
		for i, field := range fields {
			if field != nil {
				text := string(field)
				row[i] = &text
			}
		}
		rows = append(rows, row)
	}
}

func pointer[T any](v T) *T { return &v }

// What is written is read back, in every format, with odd delimiters and null strings, in pieces of any size (PC1).
func TestRoundTrip(t *testing.T) {
	alphabet := []rune("ab\\.\t\n\r\v,;|\"'N{}ü\x01 0")
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(1, 4).Draw(t, "columns")
		value := rapid.Ptr(rapid.StringOfN(rapid.RuneFrom(alphabet), 0, 8, -1), true)
		rows := rapid.SliceOfN(rapid.SliceOfN(value, columns, columns), 1, 5).Draw(t, "rows")
		options := rapid.SampledFrom([]pgcopy.Options{
			{}, {Format: pgcopy.CSV}, {Format: pgcopy.Binary}, {Header: true}, {Format: pgcopy.CSV, Header: true},
			{Delimiter: '|', Null: pointer("nil")}, {Format: pgcopy.CSV, Delimiter: ';', Null: pointer("N")},
			{Format: pgcopy.CSV, Quote: '\'', Escape: '\\'}, {Format: pgcopy.CSV, ForceQuoteAll: true},
		}).Draw(t, "options")
		out := encode(t, textBatch(rows), options)
		var stream io.Reader = bytes.NewReader(out)
		if rapid.Bool().Draw(t, "byte by byte") {
			stream = iotest.OneByteReader(stream)
		}
		got, err := decode(stream, columns, options)
		require.NoError(t, err, "%q", out)
		require.Equal(t, rows, got, "%q", out)
	})
}

// What PostgreSQL 15 printed for the same rows: SELECT … UNION ALL … under COPY TO STDOUT.
func TestEncodesAsPostgreSQLDoes(t *testing.T) {
	rows := [][]*string{
		{pointer("a\tb"), pointer("c\\d")}, {nil, pointer("")}, {pointer("line\nfeed\r"), pointer(`say "hi", ok`)},
		{pointer(`\N`), pointer(`\.`)}, {pointer("\b\f\v"), pointer("ü")},
	}
	for format, want := range map[pgcopy.Format]string{
		pgcopy.Text: "a\\tb\tc\\\\d\n\\N\t\nline\\nfeed\\r\tsay \"hi\", ok\n\\\\N\t\\\\.\n\\b\\f\\v\tü\n",
		pgcopy.CSV:  "a\tb,c\\d\n,\"\"\n\"line\nfeed\r\",\"say \"\"hi\"\", ok\"\n\\N,\\.\n\b\f\v,ü\n",
	} {
		require.Equal(t, want, string(encode(t, textBatch(rows), pgcopy.Options{Format: format})))
	}
	single := textBatch([][]*string{{pointer(`\.`)}})
	require.Equal(t, "\"\\.\"\n", string(encode(t, single, pgcopy.Options{Format: pgcopy.CSV})))
}

// PC3: bad data is an error with the line and the class of PostgreSQL's, and ends the reading.
func TestBadData(t *testing.T) {
	for _, c := range []struct {
		data, message string
		options       pgcopy.Options
	}{
		{"1\t2\n1\n", "line 2: missing data", pgcopy.Options{}},
		{"1\t2\t3\n", "line 1: extra data", pgcopy.Options{}},
		{"1,2\n\"1,2\n3,4\n", "line 2: unterminated CSV quoted field", pgcopy.Options{Format: pgcopy.CSV}},
		{"1,2\n3,\"4\n5\"\n6\n", "line 4: missing data", pgcopy.Options{Format: pgcopy.CSV}},
		{"PGCOPY\n", "signature", pgcopy.Options{Format: pgcopy.Binary}},
		{"PGCOPY\n\xff\r\n\x00\x00\x01\x00\x00\x00\x00\x00\x00", "critical flags", pgcopy.Options{Format: pgcopy.Binary}},
		{"PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x05ab", "unexpected EOF", pgcopy.Options{Format: pgcopy.Binary}},
		{"PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x7f\xff\xff\xff", "invalid field size", pgcopy.Options{Format: pgcopy.Binary}},
		{"PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "field count is 1", pgcopy.Options{Format: pgcopy.Binary}},
		{"PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00", "trailer is missing", pgcopy.Options{Format: pgcopy.Binary}},
	} {
		_, err := decode(strings.NewReader(c.data), 2, c.options)
		require.ErrorContains(t, err, c.message, "%q", c.data)
		var state interface{ SQLState() string }
		require.ErrorAs(t, err, &state)
		require.Equal(t, "22P04", state.SQLState())
	}
	broken := errors.New("connection lost")
	for data, format := range map[string]pgcopy.Format{ // also behind the end of the data, which is not the stream's
		"1\t2\n3\t": pgcopy.Text, "1\t2\n\\.\n": pgcopy.Text, "1,2\n\\.\n": pgcopy.CSV, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff": pgcopy.Binary,
	} {
		_, err := decode(io.MultiReader(strings.NewReader(data), iotest.ErrReader(broken)), 2, pgcopy.Options{Format: format})
		require.ErrorIs(t, err, broken, "%q", data)
	}
}

// The end marker and Windows line ends are understood; FORCE options decide about NULL.
func TestReadsWhatPostgreSQLReads(t *testing.T) {
	rows, err := decode(strings.NewReader("1\ta\\x41\\101\\q\r\n2\t\\N\r\n\\.\nrest"), 2, pgcopy.Options{})
	require.NoError(t, err)
	require.Equal(t, [][]*string{{pointer("1"), pointer("aAAq")}, {pointer("2"), nil}}, rows)
	rows, err = decode(strings.NewReader("1\ta\\\nb\\\\\\\n\\\nc\n2\td\\\r\n3\te\\\\\n4\tf\\\n"), 2, pgcopy.Options{})
	require.NoError(t, err)
	require.Equal(t, [][]*string{
		{pointer("1"), pointer("a\nb\\\n\nc")}, {pointer("2"), pointer("d\r")}, {pointer("3"), pointer(`e\`)},
		{pointer("4"), pointer("f\n")},
	}, rows, "a backslash makes the end of a line a part of the value")
	rows, err = decode(strings.NewReader(",\"\",,\"\"\n"), 4, pgcopy.Options{Format: pgcopy.CSV, ForceNotNull: []int{2}, ForceNull: []int{3}})
	require.NoError(t, err)
	require.Equal(t, [][]*string{{nil, pointer(""), pointer(""), nil}}, rows)
}

// Options that would make the data ambiguous are refused.
func TestBadOptions(t *testing.T) {
	for _, options := range []pgcopy.Options{
		{Delimiter: '\n'}, {Delimiter: 'a'}, {Delimiter: '\\'}, {Null: pointer("a\tb")}, {Null: pointer("\n")}, {Format: 7},
		{Format: pgcopy.CSV, Quote: ','}, {Format: pgcopy.CSV, Null: pointer(`"`)}, {Format: pgcopy.Binary, Header: true},
	} {
		_, err := pgcopy.NewReader(nil, 1, options)
		var refused *pgcopy.OptionError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "22023", refused.SQLState())
	}
}

// FuzzReader: any stream in any format ends, in rows or an error.
func FuzzReader(f *testing.F) {
	f.Add(byte(0), []byte("1\tb\\N\n\\N\t\\x4\n\\.\n"))
	f.Add(byte(1), []byte("1,\"b\nc\"\"d\"\n,\n"))
	f.Add(byte(2), []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, format byte, data []byte) {
		rows, err := decode(bytes.NewReader(data), 2, pgcopy.Options{Format: pgcopy.Format(format % 3)})
		if err != nil && len(rows) > len(data) {
			t.Fatalf("%d rows from %d bytes", len(rows), len(data))
		}
	})
}
