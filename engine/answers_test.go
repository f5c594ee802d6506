package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// Answers over memory that is not coherent and used again all the time: two nodes write tables of all lengths into the memory of one, in turn, shrink
// what they are granted, and give up; both read. Where checksums are compared nothing is found wrong, and where none are every answer is right. Faults in the
// source of the protocol are seen here through SQL (docs/mutations.md).
func TestAnswersOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	for _, skipChecksums := range []bool{true, false} {
		t.Run(fmt.Sprintf("skipChecksums %v", skipChecksums), func(t *testing.T) {
			eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
				c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) {
					config.Fabric, config.Cluster.SessionTTL = fabric, time.Minute // no node is given up here
					if skipChecksums {
						config.Mutate(func(_ string, lines coherence.Lines) coherence.Lines { return lines })
					}
				}}, 2)
				answers(t, c)
			})
		})
	}
}

func answers(t *testing.T, c *cluster) {
	want := map[string][]string{}
	const sums = "SELECT count(*), sum(a), sum(b), sum(c), count(DISTINCT d), min(d), max(d), sum(length(d))"
	for round := range 16 {
		writer, table := c.session(min(round%3, 1)), fmt.Sprintf("m%d", round%4)
		content := fmt.Sprintf(`SELECT range + %d AS a, range * 3 + %[1]d AS b, %[1]d - range AS c,
			(%[1]d + range %% 250)::VARCHAR || repeat('x', 90) AS d FROM range(%d)`, 1_000_000*(round+1), 700+round*round*37%9000)
		want[table] = rows(t, writer, sums+" FROM ("+content+")")
		exec(t, writer, fmt.Sprintf("CREATE OR REPLACE TABLE %s WITH (placement = 'node(n0)') AS %s", table, content))
		if round%5 == 4 {
			abort(t, c, 1)
		}
		for range 20 {
			c.nodes[0].Disturb()
			c.nodes[1].Disturb()
		}
		for name, sums1 := range want {
			require.Equal(t, sums1, rows(t, c.session(round%2), sums+" FROM "+name), "round %d, table %s", round, name)
		}
	}
}
