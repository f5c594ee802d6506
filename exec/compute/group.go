package compute

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/plan"
)

// maxGroupBytes bounds what the groups of one query hold (X5). DuckDB can spill, we cannot. Only tests change it.
var maxGroupBytes int64 = 256 << 20

// groupOverhead is what a group costs beside its key's bytes: its entry in the index and its accumulators, roughly.
const groupOverhead = 128

// groups numbers the distinct keys in the order in which they are met.
type groups struct {
	columns []*plan.Expr
	keys    []keyColumn
	index   map[string]int32
	bytes   int64
	ids     []int32
	key     []byte
}

// keyColumn holds one column of every group's key.
type keyColumn struct {
	cells
	nulls []bool
}

func newGroups(columns []*plan.Expr) *groups {
	g := &groups{columns: columns, index: map[string]int32{}}
	for _, c := range columns {
		g.keys = append(g.keys, keyColumn{cells: newCells(c.Type)})
	}
	return g
}

// count is the number of groups; without GROUP BY there is one, even of no rows.
func (g *groups) count() int {
	if len(g.columns) == 0 {
		return 1
	}
	return len(g.index)
}

// assign gives each row its group, nil for group 0 throughout. The result is valid until the next call.
func (g *groups) assign(n *narrowed) ([]int32, error) {
	if len(g.columns) == 0 {
		return nil, nil
	}
	vectors := make([]vector, len(g.columns))
	for i, c := range g.columns {
		var err error
		if vectors[i], err = n.eval(c); err != nil {
			return nil, err
		}
	}
	g.ids = extend(g.ids, n.rows)
	if len(vectors) == 1 && vectors[0].texts.dictionary != nil {
		return g.ids[:n.rows], g.assignByCode(&vectors[0], n.rows)
	}
	for i := 0; i < n.rows; i++ {
		id, err := g.find(vectors, i)
		if err != nil {
			return nil, err
		}
		g.ids[i] = id
	}
	return g.ids[:n.rows], nil
}

// assignByCode asks the index once per dictionary code of a morsel.
func (g *groups) assignByCode(v *vector, rows int) error {
	known := make([]int32, v.texts.values.Len()+1) // 1 + group, by 1 + code; code -1 is NULL
	one := []vector{*v}
	for i := 0; i < rows; i++ {
		code := 0
		if !v.null(i) {
			code = v.texts.dictionary.GetValueIndex(i) + 1
		}
		if known[code] == 0 {
			id, err := g.find(one, i)
			if err != nil {
				return err
			}
			known[code] = id + 1
		}
		g.ids[i] = known[code] - 1
	}
	return nil
}

// find gives the group of a row, making it if it is new.
func (g *groups) find(vectors []vector, i int) (int32, error) {
	g.key = g.key[:0]
	for k := range vectors {
		g.key = appendKey(g.key, &vectors[k], i)
	}
	if id, ok := g.index[string(g.key)]; ok {
		return id, nil
	}
	id := len(g.index)
	g.index[string(g.key)] = int32(id)
	g.bytes += groupOverhead + 2*int64(len(g.key))
	if g.bytes > maxGroupBytes || id == math.MaxInt32 {
		return 0, &Error{ErrTooManyGroups, "53200", "GROUP BY holds " + strconv.Itoa(id) + " groups, which is all the memory " +
			"it may have; SET csm.backend = 'duckdb' runs it where groups can spill"}
	}
	for k := range g.keys {
		g.keys[k].append(id, &vectors[k], i)
	}
	return int32(id), nil
}

func (c *keyColumn) append(id int, v *vector, i int) {
	c.cells.grow(id + 1)
	c.nulls = extend(c.nulls, id+1)
	if c.nulls[id] = v.null(i); !c.nulls[id] {
		c.cells.set(id, v, v.row(i))
	}
}

func (c *keyColumn) appendTo(b array.Builder, count int) error {
	for g := 0; g < count; g++ {
		if c.nulls[g] {
			b.AppendNull()
			continue
		}
		if err := appendValue(b, &c.cells.vector, g); err != nil {
			return err
		}
	}
	return nil
}

// appendKey writes a value so that equal values, and only they, have equal bytes: NULL equals NULL, -0 equals 0, every
// NaN is
// the same.
func appendKey(key []byte, v *vector, i int) []byte {
	if v.null(i) {
		return append(key, 0)
	}
	key = append(key, 1)
	k := v.row(i)
	switch domainOf(v.t) {
	case intDomain:
		return binary.LittleEndian.AppendUint64(key, uint64(v.ints[k]))
	case floatDomain:
		return binary.LittleEndian.AppendUint64(key, floatKey(v.floats[k]))
	case truthDomain:
		if v.truths[k] {
			return append(key, 1)
		}
		return append(key, 0)
	case textDomain:
		s := v.texts.at(k)
		key = binary.LittleEndian.AppendUint64(key, uint64(len(s)))
		return append(key, s...)
	}
	key = binary.LittleEndian.AppendUint64(key, v.wides[k].LowBits())
	return binary.LittleEndian.AppendUint64(key, uint64(v.wides[k].HighBits()))
}

func floatKey(f float64) uint64 {
	switch {
	case math.IsNaN(f):
		return math.Float64bits(math.NaN())
	case f == 0:
		return 0
	}
	return math.Float64bits(f)
}
