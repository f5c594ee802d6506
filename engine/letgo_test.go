package engine_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/internal/faults"
)

// Small results of a split statement are let go when its rows are closed already, but only those of so many statements at a time. Large
// ones, and those of the next statement, are let go before its rows are closed: memory that waits for that has a bound.
func TestResultsAreLetGoInTheBackground(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t WITH (placement = 'rows') AS SELECT range AS a FROM range(400000)")
	exec(t, s, "SET csm.distribute = 'always'")
	begun, proceed := make(chan int, 2*split.LaterMost), make(chan struct{})
	proceedAll := sync.OnceFunc(func() { close(proceed) })
	defer proceedAll()
	c.onFault(func(node int, point faults.Point) {
		if node == 0 && point == faults.FragmentReleased { // the coordinator's own part
			begun <- c.nodes[0].LettingGo()
			<-proceed
		}
	})
	ask := func(sql string) <-chan []string {
		got := make(chan []string, 1)
		go func() {
			list, err := tryRows(s, sql)
			if err != nil {
				list = []string{err.Error()}
			}
			got <- list
		}()
		return got
	}

	large := ask("SELECT count(*) FROM (SELECT a, count(*) FROM t GROUP BY a) g")
	require.Zero(t, <-begun, "more than 1 MiB is let go at once")
	proceed <- struct{}{}
	require.Equal(t, []string{"400000"}, <-large)

	const small = "SELECT sum(a)::BIGINT FROM t"
	sum := []string{"79999800000"}
	for i := range split.LaterMost {
		require.Equal(t, sum, <-ask(small), "no query waits for what is let go")
		require.Equal(t, i+1, <-begun)
	}
	last := ask(small)
	require.Equal(t, split.LaterMost, <-begun, "this one is not in the background")
	require.Empty(t, last)
	proceedAll()
	require.Equal(t, sum, <-last)
}
