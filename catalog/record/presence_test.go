package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/internal/horizon"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// What all nodes report in a second does not grow with their number, and few report as often as they may.
func TestPresenceInterval(t *testing.T) {
	const shortest = 200 * time.Millisecond
	for nodes := range 5 {
		require.Equal(t, shortest, record.PresenceInterval(shortest, nodes))
	}
	for nodes := 5; nodes < 100; nodes++ {
		interval := record.PresenceInterval(shortest, nodes)
		require.Equal(t, 4*time.Second/shortest, time.Duration(nodes)*time.Second/interval, "of %d nodes", nodes)
	}
}

func TestPresence(t *testing.T) {
	many := make([]store.Revision, 2*horizon.HeldMost)
	for i := range many {
		many[i] = store.Revision(1000 + 7*i)
	}
	for _, want := range []record.Presence{
		{},
		{Reads: horizon.Of(77, nil), Seen: 5, State: 1},
		{Reads: horizon.Of(1<<62, []store.Revision{1, 300, 1 << 40}), Seen: 1 << 62, State: 2},
		{Reads: horizon.Of(1<<62, many)},
	} {
		got, err := record.DecodePresence(want.Encode())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	full := record.Presence{Reads: horizon.Of(1<<62, many)}.Encode()
	_, err := record.DecodePresence(append(full, full...))
	require.ErrorContains(t, err, "more than 16")
	_, err = record.DecodePresence(full[:len(full)-1])
	require.Error(t, err)
}

// Whatever is decoded is encoded as the same again.
func FuzzDecodePresence(f *testing.F) {
	f.Add([]byte{})
	f.Add(record.Presence{Reads: horizon.Of(77, []store.Revision{3, 70}), Seen: 5, State: 1}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := record.DecodePresence(data)
		if err != nil {
			return
		}
		again, err := record.DecodePresence(p.Encode())
		require.NoError(t, err)
		require.Equal(t, p.Reads.All(), again.Reads.All())
		require.Equal(t, p.Reads.Floor, again.Reads.Floor)
	})
}
