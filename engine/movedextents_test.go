package engine_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// incoherentPair are two nodes on memory that is not coherent, where no node is given up. skipChecksums: no checksum is
// compared, so that bytes that are wrong are a wrong answer.
func incoherentPair(t *testing.T, fabric memregion.FabricKind, skipChecksums bool) *cluster {
	return startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) {
		config.Fabric, config.Cluster.SessionTTL = fabric, time.Minute
		if skipChecksums {
			config.Mutate(func(_ string, lines coherence.Lines) coherence.Lines { return lines })
		}
		config.OnePass()
	}}, 2)
}

// disturb lets the caches of all nodes do what they like.
func (c *cluster) disturb(times int) {
	for range times {
		for _, e := range c.nodes {
			e.Disturb()
		}
	}
}

// A column that outgrows its extent in another node's memory is moved there by its lender, while the caches of both do
// what they like. Builders that write in place do that (Engine.Assemble); what statements write has the length that it
// needs from the beginning. Every answer is right.
func TestExtentsThatMoveOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	for _, skipChecksums := range []bool{true, false} {
		t.Run(fmt.Sprintf("skipChecksums %v", skipChecksums), func(t *testing.T) {
			eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
				moveExtents(t, incoherentPair(t, fabric, skipChecksums))
			})
		})
	}
}

func moveExtents(t *testing.T, c *cluster) {
	count := int64(280_000) // outgrows what a writer asks for first, and what it asks for next
	if os.Getenv(chunk.ExtentsVariable) == "4096" {
		count = 6_000
	}
	for round := range int64(6) {
		first, moved := (round+1)<<40, c.nodes[0].MovedBytes() // no two rounds have a value in common
		build(t, c, "built", first, count)
		require.Greater(t, c.nodes[0].MovedBytes(), moved, "no extent was moved")
		c.disturb(20)
		want := []string{fmt.Sprintf("%d|%d|%d|%d", count, count*first+count*(count-1)/2, first, first+count-1)}
		for node := range c.nodes {
			require.Equal(t, want, rows(t, c.session(node), "SELECT count(*), sum(a), min(a), max(a) FROM built"), "node %d, round %d", node, round)
		}
		exec(t, c.session(1), "DROP TABLE built")
		// The same memory is the lender's own for a while, and the writer's caches have that.
		exec(t, c.session(0), fmt.Sprintf("CREATE TABLE own WITH (placement = 'node(n0)') AS SELECT range + %d AS a FROM range(%d)", first+count, 2*count))
		require.Equal(t, rows(t, c.session(0), "SELECT sum(a) FROM own"), rows(t, c.session(1), "SELECT sum(a) FROM own"), "round %d", round)
		exec(t, c.session(0), "DROP TABLE own")
	}
}

// build makes a table of the numbers from first on, by the second node in the memory of the first, in one chunk.
func build(t *testing.T, c *cluster, table string, first, count int64) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	a, err := c.nodes[1].Assemble(t.Context(), engine.AssembleOptions{Table: catalog.TableName{Name: table}, Columns: schema})
	require.NoError(t, err)
	p, err := a.Part(t.Context(), "n0", 0)
	require.NoError(t, err)
	b := array.NewRecordBuilder(p.Allocator(), schema)
	defer b.Release()
	for i := range count {
		b.Field(0).(*array.Int64Builder).Append(first + i)
		if i%(count/8) == 0 {
			c.disturb(5)
		}
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	require.NoError(t, p.Add(t.Context(), batch))
	require.Zero(t, p.Copied())
	require.NoError(t, a.Commit(t.Context()))
}

// Replicas come and go where others write: their copies are flushed piece by piece, and a copy that ends within a page
// leaves nothing in the caches of its writer. It would overwrite what is written there next.
func TestMemoryOfReplicasOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	for _, skipChecksums := range []bool{true, false} {
		t.Run(fmt.Sprintf("skipChecksums %v", skipChecksums), func(t *testing.T) {
			eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
				c := incoherentPair(t, fabric, skipChecksums)
				for round := range int64(8) {
					// n1 copies into the memory of n0: at first what is long enough for n1 to find out how, then what
					// ends within a page.
					count := 1_001 + round*377
					if round == 0 {
						count = 50_001
					}
					content := wide(2*round, count)
					exec(t, c.session(1), "CREATE TABLE source WITH (placement = 'node(n1)') AS "+content)
					exec(t, c.session(1), "ALTER TABLE source SET (replicas = 2)")
					require.Equal(t, rows(t, c.session(0), sumsOfWide+"("+content+")"), rows(t, c.session(0), sumsOfWide+"source"))
					exec(t, c.session(1), "DROP TABLE source")

					content = wide(2*round+1, count+1000) // where the replica was, and beyond its end
					exec(t, c.session(0), "CREATE TABLE next WITH (placement = 'node(n0)') AS "+content)
					want := rows(t, c.session(0), sumsOfWide+"("+content+")")
					require.Equal(t, want, rows(t, c.session(1), sumsOfWide+"next"), "round %d", round)
					c.disturb(50)
					require.Equal(t, want, rows(t, c.session(0), sumsOfWide+"next"), "round %d", round)
					exec(t, c.session(0), "DROP TABLE next")
				}
			})
		})
	}
}

// wide makes rows of many columns, each of which has its end somewhere in a page; no two tables have a value in common.
func wide(table, count int64) string {
	var list []string
	for column := range int64(widthOfWide) {
		list = append(list, fmt.Sprintf("range + %d AS a%d", (table+1)<<40+column<<30, column))
	}
	return fmt.Sprintf("SELECT %s FROM range(%d)", strings.Join(list, ", "), count)
}

const widthOfWide = 16

// sumsOfWide asks for all of it, from what follows.
var sumsOfWide = func() string {
	sums := "SELECT count(*)"
	for column := range widthOfWide {
		sums += fmt.Sprintf(", sum(a%d)", column)
	}
	return sums + " FROM "
}()
