package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// crossTypes are the types of columns whose values meet.
var crossTypes = []string{
	"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "BOOLEAN", "FLOAT", "DOUBLE",
	"DECIMAL(4,1)", "DECIMAL(9,2)", "DECIMAL(18,0)", "DECIMAL(18,3)", "DECIMAL(25,2)", "DECIMAL(38,0)", "DECIMAL(38,10)", "VARCHAR", "JSON",
	"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ", "TIME", "TIMETZ", "INTERVAL", "UUID", "BLOB", "BIT",
}

// crossValues are what columns hold of those that their types can: where the next type rounds, overflows, or calls two values one.
var crossValues = []string{
	"0", "-0.0", "1", "1.5", "1.50", "2", "-1", "0.1", "0.10", "127", "128", "255", "100.25", "16777216", "16777217", "16777218",
	"4294967295", "9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775807", "9223372036854775808", "18446744073709551615",
	"nan", "inf", "-inf", "true", "false", "", "a", "A", "\"a\"", "0001", "\\x01",
	"2020-01-03", "2020-01-03 00:00:00", "2020-01-03 00:00:00.000001", "2020-01-03 00:00:00.001", "2020-01-03 00:00:00.000000001",
	"2020-01-03 12:30:00", "2020-01-03 12:30:00+01", "1969-12-31 23:59:59.999999", "infinity", "-infinity", "12:30:00", "00:00:00", "12:30:00+01", "11:30:00+00",
	"1 month", "30 days", "1 day", "24 hours", "7f47ac10-58cc-4372-a567-0e02b2c3d479",
}

// crossed is a table of each type, here and in DuckDB's own hands.
type crossed struct {
	twin   *native
	tables map[string]string // by type
}

// crossing makes the tables, each of a few chunks whose values lie together; a type that csmsql refuses, or keeps as another, has none. with is appended to CREATE
// TABLE.
func crossing(t testing.TB, random *rand.Rand, twin *native, side *lent, with func() string) *crossed {
	c := &crossed{twin: twin, tables: map[string]string{}}
	values := make([]string, len(crossValues))
	for i, v := range crossValues {
		values[i] = "('" + v + "')"
	}
	require.Empty(t, twin.exec("CREATE OR REPLACE TABLE pool AS SELECT * FROM (VALUES "+strings.Join(values, ", ")+") AS p(v)").message)
	for i, name := range crossTypes {
		table := fmt.Sprintf("x%d", i)
		create := fmt.Sprintf("CREATE TABLE %s (k %s, n INTEGER)", table, name)
		if o := side.exec(create + with()); o.state != "" {
			require.Equal(t, "0A000", o.state, "%s: %s", create, o.message)
			continue
		}
		require.Empty(t, twin.exec(create).message)
		found := twin.query(fmt.Sprintf("SELECT DISTINCT CAST(TRY_CAST(v AS %s) AS VARCHAR) AS s, TRY_CAST(v AS %[1]s) AS k FROM pool WHERE k IS NOT NULL ORDER BY k, s", name), nil)
		require.Empty(t, found.message, name)
		n, numbers := 0, random.Perm(len(found.rows))
		for part := range slices.Chunk(found.rows, max(len(found.rows)/3, 1)) {
			rows := make([]string, len(part))
			for k, row := range part {
				text, _, _ := strings.Cut(row, " | ")
				rows[k] = fmt.Sprintf("(CAST('%s' AS %s), %d)", text, name, numbers[n])
				n++
			}
			rows = append(rows, "(NULL, 1)")
			insert := "INSERT INTO " + table + " VALUES " + strings.Join(rows, ", ")
			require.Empty(t, twin.exec(insert).message, insert)
			require.Empty(t, side.exec(insert).message, insert)
		}
		typeOf := fmt.Sprintf("SELECT typeof(k) AS t FROM %s LIMIT 1", table)
		if slices.Equal(side.ask(t, typeOf), twin.query(typeOf, nil).rows) { // else it is kept as another type
			c.tables[name] = table
		}
	}
	return c
}

// crossPairs are questions about two tables, %[1]s and %[2]s; {some} stands for numbers of rows.
var crossPairs = []string{
	"SELECT a.n, b.n AS m FROM %[1]s a, %[2]s b WHERE a.k = b.k AND b.n IN ({some})",
	"SELECT a.n, b.n AS m FROM %[1]s a LEFT JOIN %[2]s b ON a.k = b.k AND b.n IN ({some})",
	"SELECT a.n, b.n AS m FROM %[1]s a JOIN %[2]s b ON a.k < b.k WHERE b.n IN ({some})",
	"SELECT n FROM %[1]s WHERE k IN (SELECT k FROM %[2]s WHERE n IN ({some}))",
	"SELECT n FROM %[1]s WHERE k NOT IN (SELECT k FROM %[2]s WHERE n IN ({some}) AND k IS NOT NULL)",
	"SELECT n FROM %[1]s a WHERE EXISTS (SELECT 1 FROM %[2]s b WHERE b.k = a.k AND b.n IN ({some}))",
	"SELECT n, k >= (SELECT min(k) FROM %[2]s WHERE n > 2) AS c FROM %[1]s",
	"SELECT count(*) AS n, count(DISTINCT k) AS d FROM (SELECT k FROM %[1]s UNION SELECT k FROM %[2]s) AS q",
	"SELECT count(*) AS n FROM (SELECT k FROM %[1]s INTERSECT SELECT k FROM %[2]s) AS q",
	"SELECT count(*) AS n FROM (SELECT k FROM %[1]s EXCEPT SELECT k FROM %[2]s) AS q",
	"SELECT count(*) AS n, sum(m) AS s FROM (SELECT k, count(*) AS m FROM (SELECT k FROM %[1]s UNION ALL SELECT k FROM %[2]s) AS q GROUP BY k) AS r",
	"SELECT sum(c) AS s, count(*) AS n FROM (SELECT count(*) AS c FROM %[1]s a JOIN %[2]s b USING (k) GROUP BY k) AS q",
}

// crossTriples are questions about two tables of one type, or of two that are alike, and one of another between them.
var crossTriples = []string{
	"SELECT a.n, c.n AS m FROM %[1]s a, %[2]s b, %[3]s c WHERE a.k = b.k AND b.k = c.k AND c.n IN ({some})",
	"SELECT a.n FROM %[1]s a, %[2]s b WHERE a.k = b.k AND b.k IN (SELECT k FROM %[3]s WHERE n IN ({some}))",
	"SELECT a.n, b.n AS m, c.n AS o FROM %[1]s a LEFT JOIN %[2]s b ON a.k = b.k LEFT JOIN %[3]s c ON b.k = c.k AND c.n IN ({some})",
	"SELECT b.n, c.n AS m FROM %[3]s c JOIN %[2]s b ON b.k = c.k LEFT JOIN %[1]s a ON a.k = b.k WHERE c.n IN ({some})",
	"SELECT count(*) AS n FROM %[1]s a, %[2]s b, %[3]s c WHERE a.k = b.k AND c.k = b.k",
	"SELECT a.n FROM %[1]s a WHERE EXISTS (SELECT 1 FROM %[2]s b JOIN %[3]s c ON b.k = c.k WHERE a.k = b.k AND c.n IN ({some}))",
}

// crossConstants are questions about one table and constants, {v}, also of another type, {type}.
var crossConstants = []string{
	"SELECT n FROM %s WHERE k {op} CAST('{v}' AS {type})",
	"SELECT n FROM %s WHERE k {op} '{v}'",
	"SELECT n FROM %s WHERE k {op} {v}",
	"SELECT n FROM %s WHERE CAST('{v}' AS {type}) {op} k",
	"SELECT n FROM %s WHERE k BETWEEN CAST('{v}' AS {type}) AND CAST('{w}' AS {type})",
	"SELECT n FROM %s WHERE k IN (CAST('{v}' AS {type}), CAST('{w}' AS {type}))",
	"SELECT n FROM %s WHERE k NOT IN ('{v}', '{w}')",
}

// constant is one of them.
func (c *crossed) constant(random *rand.Rand, p [2]string) string {
	return strings.NewReplacer("{v}", pick(random, crossValues), "{w}", pick(random, crossValues), "{type}", p[1],
		"{op}", pick(random, []string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"})).Replace(fmt.Sprintf(pick(random, crossConstants), c.tables[p[0]]))
}

// ask compares an answer with the twin's. DuckDB finds values that cannot be cast when it comes to them: neither side
// promises which error it gives, or any, but an error must be one of values (class 22).
func (c *crossed) ask(t *testing.T, ask func(sql string) outcome, sql string) (compared bool) {
	want := newParted(c.twin).single(sql, nil)
	got := ask(sql)
	if strings.HasPrefix(want.state, "22") || strings.HasPrefix(got.state, "22") {
		return false
	}
	if d := sameAnswer(got, want, false); d != "" {
		t.Errorf("%s\n%s", sql, d)
	}
	return want.state == ""
}

// typedAnswer asks a session; columns come without their names.
func typedAnswer(side *lent) func(sql string) outcome {
	return func(sql string) outcome {
		_, typed := answerOf(side.session.Query(context.Background(), sql))
		return typed
	}
}

// TestEqualityAcrossTypes: types compared, and chains from one over another and back (P1, P7).
func TestEqualityAcrossTypes(t *testing.T) {
	duration, seed := limits(t, 2*time.Second)
	side := openSession(t, openEngine(t))
	random := rand.New(rand.NewPCG(seed, 23))
	c := crossing(t, random, openNative(t, 2), side, func() string { return "" })
	c.back(t, typedAnswer(side), coarse...)
	for _, p := range c.comparable() {
		sql := fmt.Sprintf(crossPairs[0], c.tables[p[0]], c.tables[p[1]])
		c.ask(t, typedAnswer(side), strings.ReplaceAll(sql, "{some}", "0, 3, 5, 8"))
	}
	c.askFor(t, random, duration, typedAnswer(side))
}

// TestEqualityAcrossTypesOverNodes: the same where rows lie on three nodes by the hash of the column, or anyhow.
func TestEqualityAcrossTypesOverNodes(t *testing.T) {
	duration, seed := limits(t, 2*time.Second)
	nodes := openNodes(t)
	nodes.resize(3)
	side := openSession(t, nodes.list[0].engine)
	random := rand.New(rand.NewPCG(seed, 19))
	c := crossing(t, random, openNative(t, 2), side, func() string {
		return " WITH (placement = '" + pick(random, []string{"hash(k)", "hash(k)", "rows", "hash(k) on (n2, n1)"}) + "')"
	})
	cut := anyPlan(nodeNames(3))
	cut.ShuffleBytes, cut.ShuffleGain, cut.RemoteFactor, cut.GatherRows = 1, 1e-6, 20, 10
	nodes.cutOffs.Store(&cut)
	side.must(t, "SET csm.distribute = always")
	side.must(t, "SET csm.shuffle = always")
	c.back(t, typedAnswer(side), coarse[0])
	c.askFor(t, random, duration, typedAnswer(side))
}

// coarse are pairs of types of which the second takes values of the first for one.
var coarse = [][2]string{{"BIGINT", "DOUBLE"}, {"INTEGER", "FLOAT"}, {"UINTEGER", "FLOAT"}, {"DATE", "TIMESTAMP_S"}}

// back asks what goes over a coarse type and back, about each row.
func (c *crossed) back(t *testing.T, ask func(sql string) outcome, pairs ...[2]string) {
	for _, p := range pairs {
		a, b := c.tables[p[0]], c.tables[p[1]]
		for _, q := range crossTriples {
			for n := range 24 {
				if sql := fmt.Sprintf(q, a, b, a); !t.Failed() && (n == 0 || strings.Contains(sql, "{some}")) {
					c.ask(t, ask, strings.ReplaceAll(sql, "{some}", fmt.Sprint(n)))
				}
			}
		}
	}
}

// comparable are the pairs of types whose values all compare.
func (c *crossed) comparable() (pairs [][2]string) {
	for x, a := range c.tables {
		for y, b := range c.tables {
			if newParted(c.twin).single(fmt.Sprintf("SELECT count(*) FROM %s a, %s b WHERE a.k = b.k", a, b), nil).state == "" {
				pairs = append(pairs, [2]string{x, y})
			}
		}
	}
	slices.SortFunc(pairs, func(p, q [2]string) int { return slices.Compare(p[:], q[:]) })
	return pairs
}

// askFor asks about such pairs, about triples with a third that is like the first, and about constants, as long as there is time.
func (c *crossed) askFor(t *testing.T, random *rand.Rand, duration time.Duration, ask func(sql string) outcome) {
	pairs, compared := c.comparable(), 0
	for start := time.Now(); time.Since(start) < duration && !t.Failed(); {
		p := pick(random, pairs)
		a, b := c.tables[p[0]], c.tables[p[1]]
		like := a
		if other := c.tables[pick(random, crossTypes[:10])]; other != "" && slices.Contains(crossTypes[:10], p[0]) {
			like = other
		}
		for _, sql := range []string{fmt.Sprintf(pick(random, crossPairs), a, b), fmt.Sprintf(pick(random, crossTriples), a, b, like), c.constant(random, p), c.constant(random, p)} {
			some := fmt.Sprint(random.IntN(6), ", ", random.IntN(12), ", ", random.IntN(24))
			if c.ask(t, ask, strings.ReplaceAll(sql, "{some}", some)) {
				compared++
			}
		}
	}
	t.Logf("%d pairs of types compare, %d answers compared", len(pairs), compared)
	require.Positive(t, compared)
}
