package refreshing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/bench/refreshing"
	"github.com/csmsql/csmsql/queries/dbgen"
)

func source(t *testing.T) (*dbgen.Generator, *refreshing.Source) {
	g, err := dbgen.New(0.01)
	require.NoError(t, err)
	return g, refreshing.NewSource(g, 4)
}

// RS1: what the transactions insert is the set, each order with all of its lines, and what they delete is the other one.
func TestTransactions(t *testing.T) {
	g, s := source(t)
	require.Equal(t, int64(15), s.Orders())
	require.Equal(t, int64(8), s.PerPair())
	const set = 2
	orders, err := g.InsertSet(t.Context(), memory.DefaultAllocator, dbgen.Orders, set)
	require.NoError(t, err)
	defer orders.Release()
	lines, err := g.InsertSet(t.Context(), memory.DefaultAllocator, dbgen.LineItem, set)
	require.NoError(t, err)
	defer lines.Release()
	var inserted, insertedLines int
	for i := range int64(4) {
		number := set*s.PerPair() + i
		tx, err := s.Transaction(t.Context(), number)
		require.NoError(t, err)
		require.True(t, tx.Inserts)
		require.Equal(t, fmt.Sprintf("INSERT INTO refreshes VALUES (%d)", number), tx.Count)
		require.Len(t, tx.Changes, 2)
		require.True(t, strings.HasPrefix(tx.Changes[0], "INSERT INTO orders VALUES ("), tx.Changes[0])
		require.True(t, strings.HasPrefix(tx.Changes[1], "INSERT INTO lineitem VALUES ("), tx.Changes[1])
		of := 0
		for ; of < 4 && inserted < int(orders.NumRows()); of++ {
			key := orders.Column(0).ValueStr(inserted)
			require.Contains(t, tx.Changes[0], fmt.Sprintf("(%s, %s, '", key, orders.Column(1).ValueStr(inserted)))
			for insertedLines < int(lines.NumRows()) && lines.Column(0).ValueStr(insertedLines) == key {
				require.Contains(t, tx.Changes[1], fmt.Sprintf("(%s, %s, %s, %s, ", key, lines.Column(1).ValueStr(insertedLines),
					lines.Column(2).ValueStr(insertedLines), lines.Column(3).ValueStr(insertedLines)))
				insertedLines++
			}
			inserted++
		}
		require.Equal(t, of, 1+strings.Count(tx.Changes[0], "), ("))
	}
	require.Equal(t, int(orders.NumRows()), inserted)
	require.Equal(t, int(lines.NumRows()), insertedLines)
	keys, err := g.DeleteSet(set)
	require.NoError(t, err)
	tx, err := s.Transaction(t.Context(), set*s.PerPair()+7)
	require.NoError(t, err)
	require.False(t, tx.Inserts)
	last := fmt.Sprintf("%d, %d, %d", keys[12], keys[13], keys[14])
	require.Equal(t, []string{"DELETE FROM lineitem WHERE l_orderkey IN (" + last + ")",
		"DELETE FROM orders WHERE o_orderkey IN (" + last + ")"}, tx.Changes)
	_, err = s.Transaction(t.Context(), dbgen.RefreshSets*s.PerPair())
	require.ErrorIs(t, err, dbgen.ErrUnitRange)
}

// A transaction that lost a race is sent again, whole; others end the stream.
func TestRun(t *testing.T) {
	_, s := source(t)
	require.NoError(t, s.Prepare(t.Context(), 0, 2))
	var sent []string
	lost := errors.New("lost")
	c := refreshing.Client{Source: s, Refused: func(err error) bool { return errors.Is(err, lost) }}
	c.Send = func(_ context.Context, sql string) error {
		word, _, _ := strings.Cut(sql, " ")
		sent = append(sent, word)
		if len(sent) == 5 {
			return lost
		}
		return nil
	}
	require.NoError(t, c.Run(t.Context(), 1, time.Hour, nil))
	whole := []string{"BEGIN", "INSERT", "INSERT", "INSERT", "COMMIT"}
	require.Equal(t, append(append(append([]string{}, whole...), "ROLLBACK"), whole...), sent)
	require.Equal(t, int64(1), c.Again)
	require.Equal(t, int64(1), c.Next.Load())

	hurry := make(chan struct{})
	close(hurry)
	require.NoError(t, c.Run(t.Context(), -1, 0, hurry))
	require.Equal(t, int64(1), c.Next.Load(), "hurried without an end: nothing is sent")
	require.NoError(t, c.Run(t.Context(), 9, time.Hour, hurry))
	require.Equal(t, int64(10), c.Next.Load())
	require.Len(t, c.Inserted, 4+2)
	require.Len(t, c.Deleted, 4)

	c.Send = func(context.Context, string) error { return errors.New("gone") }
	require.ErrorContains(t, c.Run(t.Context(), -1, 0, nil), "gone")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Run(ctx, 1, 0, nil), context.Canceled)
}
