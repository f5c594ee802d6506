package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// versionsOf lists the versions of a table that can be asked for.
func versionsOf(t testing.TB, s *engine.Session, table string) (list []string) {
	return rows(t, s, "SELECT version FROM csm.versions WHERE name = '"+table+"' ORDER BY version")
}

// A former version is read as it was, in all places where a table may stand, in both dialects.
func TestFormerVersionsAreRead(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a int, b text) WITH (retention = '7 days', retained_versions = 50)")
	exec(t, s, "INSERT INTO t VALUES (1, 'x'), (2, 'y')")  // 2
	exec(t, s, "INSERT INTO t VALUES (3, 'z')")            // 3
	exec(t, s, "DELETE FROM t WHERE a = 1")                // 4
	exec(t, s, "UPDATE t SET b = 'u' WHERE a = 2")         // 5
	exec(t, s, "ALTER TABLE t ADD COLUMN c int DEFAULT 7") // 6
	exec(t, s, "ALTER TABLE t RENAME COLUMN b TO d")       // 7
	exec(t, s, "CREATE TABLE other (a int, b text)")
	exec(t, s, "INSERT INTO other VALUES (2, 'o')")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, versionsOf(t, s, "t"))
	require.Equal(t, []string{"create", "append", "append", "delete", "update", "alter", "alter"},
		rows(t, s, "SELECT cause FROM csm.versions WHERE name = 't' ORDER BY version"))
	for _, text := range []string{
		"SELECT a, b FROM t AT (VERSION => 2) ORDER BY a",
		"SELECT x.a, x.b FROM t AS x AT (VERSION => 2) ORDER BY a",
		"SELECT t.a, t.b FROM public.t AT (VERSION => 2) ORDER BY a",
		"SELECT x.k, x.v FROM csmsql.public.t AS x(k, v) AT (VERSION => 2) ORDER BY 1",
		"WITH w AS (SELECT * FROM t AT (VERSION => 2)) SELECT * FROM w ORDER BY a",
		"SELECT * FROM (SELECT * FROM t AT (VERSION => 2)) ORDER BY a",
		"WITH RECURSIVE r(a, b) AS (SELECT a, b FROM t AT (VERSION => 2) UNION SELECT a, b FROM r) " +
			"SELECT * FROM r ORDER BY a",
	} {
		require.Equal(t, []string{"1|x", "2|y"}, rows(t, s, text), text)
		exec(t, s, "SET csm.dialect = 'duckdb'")
		require.Equal(t, []string{"1|x", "2|y"}, rows(t, s, text), text)
		exec(t, s, "SET csm.dialect = 'postgres'")
	}
	require.Equal(t, []string{"2|u|y"}, rows(t, s,
		"SELECT n.a, n.d, o.b FROM t n JOIN t o AT (VERSION => 3) USING (a) WHERE n.d <> o.b"))
	require.Equal(t, []string{"2|y|o"}, rows(t, s,
		"SELECT a, o.b, p.b FROM t AS o AT (VERSION => 4) JOIN other p USING (a)"))
	require.Equal(t, []string{"2|u", "3|z"}, rows(t, s,
		"SELECT * FROM t AT (VERSION => 5) ORDER BY a"), "the columns of then")
	require.Equal(t, []string{"2|u|7", "3|z|7"}, rows(t, s,
		"SELECT * FROM t AT (VERSION => 7) ORDER BY a"), "the present one")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM t AT (VERSION => 2) WHERE a > $1", 1))
	exec(t, s, "PREPARE p AS SELECT count(*) FROM t AT (VERSION => 3)")
	exec(t, s, "INSERT INTO t VALUES (4, 'v', 8)")
	require.Equal(t, []string{"3"}, rows(t, s, "EXECUTE p"))
	require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT * FROM t AT (VERSION => 3) WHERE a > 2"), "\n"), "t@3")
	exec(t, s, "CREATE TABLE copied AS SELECT * FROM t AT (VERSION => 3)")
	exec(t, s, "INSERT INTO copied SELECT * FROM t AT (VERSION => 2)")
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT count(*) FROM copied"))
	exec(t, s, "DELETE FROM copied WHERE a IN (SELECT a FROM t AT (VERSION => 2))")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM copied"))
	exec(t, s, "SET csm.dialect = 'duckdb'")
	require.Equal(t, []string{"1", "2"}, rows(t, s, "SELECT * EXCLUDE (b) FROM t AT (VERSION => 2) ORDER BY ALL"))
	require.Equal(t, []string{"1|2"}, rows(t, s, "PIVOT t AT (VERSION => 2) ON b USING sum(a)"))
	exec(t, s, "SET csm.dialect = 'postgres'")
}

// A view of a former version means the same wherever it is asked, and is shown as it was written.
func TestViewsOfFormerVersions(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE SCHEMA s")
	exec(t, s, "CREATE TABLE s.t WITH (retention = '1 hour') AS SELECT 1 AS a")
	exec(t, s, "SET search_path = s, public")
	exec(t, s, "CREATE VIEW public.v AS SELECT * FROM t AT (VERSION => 1)")
	exec(t, s, "INSERT INTO t VALUES (2)")
	exec(t, s, "RESET search_path")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT * FROM v"))
	require.Equal(t, []string{"1|1", "1|2"}, rows(t, s, "SELECT v.a, t.a FROM v, s.t ORDER BY 2"))
	require.Contains(t, rows(t, s, "SELECT pg_get_viewdef('v'::regclass)")[0], "FROM s.t AT (VERSION => 1)")
	exec(t, s, "SET csm.dialect = 'duckdb'")
	require.Equal(t, []string{"1"}, rows(t, s, "FROM v"))
	exec(t, s, "SET csm.dialect = 'postgres'")
	exec(t, s, "ALTER TABLE s.t RESET (retention)")
	_, err := tryRows(s, "SELECT * FROM v")
	requireRefused(t, "72000", err)
}

func TestTimesOfFormerVersions(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t WITH (retained_versions = 9) AS SELECT 0 AS a")
	for range 4 {
		exec(t, s, "UPDATE t SET a = a + 1")
	}
	exec(t, s, "SET TimeZone = 'America/New_York'")
	for _, zone := range []string{"UTC", "Asia/Tokyo"} {
		exec(t, s, "SET TimeZone = '"+zone+"'")
		for i, at := range rows(t, s, "SELECT committed_at::text FROM csm.versions WHERE name = 't' ORDER BY version") {
			want := []string{fmt.Sprint(i)}
			require.Equal(t, want, rows(t, s, "SELECT a FROM t AT (TIMESTAMP => '"+at+"')"), at)
			plain := at[:strings.LastIndexAny(at, "+-")]
			require.Equal(t, want, rows(t, s, "SELECT a FROM t AT (TIMESTAMP => TIMESTAMP '"+plain+"')"), "in %s", zone)
		}
	}
	require.Equal(t, []string{"4"}, rows(t, s, "SELECT a FROM t AT (TIMESTAMP => '2100-01-01')"))
}

// What is not to be had is refused by name.
func TestFormerVersionsAreRefused(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t WITH (retained_versions = 2) AS SELECT 1 AS a")
	exec(t, s, "CREATE TABLE none AS SELECT 1 AS a")
	exec(t, s, "CREATE VIEW v AS SELECT * FROM t")
	exec(t, s, "CREATE TEMP TABLE own AS SELECT 1 AS a")
	for range 4 {
		exec(t, s, "INSERT INTO t VALUES (1)")
		exec(t, s, "INSERT INTO none VALUES (1)")
	}
	require.Equal(t, []string{"3", "4", "5"}, versionsOf(t, s, "t"))
	for text, state := range map[string]string{
		"SELECT * FROM t AT (VERSION => 2)":                             "72000",
		"SELECT * FROM t AT (VERSION => 6)":                             "22023",
		"UPDATE t SET a = 1 FROM t AT (VERSION => 6) o WHERE o.a = t.a": "22023",
		"DELETE FROM t USING t AT (VERSION => 2) o WHERE o.a = t.a":     "72000",
		"SELECT * FROM none AT (VERSION => 4)":                          "72000",
		"SELECT * FROM t AT (TIMESTAMP => '2020-01-01')":                "72000",
		"SELECT * FROM t AT (TIMESTAMP => 'soon')":                      "22007",
		"SELECT * FROM v AT (VERSION => 1)":                             "0A000",
		"SELECT * FROM own AT (VERSION => 1)":                           "0A000",
		"WITH c AS (SELECT 1) SELECT * FROM c AT (VERSION => 1)":        "0A000",
		"SELECT * FROM csm.tables AT (VERSION => 1)":                    "0A000",
		"SELECT * FROM pg_class AT (VERSION => 1)":                      "42P01",
		"SELECT * FROM missing AT (VERSION => 1)":                       "42P01",
		"DELETE FROM t AT (VERSION => 4)":                               "0A000",
		"SELECT * FROM t AT (VERSION => 4) FOR UPDATE":                  "0A000",
		"CREATE SCHEMA csm_past":                                        "42939",
		"ALTER TABLE t SET (retention = 'ever')":                        "22023",
		"ALTER TABLE t SET (retained_versions = 0)":                     "22023",
		"ALTER TABLE t SET (retention = '1 day', replicas = 1)":         "0A000",
		"ALTER TABLE t RESET (placement)":                               "22023",
		"CREATE TABLE u (a int) WITH (retention = '1 month')":           "22023",
		"CREATE TABLE u (a int) WITH (retentoin = '1 day')":             "22023",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		requireRefused(t, state, err)
	}
	exec(t, s, "SET csm.dialect = 'duckdb'")
	_, err := tryRows(s, "SELECT * EXCLUDE (b) FROM t AT (VERSION => 2)")
	requireRefused(t, "72000", err)
}

// The setting is shown as PostgreSQL shows those of storage, and can be taken back.
func TestRetentionIsShown(t *testing.T) {
	e := open(t)
	s := session(t, e)
	shown := func() []string {
		return rows(t, s, "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE relname = 't'")
	}
	exec(t, s, "CREATE TABLE t (a int) WITH (retention = '36 hours')")
	require.Equal(t, []string{"retention=1 day 12 hours, retained_versions=1000"}, shown())
	exec(t, s, "ALTER TABLE t SET (retained_versions = 5)")
	require.Equal(t, []string{"retention=1 day 12 hours, retained_versions=5"}, shown())
	exec(t, s, "ALTER TABLE t RESET (retention)")
	require.Equal(t, []string{"retained_versions=5"}, shown())
	exec(t, s, "ALTER TABLE t RESET (retained_versions)")
	require.Equal(t, []string{"(null)"}, shown())
	exec(t, s, "ALTER TABLE IF EXISTS missing SET (retention = '1 day')")
	exec(t, s, "BEGIN")
	exec(t, s, "ALTER TABLE t SET (retention = '1 day')")
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"(null)"}, shown())
}

// A transaction sees the versions of its snapshot; its own changes are none.
func TestFormerVersionsInABlock(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t WITH (retained_versions = 9) AS SELECT 1 AS a")
	exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	exec(t, s, "INSERT INTO t VALUES (2)")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM t"))
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM t AT (VERSION => 1)"))
	exec(t, other, "INSERT INTO t VALUES (3)")
	_, err := tryRows(s, "SELECT count(*) FROM t AT (VERSION => 2)")
	requireRefused(t, "22023", err)
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM t AT (VERSION => 2)"))
	exec(t, s, "BEGIN")
	exec(t, s, "CREATE TABLE made WITH (retained_versions = 9) AS SELECT 1 AS a")
	_, err = tryRows(s, "SELECT * FROM made AT (VERSION => 1)")
	requireRefused(t, "22023", err)
	exec(t, s, "ROLLBACK")
}

// Workers and attached processes read former versions as the node does.
func TestFormerVersionsElsewhere(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t WITH (retained_versions = 9) AS SELECT i AS a FROM range(1000) r(i)")
	exec(t, s, "DELETE FROM t WHERE a >= 10")
	before := given(e)
	require.Equal(t, []string{"1000|499500"}, rows(t, s,
		"SELECT count(DISTINCT a), sum(a)::bigint FROM t AT (VERSION => 1)"))
	require.Greater(t, given(e), before, "a worker ran it")
	require.Equal(t, []string{"990"}, rows(t, s,
		"SELECT count(*) FROM t x AT (VERSION => 1) LEFT JOIN t y USING (a) WHERE y.a IS NULL"))
	_, err := tryRows(s, "SELECT count(*) FROM t AT (VERSION => 7)")
	requireRefused(t, "22023", err)

	node, socket := lend(t)
	w := session(t, node)
	exec(t, w, "CREATE TABLE t WITH (retained_versions = 9) AS SELECT i AS a FROM range(1000) r(i)")
	exec(t, w, "DELETE FROM t WHERE a >= 10")
	attached, err := engine.Attach(t.Context(), socket)
	require.NoError(t, err)
	defer attached.Close()
	b := session(t, attached)
	require.Equal(t, []string{"1000|10"}, rows(t, b,
		"SELECT (SELECT count(*) FROM t AT (VERSION => 1)), count(*) FROM t"))
	require.Equal(t, []string{"1", "2"}, versionsOf(t, b, "t"))
	exec(t, w, "ALTER TABLE t RESET (retained_versions)")
	exec(t, w, "VACUUM")
	_, err = tryRows(b, "SELECT count(*) FROM t AT (VERSION => 1)")
	requireRefused(t, "72000", err)
}

// formerTwin is a table that remembers what each of its versions had.
type formerTwin struct {
	next int
	rows map[int]int
	was  map[int]string // by version
}

func (f *formerTwin) words() string {
	n, sum := 0, 0
	for a, b := range f.rows {
		n, sum = n+1, sum+a*31+b
	}
	return fmt.Sprintf("%d|%d", n, sum)
}

// step is a random statement, done to both.
func (f *formerTwin) step(t testing.TB, s *engine.Session, rng *rand.Rand) {
	some := 0
	for a := range f.rows {
		some = max(some, min(a, rng.IntN(f.next+1)))
	}
	switch rng.IntN(8) {
	case 0:
		exec(t, s, fmt.Sprintf("DELETE FROM t WHERE a %% 7 = %d", some%7))
		for a := range f.rows {
			if a%7 == some%7 {
				delete(f.rows, a)
			}
		}
	case 1:
		exec(t, s, fmt.Sprintf("UPDATE t SET b = b + 1 WHERE a <= %d", some))
		for a := range f.rows {
			if a <= some {
				f.rows[a]++
			}
		}
	case 2:
		exec(t, s, "VACUUM")
	case 3:
		from := f.next
		f.next += 200
		exec(t, s, fmt.Sprintf("INSERT INTO t SELECT i, 0 FROM range(%d, %d) r(i)", from, f.next))
		for a := from; a < f.next; a++ {
			f.rows[a] = 0
		}
	default:
		exec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", f.next, f.next))
		f.rows[f.next] = f.next
		f.next++
	}
}

// requireFormer compares all versions that are listed.
func (f *formerTwin) requireFormer(t testing.TB, s *engine.Session) {
	list := rows(t, s, "SELECT since || '|' || version FROM csm.versions WHERE name = 't' ORDER BY version")
	for _, line := range list {
		var since, version int
		_, err := fmt.Sscanf(line, "%d|%d", &since, &version)
		require.NoError(t, err)
		want := ""
		for v := since; v <= version; v++ {
			if known, ok := f.was[v]; ok {
				want = known
			}
		}
		if want == "" {
			continue
		}
		text := fmt.Sprintf("SELECT count(*), coalesce(sum(a * 31 + b), 0)::bigint FROM t AT (VERSION => %d)", since)
		require.Equal(t, []string{want}, rows(t, s, text), line)
	}
}

func (f *formerTwin) remember(t testing.TB, s *engine.Session) {
	var version int
	_, err := fmt.Sscan(rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 't'")[0], &version)
	require.NoError(t, err)
	f.was[version] = f.words()
}

// Versions of a table on three nodes are read at each of them, in parts; they outlive restarts, folds and moves. What a
// drained node had of them is given up, and said. In the end every byte comes back.
func TestFormerVersionsInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	rng := rand.New(rand.NewPCG(7, 7))
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (a bigint, b bigint) WITH (placement = 'rows', retained_versions = 8)")
	f := &formerTwin{next: 0, rows: map[int]int{}, was: map[int]string{}}
	for i := range 60 {
		s := c.session(rng.IntN(3))
		f.step(t, s, rng)
		f.remember(t, s)
		if i == 30 {
			c.stop(2)
			c.nodes[2] = c.open(2)
		}
		if i%6 == 0 {
			f.requireFormer(t, c.session(rng.IntN(3)))
		}
	}
	for i := range 3 {
		f.requireFormer(t, c.session(i))
	}
	var said []string
	require.NoError(t, c.nodes[0].Drain(t.Context(), "n2", func(p noderpc.Progress) { said = append(said, p.Step) }))
	require.True(t, slices.ContainsFunc(said,
		func(text string) bool { return strings.Contains(text, "former versions lay at node n2") }), said)
	f.requireFormer(t, s)
	require.Equal(t, []string{f.words()}, rows(t, s, "SELECT count(*), sum(a * 31 + b)::bigint FROM t"))
	exec(t, s, "DROP TABLE t")
	exec(t, s, "VACUUM")
	for i := range 3 {
		require.Eventually(t, func() bool {
			return len(rows(t, c.session(i), "SELECT * FROM csm.holders")) == 0
		}, 20*time.Second, 20*time.Millisecond, "every byte of node %d comes back", i)
	}
}
