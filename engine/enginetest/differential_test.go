package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// rig is the engine and its twin, both empty between worlds.
type rig struct {
	engine   *engine.Engine
	auto     *lent // csm.backend = auto
	duckdb   *lent
	compute  *lent
	twin     *native
	compared int // answers
	queries  int
	refused  int // by both sides
	kernels  int // answered by the Arrow kernels
}

func newRig(t testing.TB, change ...func(*engine.Config)) *rig {
	e := openEngine(t, change...)
	r := &rig{engine: e, auto: openSession(t, e), duckdb: openSession(t, e), compute: openSession(t, e), twin: openNative(t, 2)}
	r.duckdb.must(t, "SET csm.backend = duckdb")
	r.compute.must(t, "SET csm.backend = compute")
	return r
}

// both runs a statement that changes something on both sides and returns how the outcomes differ.
func (r *rig) both(sql string) string {
	return r.auto.exec(sql).differs(r.twin.exec(sql), true)
}

// build makes a world; a statement that fails on both sides alike is left out.
func (r *rig) build(script []string) string {
	r.clear()
	for _, sql := range script {
		if d := r.both(sql); d != "" {
			return sql + "\n" + d
		}
	}
	return ""
}

func (r *rig) clear() {
	for _, name := range []string{"v1", "v0"} { // the later one may read the earlier one
		r.both("DROP VIEW IF EXISTS " + name)
	}
	r.both(`DROP TABLE IF EXISTS t, u, s, "Odd Name"`)
	for _, name := range []string{"t", "u", "s", `"Odd Name"`} {
		r.twin.exec("DROP TABLE IF EXISTS " + name) // DuckDB drops one at a time
	}
}

// compare asks all sides and says how the first one that differs does, or "".
func (r *rig) compare(sql string, args []any, ordered bool) string {
	want := r.twin.query(sql, args)
	r.queries++
	if want.state != "" {
		r.refused++
	}
	for _, side := range []struct {
		name string
		lent *lent
	}{{"auto", r.auto}, {"duckdb", r.duckdb}, {"compute", r.compute}} {
		if side.lent == r.duckdb && r.queries%4 > 0 { // auto is duckdb, but for the simplest queries
			continue
		}
		got := side.lent.query(sql, args)
		if side.lent == r.compute {
			if strings.HasPrefix(got.message, "the Arrow-kernel backend cannot run this") || strings.Contains(got.message, "is not surely a") {
				continue
			}
			r.kernels++
		}
		if got.tooLarge() || want.tooLarge() || want.ownFault() {
			continue
		}
		r.compared++
		if d := got.differs(want, ordered && side.lent != r.compute); d != "" {
			return fmt.Sprintf("csm.backend = %s | DuckDB's own tables: %s", side.name, d)
		}
	}
	return ""
}

// TestDifferential: P1, P2, P5, P7, D6, X1, E1, E5.
func TestDifferential(t *testing.T) {
	duration, seed := limits(t, 3*time.Second)
	r := newRig(t)
	start := time.Now()
	first := seed
	for ; time.Since(start) < duration && (duration > time.Minute || seed < first+400); seed++ {
		r.play(t, seed)
		if t.Failed() && os.Getenv("CSMSQL_KEEP_GOING") == "" {
			break
		}
	}
	t.Logf("seeds %d to %d: %d queries, %d of them refused by both, %d answers compared, %d by the Arrow kernels", first, seed-1, r.queries, r.refused, r.compared, r.kernels)
	require.Less(t, r.refused*3, r.queries, "the grammar makes too much that neither side can answer")
}

func limits(t *testing.T, otherwise time.Duration) (duration time.Duration, seed uint64) {
	duration, seed = otherwise, 1
	if testing.Short() {
		duration = min(duration, 5*time.Second)
	}
	if text := os.Getenv("CSMSQL_DIFFERENTIAL"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		duration, seed = d, uint64(time.Now().UnixNano())%1_000_000_000
	}
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	return duration, seed
}

const queriesPerWorld = 40

// play makes the world of one seed and asks it.
func (r *rig) play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	w := newWorld(random)
	if d := r.build(w.script()); d != "" {
		t.Errorf("seed %d: building: %s\n%s;", seed, d, strings.Join(w.script(), ";\n"))
		return
	}
	g := &grammar{Rand: random, world: w}
	r.addViews(g)
	var kept []*kept
	defer func() {
		for _, k := range kept {
			k.ours.Close()
		}
	}()
	for i := range queriesPerWorld {
		g.parameters = i%4 == 3
		q, ordered := g.statement()
		sql, args := q.sql()
		if d := r.compare(sql, args, ordered); d != "" {
			r.report(t, seed, w, q, ordered, d)
			return
		}
		if len(kept) < 6 && (len(args) > 0 || i%8 == 0) {
			if k := r.keep(sql, args, ordered); k != nil {
				kept = append(kept, k)
			}
		}
	}
	r.change(t, seed, g, kept)
}

// addViews makes up to two views of queries that work.
func (r *rig) addViews(g *grammar) {
	for i := range g.IntN(3) {
		q, _ := g.statement()
		sql, _ := q.sql()
		o := r.twin.query("SELECT * FROM ("+sql+") AS q LIMIT 0", nil)
		if o.state != "" {
			continue
		}
		v := &view{name: fmt.Sprintf("v%d", i), sql: sql}
		for i, c := range o.columns {
			if name, _, _ := strings.Cut(c, " "); i < len(g.columns) && strings.EqualFold(name, g.columns[i].name) {
				v.columns = append(v.columns, g.columns[i])
			}
		}
		if len(v.columns) == 0 {
			continue
		}
		if r.both("CREATE VIEW "+v.name+" AS "+sql) == "" {
			g.world.views = append(g.world.views, v)
		}
	}
}

// kept is a query that stays prepared on both sides.
type kept struct {
	sql     string
	args    []any
	ordered bool
	ours    *engine.Statement
}

func (r *rig) keep(sql string, args []any, ordered bool) *kept {
	ours, err := r.auto.session.Prepare(context.Background(), sql)
	if err != nil {
		return nil
	}
	return &kept{sql, args, ordered, ours}
}

func (r *rig) again(k *kept) string {
	want := r.twin.query(k.sql, k.args)
	if want.state != "" {
		return "" // it would end a block of ours and not DuckDB's
	}
	r.compared++
	return collected(k.ours.Query(context.Background(), k.args...)).differs(want, k.ordered)
}

// change alters the tables, inside of a transaction that is rolled back and outside of one, and asks the kept statements
// again, and new ones.
func (r *rig) change(t *testing.T, seed uint64, g *grammar, kept []*kept) {
	var done []string
	step := func(sql string) bool {
		done = append(done, sql)
		if d := r.both(sql); d != "" {
			t.Errorf("seed %d: after %s\n%s\n%s;", seed, strings.Join(done, "; "), d, strings.Join(g.world.script(), ";\n"))
			return false
		}
		return true
	}
	ask := func() bool {
		for _, k := range kept {
			if d := r.again(k); d != "" {
				t.Errorf("seed %d: prepared, then %s, then\n%s %v\n%s\n%s;", seed, strings.Join(done, "; "), k.sql, k.args, d, strings.Join(g.world.script(), ";\n"))
				return false
			}
		}
		for range 4 {
			q, ordered := g.statement()
			sql, args := q.sql()
			want := r.twin.query(sql, args)
			if want.state != "" {
				continue
			}
			r.compared++
			r.queries++
			got := r.auto.query(sql, args)
			if got.tooLarge() {
				return false // it may have ended the block
			}
			if d := got.differs(want, ordered); d != "" {
				t.Errorf("seed %d: after %s\n%s\n%s\n%s;", seed, strings.Join(done, "; "), sql, d, strings.Join(g.world.script(), ";\n"))
				return false
			}
		}
		return true
	}
	defer func() {
		if t.Failed() {
			r.auto.exec("ROLLBACK")
			r.twin.exec("ROLLBACK")
		}
	}()
	for _, block := range []bool{true, false} {
		if block && !step("BEGIN") {
			return
		}
		for range 1 + g.IntN(3) {
			sql := g.change()
			if r.twin.query("EXPLAIN "+sql, nil).state != "" {
				continue // an error would end our block and not DuckDB's
			}
			if !step(sql) {
				return
			}
			if block && r.auto.session.Status() == engine.Failed {
				step("ROLLBACK")
				return
			}
		}
		ok := ask()
		if block && (!step("ROLLBACK") || !ok || !ask()) {
			return
		}
	}
}

// change is a statement that changes the rows of a table.
func (g *grammar) change() string {
	t := pick(g.Rand, g.world.tables)
	s := &scope{own: []source{{t.name, t.columns}}, deep: 1}
	where := list(" WHERE ", " AND ", "", 0, g.conditions(s, 1+g.IntN(2))...)
	condition, _ := where.sql()
	switch n := g.IntN(10); {
	case n < 4:
		return t.statement(t.someRows(g.Rand, 1+g.IntN(5)))
	case n < 7:
		return "DELETE FROM " + t.name + condition
	}
	c := pick(g.Rand, t.columns)
	return "UPDATE " + t.name + " SET " + c.name + " = " + pick(g.Rand, c.kind.pool) + condition
}

// report shrinks a failing query and its world and shows what is left.
func (r *rig) report(t *testing.T, seed uint64, w *world, q *piece, ordered bool, found string) {
	deadline := time.Now().Add(40 * time.Second)
	attempts := 0
	fails := func() bool {
		if time.Now().After(deadline) {
			return false
		}
		attempts++
		r.queries += 4 - r.queries%4 - 1 // all sides
		sql, args := q.sql()
		d := r.compare(sql, args, ordered && strings.Contains(sql, "ORDER BY 1"))
		if trouble(d) != trouble(found) {
			return false
		}
		found = d
		return true
	}
	q.shrink(fails)
	rebuilt := func() bool { return r.build(w.script()) == "" && fails() }
	shrinkWorld(w, rebuilt)
	q.shrink(fails)
	shrinkWorld(w, rebuilt)
	r.build(w.script())
	fails()
	sql, args := q.sql()
	t.Errorf("seed %d, %d attempts to make it smaller:\n%s;\n%s; -- %v\n%s", seed, attempts, strings.Join(w.script(), ";\n"), sql, args, found)
}

var quotedStates = regexp.MustCompile(`"[0-9A-Z]{0,5}" `)

// trouble is what kind of difference it is, so that shrinking does not end at another one.
func trouble(d string) string {
	if strings.Contains(d, "tables: errors") {
		return strings.Join(quotedStates.FindAllString(d, 2), "|")
	}
	kind, _, _ := strings.Cut(d, ": ")
	return kind
}

// shrinkWorld takes views, chunks and rows out as long as the trouble is still there.
func shrinkWorld(w *world, fails func() bool) {
	for i := 0; i < len(w.views); {
		i += removed(&w.views, i, fails)
	}
	for i := 0; i < len(w.tables); {
		i += removed(&w.tables, i, fails)
	}
	for _, t := range w.tables {
		for i := 0; i < len(t.inserts); {
			i += removed(&t.inserts, i, fails)
		}
		for _, in := range t.inserts {
			for i := 0; i < len(in.rows); {
				i += removed(&in.rows, i, fails)
			}
		}
		for i := 0; i < len(t.columns); {
			i += t.removedColumn(i, fails)
		}
	}
}

func removed[T any](list *[]T, i int, fails func() bool) (next int) {
	was := *list
	*list = append(append([]T{}, was[:i]...), was[i+1:]...)
	if fails() {
		return 0
	}
	*list = was
	return 1
}

func (t *table) removedColumn(i int, fails func() bool) (next int) {
	was := *t
	c := *t
	c.columns = append(append([]*column{}, t.columns[:i]...), t.columns[i+1:]...)
	c.inserts = nil
	for _, in := range t.inserts {
		if in.from != "" {
			return 1
		}
		less := &insert{}
		for _, row := range in.rows {
			less.rows = append(less.rows, append(append([]string{}, row[:i]...), row[i+1:]...))
		}
		c.inserts = append(c.inserts, less)
	}
	*t = c
	if len(c.columns) > 0 && fails() {
		return 0
	}
	*t = was
	return 1
}
