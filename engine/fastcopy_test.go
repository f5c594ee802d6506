package engine_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// flushedLengths notes how much is flushed at a time, by use.
type flushedLengths struct {
	mu    sync.Mutex
	count map[string]map[int]int
}

func (f *flushedLengths) of(use string, length int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[use][length]
}

type notedLines struct {
	coherence.Lines
	use   string
	noted *flushedLengths
}

func (l notedLines) Flush(b []byte) int {
	l.noted.mu.Lock()
	if l.noted.count[l.use] == nil {
		l.noted.count[l.use] = map[int]int{}
	}
	l.noted.count[l.use][len(b)]++
	l.noted.mu.Unlock()
	return l.Lines.Flush(b)
}

// A replica is copied in the fastest way into the memory where it comes to lie: the first copy that is long enough measures the ways there are, with
// 256 KiB that it flushes. No other flush is as long as that.
func TestReplicasGoTheFastestWay(t *testing.T) {
	t.Parallel()
	const measured = 256 << 10
	for copier, use := range []string{"borrowing", "home"} { // n0 copies into n1's memory, or n1 into its own
		t.Run(use, func(t *testing.T) {
			noted := [2]*flushedLengths{}
			c := startCluster(&cluster{t: t, change: func(i int, config *engine.Config) {
				noted[i] = &flushedLengths{count: map[string]map[int]int{}}
				config.Fabric = memregion.FabricKind("emulated:21")
				config.Mutate(func(use string, lines coherence.Lines) coherence.Lines { return notedLines{lines, use, noted[i]} })
			}}, 2)
			exec(t, c.session(0), "CREATE TABLE m WITH (placement = 'node(n0)') AS SELECT (range * 7919) % 1000003 AS a FROM range(200000)")
			want := rows(t, c.session(0), "SELECT sum(a) FROM m")
			require.Zero(t, noted[copier].of(use, measured))
			exec(t, c.session(copier), "ALTER TABLE m SET (replicas = 2)")
			require.Positive(t, noted[copier].of(use, measured))
			require.Equal(t, want, rows(t, c.session(1), "SELECT sum(a) FROM m"))
		})
	}
}
