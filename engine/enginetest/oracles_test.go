package enginetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// relationship is a query and others that must tell the same, whatever DuckDB does: SQLancer's ideas. For every row exactly one of p, NOT p
// and p IS NULL is true (ternary logic partitioning); and a count of the rows that WHERE leaves is a count of the rows for which the
// condition, as a value that no optimizer can use, is true (non-optimizing reference engine construction).
type relationship struct {
	kind string
	from *piece // what follows FROM, without WHERE
	p    *piece
	list *piece // of outputs, or keys
	more *piece // an aggregate's argument, or HAVING's aggregate
	how  string // the aggregate
	once bool   // the three parts are one statement
}

var relationships = []string{"where", "distinct", "group by", "aggregate", "having", "norec", "norec"}

// relationship makes one by chance.
func (w *writer) relationship() *relationship {
	w.ctes, w.aliases, w.budget, w.loose, w.risky, w.parameters = nil, 0, 40_000, false, false, false
	r := &relationship{kind: pick(w.Rand, relationships), once: w.maybe(40)}
	s := &space{}
	r.from = w.from(s)
	r.p = w.condition(s, 2)
	columns := list("", ", ", "", 1)
	for range 1 + w.IntN(3) {
		ref, _ := w.column(s, func(t *valueType) bool { return t.family != "span" || r.kind == "where" }) // equal intervals can look different
		columns.pieces = append(columns.pieces, text("%s", ref.text))
	}
	r.list = columns
	switch r.kind {
	case "aggregate":
		r.how = pick(w.Rand, []string{"min", "max", "sum", "count", "avg", "bool_or", "bit_xor"})
		switch r.how {
		case "sum", "avg", "bit_xor":
			r.more = w.value(s, "int", 1)
		case "bool_or":
			r.more = w.condition(s, 0)
		default:
			ref, _ := w.column(s, func(t *valueType) bool { return t.family != "span" })
			r.more = text("%s", ref.text)
		}
	case "having":
		r.more, _ = w.exactAggregate(&space{own: s.own, deep: 2})
		ref, _ := w.column(s, ofFamily("int"))
		r.p = pick(w.Rand, []*piece{
			text("count(*) > %d", w.IntN(4)), text("count(DISTINCT %s) >= %d", ref.text, w.IntN(3)), text("sum(%s) > %d", ref.text, w.IntN(9)), text("min(%s) < max(%s)", ref.text, ref.text),
			text("max(%s) = %d OR count(*) = 1", ref.text, w.IntN(4)), text("bool_and(%s > %d)", ref.text, w.IntN(5)),
		})
	}
	return r
}

// one is what can be made smaller.
func (r *relationship) one() *piece {
	return &piece{pieces: slices.DeleteFunc([]*piece{r.from, r.p, r.list, r.more}, func(p *piece) bool { return p == nil }), least: 4}
}

func (p *piece) String() string { s, _ := p.sql(); return s }

// statements are the query and those that must tell the same.
func (r *relationship) statements() (whole string, parts []string) {
	from, p, columns := r.from.String(), r.p.String(), r.list.String()
	three := func(head, word, tail string) {
		for _, condition := range []string{"(" + p + ")", "NOT (" + p + ")", "(" + p + ") IS NULL"} {
			parts = append(parts, head+" FROM "+from+" "+word+" "+condition+tail)
		}
	}
	switch r.kind {
	case "where":
		whole = "SELECT " + columns + " FROM " + from
		three("SELECT "+columns, "WHERE", "")
	case "distinct":
		whole = "SELECT DISTINCT " + columns + " FROM " + from
		three("SELECT DISTINCT "+columns, "WHERE", "")
	case "group by":
		whole = "SELECT " + columns + " FROM " + from + " GROUP BY " + columns
		three("SELECT "+columns, "WHERE", " GROUP BY "+columns)
	case "having":
		whole = "SELECT " + columns + ", " + r.more.String() + " FROM " + from + " GROUP BY " + columns
		for _, condition := range []string{"(" + p + ")", "NOT (" + p + ")", "(" + p + ") IS NULL"} {
			parts = append(parts, whole+" HAVING "+condition)
		}
	case "aggregate":
		inner, outer := r.how+"(%s) AS a", r.how+"(a)"
		switch r.how {
		case "count":
			outer = "coalesce(sum(a), 0)"
		case "avg":
			inner, outer = "sum(%[1]s) AS a, count(%[1]s) AS n", "round(sum(a)::DOUBLE / nullif(sum(n), 0)::DOUBLE, 6)"
		}
		value := fmt.Sprintf(r.how+"(%s)", r.more)
		if r.how == "avg" {
			value = fmt.Sprintf("round(sum(%[1]s)::DOUBLE / nullif(count(%[1]s), 0)::DOUBLE, 6)", r.more)
		}
		whole = "SELECT " + value + " FROM " + from
		three("SELECT "+fmt.Sprintf(inner, r.more), "WHERE", "")
		return whole, []string{"SELECT " + outer + " FROM (" + strings.Join(parts, " UNION ALL ") + ") AS q"}
	case "norec":
		whole = "SELECT count(*) FROM " + from + " WHERE " + p
		return whole, []string{"SELECT coalesce(sum(CAST(((" + p + ") IS TRUE) AS BIGINT)), 0) FROM " + from}
	}
	if r.once {
		parts = []string{strings.Join(parts, " UNION ALL ")}
	}
	return whole, parts
}

// harmless reports whether the outcome says nothing of the relationship: no side can answer, a data error depends on
// the order of evaluation, or a side ran out of memory.
func (o outcome) harmless(side asked) bool {
	return o.tooLarge() || o.state == failedInside || strings.HasPrefix(o.state, "22") || strings.HasPrefix(o.state, "42") || strings.HasPrefix(o.state, "0A") || side.partial && strings.Contains(o.message, "Arrow-kernel backend cannot run this")
}

// holds asks one session; "" if what it says fits together, or nothing can be said.
func (r *relationship) holds(side asked) (found string, decided bool) {
	whole, parts := r.statements()
	want := side.query(whole, nil)
	if want.harmless(side) {
		return "", false
	}
	got := outcome{columns: want.columns}
	for _, sql := range parts {
		o := side.query(sql, nil)
		if o.harmless(side) {
			return "", false
		}
		if o.state != "" && want.state != "" {
			return "", false // of the same data
		}
		if o.state != "" || want.state != "" {
			return fmt.Sprintf("errors: %q %s | %q %s", o.state, o.message, want.state, want.message), true
		}
		got.rows = append(got.rows, o.rows...)
	}
	if r.kind == "distinct" || r.kind == "group by" {
		slices.Sort(got.rows)
		got.rows = slices.Compact(got.rows)
	}
	if len(got.rows) > rowsMax {
		return "", false
	}
	return got.differs(want, false), true
}

// TestOracles: a query's answer fits to that of its three partitions by a condition, and what WHERE leaves to what the condition is.
func TestOracles(t *testing.T) {
	for _, kind := range []struct {
		name string
		open func(*testing.T) *surface
	}{{"OneNode", func(t *testing.T) *surface { return openOneNode(t) }}, {"ThreeNodes", openThreeNodes}} {
		t.Run(kind.name, func(t *testing.T) {
			if testing.Short() && kind.name != "OneNode" {
				t.Skip("takes some seconds")
			}
			f := kind.open(t)
			f.reopen = kind.open
			f.relate(3 * time.Second)
		})
	}
}

type oracleCounts struct {
	asked, decided, partial int
	own                     int // that DuckDB does not hold with tables of its own
	byKind                  map[string]int
}

// relate makes databases and asks what must fit together.
func (f *surface) relate(otherwise time.Duration) {
	duration, seed := limits(f.t, otherwise)
	start, last, first := time.Now(), time.Now(), seed
	f.t.Logf("%s: seeds from %d", f.name, seed)
	count := oracleCounts{byKind: map[string]int{}}
	for ; time.Since(start) < duration && (!f.t.Failed() || os.Getenv("CSMSQL_KEEP_GOING") != ""); seed++ {
		f.relateOne(seed, &count)
		if o := f.asked[0].query("SELECT 1", nil); o.state == failedInside {
			f.dead = o.message
		}
		f.revive(seed)
		if time.Since(last) > time.Minute {
			last = time.Now()
			f.t.Logf("%s: seeds %d to %d: %+v", f.name, first, seed, count)
		}
	}
	f.t.Logf("%s: seeds %d to %d: %d relationships, %d of them held, %d by the Arrow kernels, %d not by DuckDB itself: %v",
		f.name, first, seed-1, count.asked, count.decided, count.partial, count.own, count.byKind)
	require.Less(f.t, count.own*1000, count.asked+5000, "DuckDB's faults are few: this looks like the test's")
	require.Greater(f.t, count.decided*2+20, count.asked, "too little can be said")
}

func (f *surface) relateOne(seed uint64, count *oracleCounts) {
	r := rand.New(rand.NewPCG(seed, 31))
	w := &writer{Rand: r, db: newDatabase(r, false)}
	all := &database{tables: slices.Clone(w.db.tables)}
	defer f.clear(all)
	if found := f.build(w.db, r); found != "" {
		f.t.Errorf("seed %d: building: %s\n%s;", seed, found, strings.Join(w.db.script(), ";\n"))
		return
	}
	f.addViews(w)
	all.views = slices.Clone(w.db.views)
	for range 2 * queriesPerWorld {
		rel := w.relationship()
		if w.risky || w.loose {
			continue
		}
		for _, side := range f.asked {
			if side.partial && r.IntN(2) == 0 {
				continue
			}
			found, decided := rel.holds(side)
			if side.partial {
				if decided {
					count.partial++
				}
			} else {
				count.asked++
			}
			if decided && !side.partial {
				count.decided++
				count.byKind[rel.kind]++
			}
			if found != "" && f.alike(rel, side) {
				count.own++
				f.t.Logf("%s, seed %d: DuckDB's own: %s", f.name, seed, found)
				continue
			}
			if found != "" {
				f.reportRelationship(seed, w.db, rel, side, found)
				return
			}
		}
	}
}

// alike reports whether DuckDB answers each of the statements alike with tables of its own: then it is DuckDB that
// contradicts itself.
func (f *surface) alike(rel *relationship, side asked) bool {
	whole, parts := rel.statements()
	for _, sql := range append([]string{whole}, parts...) {
		got, twin := side.query(sql, nil), f.twin.query(sql, nil)
		got.columns = twin.columns // PostgreSQL's names of expressions are others
		if got.state != twin.state || got.state == "" && got.differs(twin, false) != "" {
			return false
		}
	}
	return true
}

func (f *surface) reportRelationship(seed uint64, d *database, rel *relationship, side asked, found string) {
	fails := func() bool {
		now, _ := rel.holds(side)
		if now == "" || trouble(now) != trouble(found) {
			return false
		}
		found = now
		return true
	}
	f.shrink(d, rel.one(), seed, fails)
	whole, parts := rel.statements()
	f.t.Errorf("%s, seed %d (CSMSQL_SEED=%[2]d), %s, by %s:\n%s;\n%s;\n-- against\n%s;\n%s", f.name, seed, rel.kind, side.name, strings.Join(d.script(), ";\n"), whole, strings.Join(parts, ";\n"), found)
}

// DuckDB's own contradictions are distinguished from ours, also where columns have no names: it takes the row whose
// list is less than no list for one that WHERE keeps neither with the condition nor without it.
func TestContradictionsOfDuckDB(t *testing.T) {
	f := openOneNode(t)
	for _, sql := range []string{
		"CREATE TABLE t (id INTEGER, b INTEGER[], k INTEGER)",
		"INSERT INTO t VALUES (1, [1, NULL], 1), (2, NULL, 1), (3, [1], 2), (4, [], 2)",
	} {
		require.Empty(t, f.both(f.writers[0], sql))
	}
	rel := &relationship{
		kind: "where", from: text("t AS x"), list: text("x.b[1]"),
		p: text("x.b < ANY (SELECT y.b FROM t AS y WHERE y.k = x.k)"),
	}
	found, decided := rel.holds(f.asked[0])
	require.True(t, decided)
	require.NotEmpty(t, found, "DuckDB does not contradict itself here any more: look for something else that it does")
	require.True(t, f.alike(rel, f.asked[0]), found)

	require.Empty(t, f.twin.exec("INSERT INTO t VALUES (5, [7], 3)"))
	require.False(t, f.alike(rel, f.asked[0]), "its tables have another row")
}
