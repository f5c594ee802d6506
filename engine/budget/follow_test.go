package budget_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/budget"
)

// What threads keep goes back also while DuckDB cannot have what clients have given back, and that is tried for as long.
func TestTidyGoesOnWhileNothingSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, taken atomic.Int64
		node := account.NewNode(1000)
		node.From(account.Source{Free: 100, Step: 50, Ask: func(bytes int64) bool {
			asked.Add(1)
			return bytes > taken.Swap(bytes)
		}})
		var tidied atomic.Int64
		room := budget.NewRoom(nil, node, func(int64) {}, func() int {
			tidied.Add(1)
			return 1000
		})
		room.Follow()
		defer room.Close()
		s := node.Open(1, "u")
		require.NoError(t, s.Take(account.Copy, 400))
		s.Close()
		before := asked.Load()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.GreaterOrEqual(t, tidied.Load(), int64(14))
		require.Greater(t, asked.Load()-before, int64(8))
		require.Less(t, asked.Load()-before, int64(20), "less and less often")
	})
}
