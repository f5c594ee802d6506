package changing

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/bench/serving"
)

// compare gives two sides of one server, each with a schema of its own.
func compare(t *testing.T, table *Table, rows int64) *Comparison {
	postgres, err := serving.StartPostgres(t.Context(), "")
	if errors.Is(err, serving.ErrNoPostgres) {
		t.Skip("sides are PostgreSQL here: " + err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, postgres.Close()) })
	c := &Comparison{Table: table, File: filepath.Join(t.TempDir(), "rows"), Rows: rows, Runs: 2, Say: t.Logf}
	require.NoError(t, table.WriteFile(t.Context(), c.File))
	for _, name := range []string{"one", "other"} {
		require.NoError(t, postgres.Exec(t.Context(), "CREATE SCHEMA "+name))
		s := &Side{Name: name, Afterwards: "VACUUM (ANALYZE)"}
		require.NoError(t, s.Connect(t.Context(), postgres.Conninfo+" search_path="+name))
		t.Cleanup(func() { s.Close(context.Background()) })
		c.Sides = append(c.Sides, s)
	}
	return c
}

// Both sides do everything with each of the tables, and a wrong row is found.
func TestComparison(t *testing.T) {
	for _, table := range []*Table{Mixed(1000), LineItem(0.01, 1000)} {
		t.Run(table.Name, func(t *testing.T) {
			c := compare(t, table, 1000)
			copied, err := c.Copies(t.Context())
			require.NoError(t, err)
			require.Len(t, copied, 2)
			require.Len(t, copied[1], 2)
			require.NoError(t, c.Keyed(t.Context()))
			asked, err := c.Asked(t.Context())
			require.NoError(t, err)
			require.Equal(t, table.Name == "lineitem", asked != nil)
			if asked != nil {
				require.Len(t, asked.Point[0], Points)
				require.Len(t, asked.One[1], Points)
			}
			times := map[string]int{}
			require.NoError(t, c.Changes(t.Context(), func(what string, single bool, ours, theirs []time.Duration) {
				require.Equal(t, what != "UPDATE of 1 %", single)
				require.Len(t, theirs, len(ours))
				times[what] = len(ours)
			}))
			require.Equal(t, map[string]int{"UPDATE of a row by its key": Singly, "UPDATE of 1 %": 2,
				"DELETE of a row by its key": Singly}, times)
			require.ErrorContains(t, c.Changes(t.Context(), nil), "a wrong answer: 0 rows instead of 1")
			c.Corrupt = true
			_, err = c.Copies(t.Context())
			require.ErrorContains(t, err, "a wrong answer: one has rows of 1000 ")
		})
	}
}

// However many rows there are, each change of a single one is of another.
func TestKeysAreDifferent(t *testing.T) {
	for _, rows := range []int64{1, 10, Singly, 7919, 3 * 7919, 60_175} {
		c, seen := &Comparison{Rows: rows}, map[int64]bool{}
		for n := range min(Singly, rows) {
			seen[c.key(n)] = true
		}
		require.Len(t, seen, int(min(Singly, rows)), "of %d rows", rows)
	}
}

// A wrong row is found by its key, too.
func TestAWrongRow(t *testing.T) {
	c := compare(t, LineItem(0.01, 1000), 1000)
	_, err := c.Copies(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.Keyed(t.Context()))
	require.NoError(t, c.Sides[0].exec(t.Context(), "UPDATE lineitem SET l_comment = 'wrong' WHERE id = 1"))
	_, err = c.Asked(t.Context())
	require.ErrorContains(t, err, "a wrong answer: one gives [{1 wrong} ")
}

// COPY's text format takes the values as they are: none has a character that has a meaning there.
func TestLineItem(t *testing.T) {
	rows, err := LineItems(0.01, 1<<40)
	require.NoError(t, err)
	require.Equal(t, int64(60_175), rows)
	for _, most := range []int64{rows, 10} {
		var text bytes.Buffer
		require.NoError(t, LineItem(0.01, most).Write(t.Context(), &text))
		require.NotContains(t, text.String(), `\`)
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		require.Len(t, lines, int(most))
		for _, line := range lines {
			require.Equal(t, 16, strings.Count(line, "\t"), line)
		}
		require.True(t, strings.HasPrefix(lines[0], "0\t1\t"), lines[0])
	}
}
