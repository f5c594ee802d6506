package duckdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// D8: a statement that is interrupted for want of memory before DuckDB has begun, and so missed that, is interrupted
// again.
func TestExhaustedIsInterruptedAgain(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1, MemoryBytes: 256 << 20})
	end := c.BeginExhausted(&duckdb.Error{State: "53200", Message: "out of memory", Byte: -1})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-stop:
				return
			case <-again.C:
				duckdb.Strike()
			}
		}
	}()
	_, err := tryAsk(c, "SELECT count(*) FROM range(1000000000000) r(i) WHERE i % 7 = 3")
	close(stop)
	<-stopped
	end()
	requireState(t, "53200", err)
	require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"))
}
