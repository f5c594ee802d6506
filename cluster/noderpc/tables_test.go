package noderpc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

func TestTablesOfALease(t *testing.T) {
	node := &fakeNode{}
	var asked record.TablesAsked
	var answer record.TablesAnswer
	node.tables = func(lease catalog.LeaseID, a record.TablesAsked) (record.TablesAnswer, error) {
		require.EqualValues(t, 1, lease)
		asked = a
		return answer, nil
	}
	path, stop := serve(t, node, noderpc.ServerOptions{})
	defer stop()
	c, other := dial(t, path), dial(t, path)
	lease, err := c.Lease(context.Background(), catalog.Holder{Domain: "d", Partial: true})
	require.NoError(t, err)
	require.True(t, node.leases[1].Partial)
	name := func(s string) catalog.TableName { return catalog.TableName{Schema: "s\xff", Name: s} }
	for _, want := range []record.TablesAsked{
		{Names: []catalog.TableName{name("a"), name("")}}, {ID: 7}, {All: true}, {All: true, From: name("z")},
	} {
		answer = record.TablesAnswer{Tables: [][]byte{{1}, {2, 3}}, Kept: [][]byte{{4}}, Answered: len(want.Names), Next: want.From}
		got, err := c.Tables(context.Background(), lease.ID(), want)
		require.NoError(t, err)
		require.Equal(t, answer, got)
		if len(want.Names) == 0 {
			asked.Names = nil
		}
		require.Equal(t, want, asked)
	}
	_, err = c.Tables(context.Background(), lease.ID(), record.TablesAsked{Names: make([]catalog.TableName, 2000)})
	require.ErrorContains(t, err, "names")
	_, err = c.Tables(context.Background(), lease.ID(), record.TablesAsked{Names: []catalog.TableName{name(strings.Repeat("x", 256))}})
	require.ErrorContains(t, err, "bytes")
	answer = record.TablesAnswer{Next: name(strings.Repeat("x", 256))}
	_, err = c.Tables(context.Background(), lease.ID(), record.TablesAsked{All: true})
	require.ErrorIs(t, err, noderpc.ErrBadMessage)
	answer = record.TablesAnswer{Answered: 2000}
	_, err = c.Tables(context.Background(), lease.ID(), record.TablesAsked{All: true})
	require.ErrorIs(t, err, noderpc.ErrBadMessage)
	_, err = other.Tables(context.Background(), lease.ID(), record.TablesAsked{All: true})
	require.ErrorIs(t, err, catalog.ErrLeaseOver, "N4: it is not this client's")
}
