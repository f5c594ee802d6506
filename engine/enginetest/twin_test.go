package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A twin that does not come back from a statement, nor when it is interrupted, ends neither the run nor the world's
// other side: it is left to itself, and there is a new one.
func TestTwinGone(t *testing.T) {
	f := openOneNode(t)
	f.twin.exec("CREATE TABLE old (i int)")
	left := f.twin
	left.patience = 0
	never := make(chan struct{})
	defer close(never)
	got := left.ask("SELECT something", func() outcome { <-never; return outcome{} })
	require.Equal(t, goneState, got.state)
	require.Contains(t, got.message, "SELECT something")
	require.Equal(t, goneState, left.exec("SELECT 1").state, "it is asked no more")
	require.Equal(t, goneState, left.query("SELECT 1", nil).state)
	ours := outcome{rows: []string{"1"}}
	require.Empty(t, f.judge(ours, left.query("SELECT 1", nil), &question{}), "which says nothing of our answer")

	f.revive(1)
	require.Equal(t, 1, f.seen.gone)
	require.NotSame(t, left, f.twin)
	require.Equal(t, []string{"1"}, f.twin.query("SELECT 1", nil).rows)
	require.NotEmpty(t, f.twin.query("FROM old", nil).state, "it begins with nothing, as all do")
	f.revive(2)
	require.Equal(t, 1, f.seen.gone, "it works: there is nothing to revive")
}
