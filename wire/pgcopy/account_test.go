package pgcopy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire/pgcopy"
)

// A row asks for its memory before it has it, in every format and wherever it is long: one value, many, many lines within quotes.
func TestLongRowsAskForMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var binaryRow []byte
	binaryRow = append(binaryRow, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02"...)
	for range 2 {
		binaryRow = append(binary.BigEndian.AppendUint32(binaryRow, 1<<20), long...)
	}
	for name, c := range map[string]struct {
		options pgcopy.Options
		stream  string
	}{
		"text":   {pgcopy.Options{}, long + "\t" + long + "\n"},
		"csv":    {pgcopy.Options{Format: pgcopy.CSV}, long + "," + long + "\n"},
		"lines":  {pgcopy.Options{Format: pgcopy.CSV}, `"` + strings.Repeat("line\n", 400_000) + "\",\n"},
		"binary": {pgcopy.Options{Format: pgcopy.Binary}, string(binaryRow) + "\xff\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			reader, err := pgcopy.NewReader(strings.NewReader(c.stream), 2, c.options)
			require.NoError(t, err)
			granted := int64(0)
			reader.Account(func(bytes int64) error { granted += bytes; return nil })
			row, err := reader.Next()
			require.NoError(t, err)
			kept := int64(len(row[0]) + len(row[1]))
			require.GreaterOrEqual(t, granted, kept)
			require.LessOrEqual(t, granted, 5*kept)
			require.Equal(t, granted, reader.Taken())

			refused := errors.New("refused")
			reader, err = pgcopy.NewReader(strings.NewReader(c.stream), 2, c.options)
			require.NoError(t, err)
			reader.Account(func(int64) error {
				if granted -= 1 << 18; granted < kept/2 {
					return refused
				}
				return nil
			})
			_, err = reader.Next()
			require.ErrorIs(t, err, refused)
		})
	}
}

// Short rows ask for nothing, however many there are.
func TestShortRowsDoNotAsk(t *testing.T) {
	reader, err := pgcopy.NewReader(bytes.NewReader(bytes.Repeat([]byte("a\tb\n"), 100_000)), 2, pgcopy.Options{})
	require.NoError(t, err)
	reader.Account(func(int64) error { return errors.New("asked") })
	for err == nil {
		_, err = reader.Next()
	}
	require.ErrorIs(t, err, io.EOF)
}
