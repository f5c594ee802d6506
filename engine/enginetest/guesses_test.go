package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// guesses are what every estimate is made: nothing is left, one row is, more than there can be.
var guesses = []int64{0, 1, 1_000_000_000}

// drawSome draws n of a list each of which takes long, and with CSMSQL_EFFORT, as the nightly run does, gives all of it.
func drawSome[T any](t *testing.T, n int, list []T) (drawn []T) {
	if testsuite.Effort() > 1 {
		return list
	}
	seed := rand.Uint64()
	if text := os.Getenv(testsuite.SeedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(list))[:n] {
		drawn = append(drawn, list[i])
	}
	t.Logf("%v of %v (%s=%d)", drawn, list, testsuite.SeedVariable, seed)
	return drawn
}

// eachGuess runs a test with every estimate, of rows, of distinct values, of what conditions leave, forced to one of
// them or, with CSMSQL_EFFORT, to each.
func eachGuess(t *testing.T, test func(t *testing.T, guess func(int64) int64)) {
	for _, forced := range drawSome(t, 1, guesses) {
		t.Run(fmt.Sprint(forced), func(t *testing.T) { test(t, func(int64) int64 { return forced }) })
	}
}

// TestEstimatesNeverChangeAnAnswer: a wrong estimate costs time. On one node: the traps, some worlds, TPC-H.
func TestEstimatesNeverChangeAnAnswer(t *testing.T) {
	eachGuess(t, func(t *testing.T, guess func(int64) int64) {
		wrong := func(c *engine.Config) { c.Guesses = guess }
		traps := trapRig(t, wrong)
		traps.twin.asof(t, guess)
		traps.spring(t)
		r := newRig(t, wrong)
		r.twin.asof(t, guess)
		for seed := range uint64(5) {
			r.play(t, 2000+seed)
		}
		require.Positive(t, r.compared)
		node := openEngine(t, wrong)
		require.NoError(t, node.LoadTPCH(context.Background(), noderpc.TPCHRequest{ScaleFactor: 0.01}, nil))
		answers(t, node, 0.01, "duckdb")
	})
}

// asof has the twin join ASOF as DuckDB does with such estimates: see exec/duckdb's TestASOFJoinsOfManyRows.
func (n *native) asof(t *testing.T, guess func(int64) int64) {
	if guess(1) > 64 {
		require.Empty(t, n.exec("SET asof_loop_join_threshold = 0").message)
	}
}

// TestEstimatesNeverChangeASplitAnswer: the same of plans for several nodes, and of a cluster.
func TestEstimatesNeverChangeASplitAnswer(t *testing.T) {
	tpch := openNative(t, 2)
	loadTPCH(t, tpch, 0.01)
	eachGuess(t, func(t *testing.T, guess func(int64) int64) {
		springDistributed(t, openNative(t, 1), guess)
		count := distributing{reasons: map[string]int{}, guess: guess}
		twin := openNative(t, 1)
		for seed := range uint64(2) {
			count.play(t, twin, 3000+seed)
		}
		require.Positive(t, count.split)
		p := newParted(tpch)
		p.guess = guess
		nodes := nodeNames(3)
		for _, table := range tpchTables {
			require.NoError(t, p.describe(table))
			require.NoError(t, p.split(table, nodes, fmt.Sprintf("rowid %% %d", len(nodes))))
		}
		shuffling := anyPlan(nodes)
		shuffling.ShuffleBytes, shuffling.RemoteFactor, shuffling.ShuffleGain = 1, 20, 1
		require.Positive(t, p.answersTPCH(t, shuffling))
		if testing.Short() {
			return // a cluster takes some seconds
		}
		cluster := openNodes(t)
		cluster.guess = guess
		m := &metamorphic{t: t, nodes: cluster, twin: openNative(t, 2), bySize: map[int]int{}}
		for seed := range uint64(2) {
			m.play(4000 + seed)
		}
		require.Positive(t, m.queries)
	})
}
