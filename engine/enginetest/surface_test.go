package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// asked is a session under test, with how it is set.
type asked struct {
	name string
	*lent
	partial bool // it may say that it cannot run a query
	seldom  bool // it does nothing of its own with most queries, and is asked one of four
}

// surface is a node or a cluster, its twin, and what was seen so far.
type surface struct {
	t       *testing.T
	name    string
	engine  *engine.Engine // one of them
	twin    *native
	writers []*lent // sessions of which any may change tables
	asked   []asked
	seen    surfaceCounts
	dead    string // what a fatal error of DuckDB's made of one of the sides; it answers nothing any more
	reopen  func(*testing.T) *surface
	nodes   *nodes // of a cluster
	plans   plans
}

type surfaceCounts struct {
	worlds, queries, refused, undecided, unsure, faults, gone, compared, partial, changes, again int
}

func (c surfaceCounts) String() string {
	return fmt.Sprintf("%d worlds, %d queries, %d of them refused by both, %d with a data error that depends on the order of evaluation, %d that DuckDB itself answers differently each time, %d faults of its own, %d statements that it did not come back from; %d answers compared, %d of them by the Arrow kernels; %d changes, %d prepared statements run again",
		c.worlds, c.queries, c.refused, c.undecided, c.unsure, c.faults, c.gone, c.compared, c.partial, c.changes, c.again)
}

// with opens a session and sets it.
func (f *surface) with(e *engine.Engine, name string, settings ...string) {
	s := openSession(f.t, e)
	for _, set := range settings {
		s.must(f.t, "SET "+set)
	}
	f.asked = append(f.asked, asked{name: name, lent: s, partial: slices.Contains(settings, "csm.backend = compute")})
}

// openOneNode is a node alone, asked through both backends.
func openOneNode(t *testing.T, change ...func(*engine.Config)) *surface {
	e := openEngine(t, change...)
	f := &surface{t: t, name: "one node", engine: e, twin: openNative(t, 2), writers: []*lent{openSession(t, e)}}
	f.with(e, "csm.backend = auto")
	f.with(e, "csm.backend = compute", "csm.backend = compute")
	return f
}

// openThreeNodes is a cluster whose plans are split whatever it costs.
func openThreeNodes(t *testing.T) *surface {
	n := openNodes(t)
	n.resize(3)
	f := &surface{t: t, name: "three nodes", engine: n.list[0].engine, twin: openNative(t, 2), nodes: n}
	for i, node := range n.list {
		f.writers = append(f.writers, openSession(t, node.engine))
		switch i {
		case 0:
			f.with(node.engine, "csm.distribute = always at "+node.name, "csm.distribute = always")
		case 1:
			f.with(node.engine, "csm.distribute = always, csm.shuffle = always at "+node.name, "csm.distribute = always", "csm.shuffle = always")
		case 2:
			f.with(node.engine, "csm.distribute = auto at "+node.name)
			f.asked[i].seldom = true
		}
	}
	return f
}

// withoutOne asks the same through sessions each of which leaves one optimization out, and one that leaves out all.
func (f *surface) withoutOne(e *engine.Engine, more ...string) {
	for _, name := range disabled() {
		f.with(e, strings.Join(append([]string{"csm.disable = " + name}, more...), ", "), append([]string{"csm.disable = '" + name + "'"}, more...)...)
	}
}

// TestSurface: whatever the schema, the rows and the query, the answer is what DuckDB gives with tables of its own (D6, E1, E4, E5, P1 to P7).
func TestSurface(t *testing.T) {
	for _, kind := range []struct {
		name    string
		seconds time.Duration
		open    func(*testing.T) *surface
	}{
		{"OneNode", 5, func(t *testing.T) *surface { return openOneNode(t) }},
		{"EmulatedFabric", 3, func(t *testing.T) *surface { return openOneNode(t, func(c *engine.Config) { c.Fabric = "emulated:7" }) }},
		{"ThreeNodes", 5, openThreeNodes},
		{"Disabled", 4, func(t *testing.T) *surface {
			f := openOneNode(t)
			f.withoutOne(f.engine)
			return f
		}},
		{"DisabledOnThreeNodes", 3, func(t *testing.T) *surface {
			f := openThreeNodes(t)
			f.withoutOne(f.engine, "csm.distribute = always", "csm.shuffle = always")
			return f
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if testing.Short() && kind.name != "OneNode" {
				t.Skip("takes some seconds")
			}
			f := kind.open(t)
			f.reopen = kind.open
			f.run(kind.seconds * time.Second)
		})
	}
}

// run plays one world after the other. Where time is short they are the same in every run: DuckDB's own faults, which a new
// seed finds now and then, must not stop a change. CSMSQL_DIFFERENTIAL and the nightly run take new seeds.
func (f *surface) run(otherwise time.Duration) {
	duration, seed := limits(f.t, otherwise)
	start, begun := time.Now(), seed
	last := start
	f.t.Logf("%s: seeds from %d", f.name, seed)
	for ; time.Since(start) < duration && (!f.t.Failed() || os.Getenv("CSMSQL_KEEP_GOING") != ""); seed++ {
		before := f.seen
		f.play(seed)
		if asked := f.seen.queries - before.queries; f.seen.refused-before.refused > asked*9/10 && asked > 20 {
			f.t.Errorf("%s, seed %d: nearly everything is refused by both: %d of %d queries", f.name, seed, f.seen.refused-before.refused, asked)
		}
		f.revive(seed)
		if time.Since(last) > time.Minute {
			last = time.Now()
			f.t.Logf("%s: seeds %d to %d: %v", f.name, begun, seed, f.seen)
		}
	}
	f.t.Logf("%s: seeds %d to %d: %v", f.name, begun, seed-1, f.seen)
	if f.nodes != nil {
		f.t.Logf("%v; the nodes' log: %v", f.plans, &f.nodes.log)
		require.GreaterOrEqual(f.t, f.plans.split*5, f.plans.asked, "too few answers come from several nodes for this test to mean anything")
	}
	require.Less(f.t, f.seen.refused*3, f.seen.queries+10, "the grammar makes too much that neither side can answer")
}

// goneMost bounds how many twins are left to themselves: each of them keeps a processor.
const goneMost = 3

// revive opens everything again after a fatal error of DuckDB's, and a twin after one that did not come back.
func (f *surface) revive(seed uint64) {
	if f.twin.gone != "" {
		f.seen.gone++
		f.t.Logf("%s, seed %d: DuckDB did not come back, nor when it was interrupted; there is a new one: %s", f.name, seed, f.twin.gone)
		require.LessOrEqual(f.t, f.seen.gone, goneMost, "too many statements that DuckDB does not come back from")
		f.twin = openNative(f.t, 2)
	}
	if f.dead == "" {
		return
	}
	f.t.Logf("%s, seed %d: DuckDB does not go on, everything is opened again: %s", f.name, seed, f.dead)
	seen, reopen, plans := f.seen, f.reopen, f.plans
	*f = *reopen(f.t)
	f.seen, f.reopen, f.plans = seen, reopen, plans
	f.seen.faults++
}

// both changes one side and the twin, which knows of no nodes.
func (f *surface) both(at *lent, sql string) string {
	return f.judge(at.exec(sql), f.twin.exec(placements.ReplaceAllString(sql, "")), &question{})
}

func (f *surface) clear(d *database) {
	for _, v := range slices.Backward(d.views) {
		f.writers[0].exec("DROP VIEW IF EXISTS " + v.name)
		f.twin.exec("DROP VIEW IF EXISTS " + v.name)
	}
	for _, t := range d.tables {
		f.writers[0].exec("DROP TABLE IF EXISTS " + t.name)
		f.twin.exec("DROP TABLE IF EXISTS " + t.name)
	}
}

// build makes the tables and views of d, of which none may be there.
func (f *surface) build(d *database, r *rand.Rand) string {
	for _, sql := range d.script() {
		if found := f.both(pick(r, f.writers), sql); found != "" {
			return sql + "\n" + found
		}
	}
	return ""
}

// failedInside is what DuckDB's functions and sessions answer since it had a fatal error.
const failedInside = "57P02"

// judge says how an answer differs from the twin's.
func (f *surface) judge(got, want outcome, q *question) string {
	if got.tooLarge() || want.tooLarge() || got.state == goneState || want.state == goneState || strings.HasPrefix(want.message, "Unsupported Arrow type UNKNOWN") { // the twin binds too late to know a result's type
		return ""
	}
	if got.state == failedInside || want.state == failedInside {
		f.dead = got.message + want.message
		if want.state != "" { // its own fault, or long ago
			return ""
		}
	}
	if got.state != "" && want.state != "" {
		return "" // whichever of several errors comes first
	}
	if got.message == "TRY can not be used in combination with a volatile function" && q.piece != nil && strings.Contains(q.String(), "format(") {
		return "" // docs/sql.md: format may fail for what PostgreSQL's templates say
	}
	if strings.HasPrefix(got.message+want.message, "TRY of a column") { // DuckDB answers it by luck of its optimizer
		return ""
	}
	if want.state == "XX000" { // "Failed to bind column reference", and worse
		f.seen.faults++
		return ""
	}
	if state := got.state + want.state; strings.HasPrefix(state, "22") && (want.state != "" || q.risky || q.piece == nil || q.catches(got)) {
		f.seen.undecided++
		return ""
	}
	if !q.loose {
		return got.differs(want, q.ordered)
	}
	d := got.rounded(1).differs(want.rounded(1), q.ordered)
	if d != "" && got.rounded(aside).differs(want.rounded(aside), q.ordered) == "" {
		return "" // a value stands between two of seven digits, and its last bit decides
	}
	return d
}

// aside moves values by less than a unit of the seventh digit.
const aside = 1 + 3e-8

// catches reports whether the query catches errors of values and has not caught this one: TRY does not catch all of
// them, nor does TRY_CAST that of a timestamp beyond the years of TIMESTAMP_NS, so that it depends on the order of
// evaluation what comes of some.
func (q *question) catches(got outcome) bool {
	text := q.String()
	return strings.Contains(text, "TRY(") || strings.Contains(text, "TRY_CAST(") && got.message == "Could not convert Timestamp(US) to Timestamp(NS)"
}

var floatText = regexp.MustCompile(`-?\d+(\.\d+)?(e[+-]?\d+)?`)

// rounded is the outcome with seven digits of each float, times the factor.
func (o outcome) rounded(factor float64) outcome {
	o.rows = slices.Clone(o.rows)
	for i := range o.rows {
		o.rows[i] = floatText.ReplaceAllStringFunc(o.rows[i], func(s string) string {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || !strings.ContainsAny(s, ".e") {
				return s
			}
			return strconv.FormatFloat(v*factor, 'g', 7, 64)
		})
	}
	return o
}

// Floats that differ in their last bits are equal where the order of a sum is not defined, also those that lie between
// two of seven digits.
func TestLooseAnswers(t *testing.T) {
	f := &surface{}
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"0.43171875", "0.4317187499999999", true}, {"a | 0.43171875 | 1", "a | 0.4317187499999999 | 1", true}, {"1.5e300", "1.5000000000000002e300", true},
		{"0.4317187", "0.4317186", false}, {"1", "2", false}, {"1.5 | 0.43171875", "1.6 | 0.4317187499999999", false}, {"999999.95", "999999.75", false},
	} {
		d := f.judge(outcome{rows: []string{c.got}}, outcome{rows: []string{c.want}}, &question{loose: true})
		require.Equal(t, c.same, d == "", "%s, %s: %s", c.got, c.want, d)
		require.NotEmpty(t, f.judge(outcome{rows: []string{c.got}}, outcome{rows: []string{c.want}}, &question{}), "where it matters")
	}
}

// compare asks all sessions; "" if all answer as the twin does.
func (f *surface) compare(q *question) string {
	sql, args := q.sql()
	want := f.twin.query(sql, args)
	f.seen.queries++
	if want.state == goneState {
		return ""
	}
	if want.state != "" {
		f.seen.refused++
	}
	for _, side := range f.asked {
		if side.seldom && f.seen.queries%4 > 0 {
			continue
		}
		got := side.query(sql, args)
		if side.partial {
			if strings.HasPrefix(got.message, "the Arrow-kernel backend cannot run this") || strings.Contains(got.message, "is not surely a") {
				continue
			}
			f.seen.partial++
		}
		f.seen.compared++
		judged := *q
		judged.ordered = q.ordered && !side.partial
		if d := f.verdict(got, want, &judged, sql, args); d != "" {
			return side.name + " | DuckDB's own tables: " + d
		}
	}
	return ""
}

// verdict is judge's, unless DuckDB's answer cannot be relied on: it asks it again, and without its optimizer.
func (f *surface) verdict(got, want outcome, q *question, sql string, args []any) string {
	d := f.judge(got, want, q)
	switch {
	case d == "":
	case f.judge(f.twin.query(sql, args), want, q) != "": // DuckDB does not agree with itself
		f.seen.unsure++
		return ""
	case f.judge(got, f.twin.withoutOptimizer(func() outcome { return f.twin.query(sql, args) }), q) == "": // nor without it
		f.seen.faults++
		return ""
	case got.state != "" && f.errsByPlan(got, sql, args):
		f.seen.undecided++
		return ""
	}
	return d
}

// errsByPlan reports whether it is a matter of DuckDB's plan that a statement fails: whether a sum of 128 bits passes
// its bounds on the way is one of the order of its rows; and a constant that has no value (json_type('a'::JSON)) is
// worked out while it plans, unless what it knows of its own tables' values proves that there is no row.
func (f *surface) errsByPlan(got outcome, sql string, args []any) bool {
	if strings.HasPrefix(got.message, "Overflow in HUGEINT addition") {
		return true
	}
	planned, twin := f.asked[0].query("EXPLAIN "+sql, args), f.twin.query("EXPLAIN "+sql, args)
	return planned.state == got.state && planned.message == got.message && strings.Contains(strings.Join(twin.rows, ""), "EMPTY_RESULT")
}

// play makes the database of one seed and asks it.
func (f *surface) play(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 23))
	w := &writer{Rand: r, db: newDatabase(r, f.nodes != nil)}
	f.seen.worlds++
	all := &database{tables: slices.Clone(w.db.tables)} // shrinking takes some out
	defer f.clear(all)
	if found := f.build(w.db, r); found != "" {
		f.t.Errorf("seed %d: building: %s\n%s;", seed, found, strings.Join(w.db.script(), ";\n"))
		return
	}
	f.addViews(w)
	all.views = slices.Clone(w.db.views)
	begun := time.Now()
	var kept []*keptQuestion
	defer func() {
		for _, k := range kept {
			k.ours.Close()
		}
	}()
	for i := range 2 * queriesPerWorld {
		w.parameters = i%4 == 3
		q := w.question()
		if found := f.compare(q); found != "" {
			f.report(seed, w.db, q, found)
			return
		}
		if f.twin.gone != "" {
			return
		}
		if f.nodes != nil && i%8 == 5 {
			sql, args := q.sql()
			f.plans.explain(f.asked[i/8%2], sql, args)
		}
		if i%10 == 3 {
			if k := f.keep(q, r); k != nil {
				kept = append(kept, k)
			}
		}
	}
	if f.nodes != nil {
		f.plans.count(f, begun)
	}
	f.change(seed, w, kept)
}

// addViews makes up to two views of queries that work; the later one may read the earlier one.
func (f *surface) addViews(w *writer) {
	for i := range w.IntN(3) {
		q := w.question()
		sql, _ := q.sql()
		o := f.twin.query("SELECT * FROM ("+sql+") AS q", nil)
		if o.state != "" || q.risky || q.loose || len(o.rows) > 3000 {
			continue
		}
		v := &relation{name: fmt.Sprintf("v%d", i), sql: sql, rows: len(o.rows)}
		names := map[string]bool{}
		for at, out := range q.outputs {
			if at >= len(o.columns) || strings.Contains(out.name, ".") || names[out.name] || !strings.HasPrefix(o.columns[at], out.name+" ") {
				break
			}
			names[out.name] = true
			v.fields = append(v.fields, field(out))
		}
		if len(v.fields) == 0 || len(v.fields) != len(o.columns) {
			continue
		}
		if f.both(pick(w.Rand, f.writers), "CREATE VIEW "+v.name+" AS "+sql) == "" {
			w.db.views = append(w.db.views, v)
		}
	}
}

// keptQuestion is a query that stays prepared.
type keptQuestion struct {
	*question
	text string
	args []any
	ours *engine.Statement
	side asked
}

func (f *surface) keep(q *question, r *rand.Rand) *keptQuestion {
	side := f.asked[0]
	if len(f.asked) > 2 {
		side = pick(r, f.asked)
	}
	sql, args := q.sql()
	ours, err := side.session.Prepare(context.Background(), sql)
	if err != nil || side.partial {
		return nil
	}
	return &keptQuestion{q, sql, args, ours, side}
}

var typedParameter = regexp.MustCompile(`CAST\(\$(\d+) AS ([^$]*?)\)(?: |,|\)|$)`)

// otherArguments are other values of the parameters' types.
func (k *keptQuestion) otherArguments(r *rand.Rand) []any {
	out := slices.Clone(k.args)
	for _, m := range typedParameter.FindAllStringSubmatch(k.text, -1) {
		n, _ := strconv.Atoi(m[1])
		if t := typesOf[m[2]]; t != nil && len(t.args) > 0 {
			out[n-1] = pick(r, t.args)
		}
		if chance(r, 15) {
			out[n-1] = nil
		}
	}
	return out
}

// report makes a failing query and its database smaller and shows what is left.
func (f *surface) report(seed uint64, d *database, q *question, found string) {
	if f.dead == "" && os.Getenv("CSMSQL_MUTANT") == "" { // of a mutant it is enough to know that it is found
		f.makeSmaller(seed, d, q, &found)
	}
	sql, args := q.sql()
	f.t.Errorf("%s, seed %d (CSMSQL_SEED=%[2]d):\n%s;\n%s; -- %v\n%s", f.name, seed, strings.Join(d.script(), ";\n"), sql, args, found)
}

func (f *surface) makeSmaller(seed uint64, d *database, q *question, found *string) {
	f.shrink(d, q.piece, seed, func() bool {
		sql, _ := q.sql()
		was := q.ordered
		q.ordered = was && regexp.MustCompile(`ORDER BY (1|ALL)`).MatchString(sql)
		now := f.compare(q)
		q.ordered = was
		if now == "" || trouble(now) != trouble(*found) {
			return false
		}
		*found = now
		return true
	})
}

// shrink takes parts out of a query, and views, rows and tables, as long as fails says that the trouble is still there.
func (f *surface) shrink(d *database, p *piece, seed uint64, fails func() bool) {
	deadline := time.Now().Add(40 * time.Second)
	r := rand.New(rand.NewPCG(seed, 29))
	all := &database{tables: slices.Clone(d.tables), views: slices.Clone(d.views)}
	inTime := func() bool { return time.Now().Before(deadline) && fails() }
	rebuilt := func() bool { f.clear(all); return f.build(d, r) == "" && inTime() }
	p.shrink(inTime)
	for i := 0; i < len(d.views); {
		i += removed(&d.views, i, rebuilt)
	}
	for _, t := range d.tables {
		for i := 1; i < len(t.lines); {
			i += removed(&t.lines, i, rebuilt)
		}
	}
	for i := 0; i < len(d.tables); {
		i += removed(&d.tables, i, rebuilt)
	}
	p.shrink(inTime)
}
