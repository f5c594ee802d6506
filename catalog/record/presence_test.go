package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/record"
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
