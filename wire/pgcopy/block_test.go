package pgcopy_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/wire/pgcopy"
)

// pieces gives a stream in pieces of random sizes, as messages of a client come.
type pieces struct {
	stream []byte
	random *rand.Rand
	end    error
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.stream) == 0 {
		return 0, p.end
	}
	n := copy(into, p.stream[:min(len(p.stream), 1+p.random.IntN(40))])
	p.stream = p.stream[n:]
	return n, nil
}

// found is what a reader gives: rows with their lines, and how it ends.
type found struct {
	rows  [][]*string
	lines []int
	err   string
}

func (f *found) add(row [][]byte, line int) {
	copied := make([]*string, len(row))
	for i, field := range row {
		if field != nil {
			copied[i] = pointer(string(field))
		}
	}
	f.rows, f.lines = append(f.rows, copied), append(f.lines, line)
}

func (f *found) end(err error) {
	if !errors.Is(err, io.EOF) {
		f.err = err.Error()
	}
}

// byRows reads a stream row by row: the twin.
func byRows(t require.TestingT, stream io.Reader, columns int, options pgcopy.Options) (f found) {
	reader, err := pgcopy.NewReader(stream, columns, options)
	require.NoError(t, err)
	for {
		row, err := reader.Next()
		if err != nil {
			f.end(err)
			return f
		}
		f.add(row, reader.Line())
	}
}

// byBlocks reads it in blocks of most bytes, which are taken apart in the end, the last one first.
func byBlocks(t require.TestingT, stream io.Reader, columns, most int, options pgcopy.Options) found {
	reader, err := pgcopy.NewReader(stream, columns, options)
	require.NoError(t, err)
	require.True(t, reader.Cuts())
	var blocks []*pgcopy.Block
	for err == nil {
		var b *pgcopy.Block
		if b, err = reader.Block(most); err == nil {
			require.NotNil(t, b)
			blocks = append(blocks, b)
		}
	}
	parts := make([]found, len(blocks)+1)
	parts[len(blocks)].end(err)
	for i := len(blocks) - 1; i >= 0; i-- {
		text, fields, err := blocks[i].Rows()
		require.Zero(t, len(fields)%(2*columns))
		require.LessOrEqual(t, len(fields)/2, blocks[i].Values())
		for row := range len(fields) / (2 * columns) {
			var values [][]byte
			for c := row * columns; c < (row+1)*columns; c++ {
				if fields[2*c] < 0 {
					values = append(values, nil)
				} else {
					values = append(values, text[fields[2*c]:fields[2*c+1]:fields[2*c+1]])
				}
			}
			parts[i].add(values, blocks[i].Line(row))
		}
		if err != nil {
			parts[i].end(err)
		}
	}
	var all found
	for _, p := range parts {
		all.rows, all.lines = append(all.rows, p.rows...), append(all.lines, p.lines...)
		if p.err != "" {
			all.err = p.err
			break
		}
	}
	return all
}

var blockOptions = []pgcopy.Options{
	{}, {Format: pgcopy.CSV}, {Header: true}, {Format: pgcopy.CSV, Header: true}, {Delimiter: '|', Null: pointer("a")},
	{Null: pointer(`\x`)}, {Null: pointer("")}, {Format: pgcopy.CSV, Delimiter: ';', Null: pointer("a")}, {Format: pgcopy.CSV, Quote: '\'', Escape: '\\'},
	{Format: pgcopy.CSV, Escape: '\\'}, {Format: pgcopy.CSV, Quote: '|', Escape: ','}, {Format: pgcopy.CSV, ForceNotNull: []int{0}, ForceNull: []int{0, 1}},
	{Format: pgcopy.CSV, Quote: '\\'}, {Format: pgcopy.CSV, Delimiter: '\\', Null: pointer(".")},
}

// PC4: blocks of any size have the rows, the lines and the error that reading row by row has, however the stream comes.
func TestBlocksAreTheRows(t *testing.T) {
	fragments := []string{
		"a", "b\u00e9", ",", ",", "\t", "\t", "\n", "\n", "\n", "\r\n", "\r", `"`, `"`, `""`, `\`, `\N`, "\\\n", "\\\r\n", `\.`, "\n\\.\n", "\n\\.\r\n", "'", "''", "|", ";", "x", "41",
		"1,2\n", "1\t2\n", "\"a\nb\",c\n", "\"p\",\"q\"\r\n", "\\N\t\\N\n", strings.Repeat("long", 20),
	}
	broken := errors.New("connection lost")
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 60).Draw(t, "stream"), ""))
		columns := rapid.IntRange(1, 3).Draw(t, "columns")
		options := rapid.SampledFrom(blockOptions).Draw(t, "options")
		end := rapid.SampledFrom([]error{io.EOF, io.EOF, broken}).Draw(t, "end")
		most := rapid.SampledFrom([]int{1, 7, 30, 100, 1 << 18}).Draw(t, "most")
		seed := rapid.Uint64().Draw(t, "seed")
		again := func() io.Reader { return &pieces{bytes.Clone(stream), rand.New(rand.NewPCG(seed, 0)), end} }
		require.Equal(t, byRows(t, again(), columns, options), byBlocks(t, again(), columns, most, options), "%q", stream)
	})
}

// FuzzBlocks: whatever the stream is, blocks have its rows.
func FuzzBlocks(f *testing.F) {
	f.Add(byte(0), byte(9), []byte("1\tb\\N\n\\N\t\\x4\n\\.\n"))
	f.Add(byte(1), byte(5), []byte("1,\"b\nc\"\"d\"\n,\n\"\n\\.\n\",x\r\n1,2"))
	f.Add(byte(9), byte(20), []byte("1,\"b\\\"c\\\\\"\n\"\\\",\",2\n"))
	f.Fuzz(func(t *testing.T, option, most byte, stream []byte) {
		options := blockOptions[int(option)%len(blockOptions)]
		again := func() io.Reader { return bytes.NewReader(stream) }
		require.Equal(t, byRows(t, again(), 2, options), byBlocks(t, again(), 2, int(most), options))
	})
}

// Rows that are longer than any block come as blocks of their own, and errors of lines that are too long are the same.
func TestBlocksOfLongRows(t *testing.T) {
	for _, stream := range []string{
		strings.Repeat("x", 1<<20) + ",1\n2,\"" + strings.Repeat("y\n", 1<<18) + "\"\n" + strings.Repeat("3,4\n", 1<<17),
		"1,2\n" + strings.Repeat("z", pgcopy.FieldBytesMax+1), "1,2\n\"" + strings.Repeat(strings.Repeat("z", 1<<16)+"\n", pgcopy.FieldBytesMax>>16),
	} {
		again := func() io.Reader { return strings.NewReader(stream) }
		options := pgcopy.Options{Format: pgcopy.CSV}
		want, got := byRows(t, again(), 2, options), byBlocks(t, again(), 2, 1<<18, options)
		require.Equal(t, want.err, got.err)
		require.Equal(t, want.lines, got.lines)
		require.True(t, want.rows == nil && got.rows == nil || len(want.rows) == len(got.rows) && *want.rows[0][0] == *got.rows[0][0])
	}
}

// What is cut by no block is read row by row.
func TestStreamsThatAreNotCut(t *testing.T) {
	for _, options := range []pgcopy.Options{{Format: pgcopy.Binary}, {Format: pgcopy.CSV, Quote: '\n'}, {Format: pgcopy.CSV, Escape: '\r'}} {
		reader, err := pgcopy.NewReader(strings.NewReader(""), 1, options)
		require.NoError(t, err)
		require.False(t, reader.Cuts())
	}
}

func BenchmarkBlocks(b *testing.B) {
	row := "155190,7706,1,17,21168.23,0.04,0.02,N,O,1996-03-13,1996-02-12,1996-03-22,DELIVER IN PERSON,TRUCK,\"egular courts above the, furious\"\n"
	stream := []byte(strings.Repeat(row, 1<<13))
	for name, run := range map[string]func(r *pgcopy.Reader) error{
		"rows": func(r *pgcopy.Reader) error { _, err := r.Next(); return err },
		"blocks": func(r *pgcopy.Reader) error {
			block, err := r.Block(1 << 18)
			if err == nil {
				_, _, err = block.Rows()
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				r, _ := pgcopy.NewReader(bytes.NewReader(stream), 15, pgcopy.Options{Format: pgcopy.CSV})
				err := error(nil)
				for err == nil {
					err = run(r)
				}
				require.ErrorIs(b, err, io.EOF)
			}
		})
	}
}
