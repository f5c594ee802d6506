package engine_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	enginefiles "github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/textblock"
	"github.com/csmsql/csmsql/wire/pgcopy"
)

// copyStream copies a stream into a table, in blocks of most bytes, or row by row if there is no most.
func copyStream(t *testing.T, s *engine.Session, sql string, stream io.Reader, columns, most int,
	options pgcopy.Options) (string, error) {
	st, err := s.Prepare(t.Context(), sql)
	require.NoError(t, err)
	defer st.Close()
	reader, err := pgcopy.NewReader(stream, columns, options)
	require.NoError(t, err)
	from := enginefiles.Stream{Next: reader.Next, Line: reader.Line}
	if most > 0 {
		from.Blocks = &textblock.Source{
			Columns: reader.Columns(), Stop: func() {},
			Next: func(int) (textblock.Block, error) { return reader.Block(most) },
		}
	}
	return st.CopyInFrom(t.Context(), from)
}

// failure is an error as a client sees it.
func failure(err error) string {
	var e *engine.Error
	var data *pgcopy.DataError
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("%s %s | %s", e.State, e.Message, e.ContextText)
	case errors.As(err, &data):
		return fmt.Sprintf("line %d: %s", data.Line, data.Message)
	}
	return fmt.Sprint(err)
}

// Blocks that several goroutines read leave the rows that reading row by row leaves, in their order, or the same error:
// whatever is wrong, wherever, and however the stream is cut.
func TestCopyInBlocksIsCopyByRows(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Threads = 3 })
	s := session(t, e)
	good := [][]string{
		{"1", "-2", "0", "17", "2147483647", " 5 ", "1e2"}, {"1.50", "-0.05", "0", "99999.999", "1.2345", "1e1", ""},
		{"2020-01-31", "0044-03-15 BC", "Jan 31, 2020", "20200131", "1999-12-31", ""}, {"plain", "", "comma, quote \" and tab\t", "two\nlines", "ü", `\N`, `back\slash`},
		{"2020-01-31 10:20:30.5", "2020-01-31 10:20", "2020-01-31T10:20:30", "", "infinity"}, {"t", "false", "on", "YES", ""},
		{"1.5", "-0.25", "NaN", "1e300", "3"}, {`\xDEAD`, `a\\b`, ""}, {"{1,2}", "[3]", "{}", ""},
	}
	bad := [][]string{
		{"x", "2147483648", "1.5e"}, {"1000000", "x"}, {"2020-02-31", "x"}, {"\xff", "a\xc0b"}, {"2020-01-31 25:00:00"}, {"maybe"}, {"1.5.5"}, {`\xg`, `\xABC`}, {"{x}", "{1,", "{1}}"},
	}
	const declared = "(id SERIAL, i INTEGER, n NUMERIC(8,3), d DATE, v VARCHAR, ts TIMESTAMP, b BOOLEAN, f DOUBLE PRECISION, bin BYTEA, l INTEGER[])"
	const into = "(i, n, d, v, ts, b, f, bin, l)"
	options := []pgcopy.Options{{}, {Format: pgcopy.CSV}, {Format: pgcopy.CSV, Header: true}, {Format: pgcopy.CSV, Escape: '\\'}}
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 1))
		option := options[random.IntN(len(options))]
		wrong := random.IntN(3) * random.IntN(2) // how many rows are
		plain := random.IntN(2) == 0
		n := 1 + random.IntN(80)
		var stream strings.Builder
		if option.Header {
			stream.WriteString("i,n,d\n")
		}
		for row := range n {
			values := make([]string, len(good))
			for i := range values {
				values[i] = good[i][0]
				if !plain {
					values[i] = good[i][random.IntN(len(good[i]))]
				}
			}
			if wrong > 0 && random.IntN(n-row) < wrong {
				wrong--
				if c := random.IntN(len(bad) + 1); c < len(bad) {
					values[c] = bad[c][random.IntN(len(bad[c]))]
				} else {
					values = values[:random.IntN(len(values))]
				}
			}
			writeRow(&stream, values, option, random)
		}
		if random.IntN(4) == 0 {
			stream.WriteString("\\.\nwhat comes here is not read,\"\n")
		}
		most := 1 + random.IntN(2000)
		var tags, errs, left [2]string
		for k, size := range []int{0, most} {
			exec(t, s, "DROP TABLE IF EXISTS c")
			exec(t, s, "CREATE TABLE c "+declared)
			sent := io.MultiReader(strings.NewReader(stream.String()[:stream.Len()/2]), strings.NewReader(stream.String()[stream.Len()/2:]))
			tag, err := copyStream(t, s, "COPY c "+into+" FROM STDIN", sent, len(good), size, option)
			tags[k], errs[k] = tag, failure(err)
			left[k] = strings.Join(rows(t, s, "SELECT * FROM c"), "\n")
		}
		require.Equal(t, errs[0], errs[1], "seed %d, most %d: %q", seed, most, stream.String())
		require.Equal(t, tags[0], tags[1], "seed %d", seed)
		require.Equal(t, left[0], left[1], "seed %d, most %d: %q", seed, most, stream.String())
	}
	exec(t, s, "DISCARD PLANS")
	require.Zero(t, e.Memory().Used)
}

// writeRow writes values as a client may.
func writeRow(stream *strings.Builder, values []string, option pgcopy.Options, random *rand.Rand) {
	for i, value := range values {
		if option.Format == pgcopy.CSV {
			if i > 0 {
				stream.WriteByte(',')
			}
			escape := `"`
			if option.Escape != 0 {
				escape = string(option.Escape)
				value = strings.ReplaceAll(value, escape, escape+escape)
			}
			if strings.ContainsAny(value, ",\"\n\\") || value != "" && random.IntN(8) == 0 {
				value = `"` + strings.ReplaceAll(value, `"`, escape+`"`) + `"`
			}
		} else {
			if i > 0 {
				stream.WriteByte('\t')
			}
			if value = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`).Replace(value); value == "" {
				value = `\N`
			}
		}
		stream.WriteString(value)
	}
	stream.WriteString([]string{"\n", "\n", "\r\n"}[random.IntN(3)])
}

// Tables whose columns are all plain, of every kind that a block converts itself; temporary ones have DuckDB's own types.
func TestCopyOfPlainBlocks(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for _, making := range []string{"CREATE TABLE ", "CREATE TEMP TABLE "} {
		exec(t, s, making+"p (a SMALLINT, b BIGINT, c NUMERIC(15,2), d NUMERIC(30,4), e DATE, f TIMESTAMP, g TEXT, h VARCHAR(3), i REAL, j BOOLEAN)")
		stream := strings.Repeat("1,-2,3.5,4.25,2020-01-31,2020-01-31 10:20:30.5,x,yz,0.5,t\n,,,,,,,,,\n", 5000)
		tag, err := copyStream(t, s, "COPY p FROM STDIN (FORMAT csv)", strings.NewReader(stream), 10, 1<<16, pgcopy.Options{Format: pgcopy.CSV})
		require.NoError(t, err)
		require.Equal(t, "COPY 10000", tag)
		require.Equal(t, []string{"1|-2|3.5|4.25|2020-01-31|2020-01-31T10:20:30.5|x|yz|0.5|true|5000", strings.Repeat("(null)|", 10) + "5000"},
			rows(t, s, "SELECT *, count(*) FROM p GROUP BY ALL ORDER BY a NULLS LAST"))
		exec(t, s, "DROP TABLE p")
	}
	exec(t, s, "CREATE TABLE q (h VARCHAR(3) NOT NULL, i INTEGER CHECK (i < 5))")
	for stream, state := range map[string]string{"long,1\n": "22001", ",1\n": "23502", "x,7\n": "23514"} {
		_, err := copyStream(t, s, "COPY q FROM STDIN", strings.NewReader(strings.Repeat("a,1\n", 3000)+stream), 2, 1<<10, pgcopy.Options{Format: pgcopy.CSV})
		requireState(t, state, err)
	}
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM q"))
}

// What is no text is refused as it is row by row, also where no column is left for DuckDB to cast.
func TestCopyOfBlocksThatAreNoText(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for _, bad := range []string{"\xff", "a\xc0b", "\x00", "x\x00y", "\xed\xa0\x80", "ab\xf4\x90\x80\x80"} {
		var errs, left [2]string
		for k, most := range []int{0, 1 << 10} {
			exec(t, s, "CREATE TABLE u (i INTEGER, v TEXT)")
			stream := strings.Repeat("1,a\n", 1000) + "2," + bad + "\n" + strings.Repeat("1,a\n", 1000)
			_, err := copyStream(t, s, "COPY u FROM STDIN", strings.NewReader(stream), 2, most, pgcopy.Options{Format: pgcopy.CSV})
			errs[k], left[k] = failure(err), fmt.Sprintf("%q", rows(t, s, "SELECT count(*), max(v) FROM u"))
			exec(t, s, "DROP TABLE u")
		}
		require.Equal(t, errs[0], errs[1], "%q", bad)
		require.Equal(t, left[0], left[1], "%q", bad)
	}
}
