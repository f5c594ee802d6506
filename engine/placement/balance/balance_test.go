package balance_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/engine/placement/balance"
)

func ints(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// chunksOf reads chunks of a table: "10@0 5@0,1 7@0!" are three, of which the second has two replicas and the last stays.
func chunksOf(t testing.TB, table int, text string) (list []balance.Chunk) {
	for _, word := range strings.Fields(text) {
		c := balance.Chunk{Table: table}
		word, c.Stays = strings.CutSuffix(word, "!")
		size, at, _ := strings.Cut(word, "@")
		_, err := fmt.Sscan(size, &c.Bytes)
		require.NoError(t, err)
		for node := range strings.SplitSeq(at, ",") {
			var n int
			_, err := fmt.Sscan(node, &n)
			require.NoError(t, err)
			c.Nodes = append(c.Nodes, n)
		}
		list = append(list, c)
	}
	return list
}

func TestPlan(t *testing.T) {
	free := balance.Table{First: []int{0, 1, 2}, Others: []int{0, 1, 2}}
	for _, c := range []struct {
		what       string
		capacities []int64
		tables     []balance.Table
		chunks     []string // by table
		want       string   // chunk.replica>node
	}{
		{"nothing is there", []int64{100, 100, 100}, nil, nil, ""},
		{"one node", []int64{100}, []balance.Table{{First: []int{0}}}, []string{"10@0 10@0"}, ""},
		{"one is empty", []int64{100, 100, 100}, []balance.Table{free}, []string{"10@0 10@0 10@0 10@1 10@1 10@1"}, "3.0>2 0.0>2"},
		{"even already", []int64{100, 100, 100}, []balance.Table{free}, []string{"10@0 10@1 10@2"}, ""},
		{"as even as chunks allow", []int64{100, 100, 100}, []balance.Table{free}, []string{"10@0 10@1"}, ""},
		{"within the tolerance", []int64{1000, 1000}, []balance.Table{{First: []int{0, 1}}}, []string{"100@0 4@0 100@1"}, ""},
		{"and beyond it", []int64{1000, 1000}, []balance.Table{{First: []int{0, 1}}}, []string{"100@0 3@0 4@0 100@1"}, "1.0>1"},
		{"the chunk that fits best", []int64{1000, 1000}, []balance.Table{{First: []int{0, 1}}}, []string{"70@0 9@0 22@0 60@1"}, "2.0>1"},
		{"a larger node takes more", []int64{100, 300}, []balance.Table{{First: []int{0, 1}}}, []string{"10@0 10@0 10@0 10@0"}, "0.0>1 1.0>1 2.0>1"},
		{"the table of which it has most", []int64{100, 100}, []balance.Table{{First: []int{0, 1}}, {First: []int{0, 1}}},
			[]string{"10@0 10@1 10@0", "10@0 10@0 10@0"}, "3.0>1 0.0>1"},
		{"where its table allows", []int64{100, 100, 100}, []balance.Table{{First: []int{0, 1}}}, []string{"10@0 10@0 10@0 10@0"}, "0.0>1 1.0>1"},
		{"fixed chunks weigh", []int64{100, 100}, []balance.Table{{}, {First: []int{0, 1}}}, []string{"40@0", "20@0 20@1"}, "1.0>1"},
		{"what is fixed stays", []int64{100, 100}, []balance.Table{{First: []int{0, 1}}}, []string{"10@0! 10@0!"}, ""},
		{"not beside its replica", []int64{100, 100}, []balance.Table{{First: []int{0, 1}, Others: []int{0, 1}}}, []string{"10@0,1 10@0,1"}, ""},
		{"replicas move", []int64{100, 100, 100}, []balance.Table{free}, []string{"10@0,1 10@0,1 10@0,1"}, "0.1>2 1.0>2"},
		{"or only the other ones", []int64{100, 100, 100}, []balance.Table{{Others: []int{0, 1, 2}}}, []string{"10@0,1 10@0,1 10@0,1"}, "0.1>2"},
		{"nodes that are not there", []int64{100, 100}, []balance.Table{{First: []int{0, 1}}}, []string{"10@-1 10@0 10@0"}, "1.0>1"},
	} {
		var chunks []balance.Chunk
		for table, text := range c.chunks {
			chunks = append(chunks, chunksOf(t, table, text)...)
		}
		var got []string
		for _, m := range balance.Plan(c.capacities, c.tables, chunks) {
			got = append(got, fmt.Sprintf("%d.%d>%d", m.Chunk, m.Replica, m.To))
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.what)
	}
}

// BL1 to BL4 for any cluster; and if every chunk may go everywhere, nodes are as even as is promised.
func TestPlanOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		capacities := rapid.SliceOfN(rapid.Int64Range(1, 1<<40), nodes, nodes).Draw(t, "capacities")
		if rapid.Bool().Draw(t, "alike") {
			for i := range capacities {
				capacities[i] = capacities[0]
			}
		}
		everywhere := rapid.Bool().Draw(t, "everywhere")
		tables := make([]balance.Table, rapid.IntRange(1, 4).Draw(t, "tables"))
		some := rapid.SliceOfDistinct(rapid.IntRange(0, nodes-1), rapid.ID[int])
		for i := range tables {
			if tables[i] = (balance.Table{First: ints(nodes), Others: ints(nodes)}); !everywhere {
				tables[i] = balance.Table{First: some.Draw(t, "first"), Others: some.Draw(t, "others")}
			}
		}
		chunks := make([]balance.Chunk, rapid.IntRange(0, 60).Draw(t, "chunks"))
		for i := range chunks {
			at := rapid.Permutation(ints(nodes)).Draw(t, "nodes")
			at = at[:rapid.IntRange(1, min(nodes, 3)).Draw(t, "replicas")]
			chunks[i] = balance.Chunk{Table: rapid.IntRange(0, len(tables)-1).Draw(t, "table"), Nodes: at}
			chunks[i].Bytes = rapid.Int64Range(0, 1<<20).Draw(t, "bytes")
			if everywhere {
				chunks[i].Nodes = at[:1]
			} else if chunks[i].Stays = rapid.IntRange(0, 9).Draw(t, "stays") == 0; rapid.IntRange(0, 9).Draw(t, "gone") == 0 {
				at[0] = -1
			}
		}
		moves := balance.Plan(capacities, tables, chunks)
		require.Equal(t, moves, balance.Plan(capacities, tables, chunks), "BL4")
		after := slices.Clone(chunks)
		for i := range after {
			after[i].Nodes = slices.Clone(after[i].Nodes)
		}
		sum := squares(capacities, after)
		for _, m := range moves {
			c := &after[m.Chunk]
			allowed := tables[c.Table].Others
			if m.Replica == 0 {
				allowed = tables[c.Table].First
			}
			require.Contains(t, allowed, m.To, "BL1")
			require.NotContains(t, c.Nodes, m.To, "BL1")
			require.GreaterOrEqual(t, c.Nodes[m.Replica], 0)
			require.False(t, c.Stays)
			c.Nodes[m.Replica] = m.To
			less := squares(capacities, after)
			require.Negative(t, less.Cmp(sum), "BL2")
			sum = less
		}
		require.Less(t, len(moves), balance.Most)
		require.Empty(t, balance.Plan(capacities, tables, after), "BL3")
		if everywhere {
			requireEven(t, capacities, after)
		}
	})
}

func bytesOf(capacities []int64, chunks []balance.Chunk) []float64 {
	bytes := make([]float64, len(capacities))
	for _, c := range chunks {
		for _, at := range c.Nodes {
			if at >= 0 {
				bytes[at] += float64(c.Bytes)
			}
		}
	}
	return bytes
}

// squares is BL2's sum, exactly.
func squares(capacities []int64, chunks []balance.Chunk) *big.Rat {
	sum := new(big.Rat)
	for i, b := range bytesOf(capacities, chunks) {
		bytes := new(big.Int).SetInt64(int64(b))
		sum.Add(sum, new(big.Rat).SetFrac(bytes.Mul(bytes, bytes), big.NewInt(capacities[i])))
	}
	return sum
}

// requireEven: two nodes differ by the tolerance at most, or no chunk of the fuller one would leave half of that.
func requireEven(t require.TestingT, capacities []int64, chunks []balance.Chunk) {
	bytes := bytesOf(capacities, chunks)
	var total, capacity float64
	for i, b := range bytes {
		total += b
		capacity += float64(capacities[i])
	}
	for from, b := range bytes {
		for to := range bytes {
			gap := b/float64(capacities[from]) - bytes[to]/float64(capacities[to])
			if gap <= balance.Tolerance*total/capacity {
				continue
			}
			for _, c := range chunks {
				if c.Nodes[0] == from && c.Bytes > 0 {
					half := float64(c.Bytes) / 2 * (1/float64(capacities[from]) + 1/float64(capacities[to]))
					require.Greater(t, half, 0.75*gap*(1-1e-6), "chunk of %d bytes from %d to %d", c.Bytes, from, to)
				}
			}
		}
	}
}
