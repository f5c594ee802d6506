package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/testsuite"
)

const uuidText = "8f14e45f-ceea-167a-5a36-dedd4bea2543" // md5('7')

const ordersOf = "SELECT chunk, coalesce(orders, '') FROM csm.chunks WHERE name = 't' ORDER BY chunk"

// OD1: whatever is found by the orders of chunks is what looking at all rows finds, in both backends, with rows that are
// deleted, of every type that can be sorted.
func TestOrdersFindWhatScansFind(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t (id int PRIMARY KEY, small smallint, big bigint, d numeric(10,2), wide numeric(30,3),
		f double precision, r real, b boolean, w text, v varchar(20), day date, at timestamp, u uuid,
		UNIQUE (small, id), UNIQUE (big, id), UNIQUE (d, id), UNIQUE (wide, id), UNIQUE (f, id), UNIQUE (r, id),
		UNIQUE (b, id), UNIQUE (w, v, id), UNIQUE (v, id), UNIQUE (day, at, id), UNIQUE (at, id), UNIQUE (u, id))`)
	const rowsIn = 30011
	exec(t, s, fmt.Sprintf(`INSERT INTO t SELECT (i * 7919) %% %d, CASE WHEN i %% 11 > 0 THEN i %% 301 - 150 END,
		CASE WHEN i %% 7 > 0 THEN (i * 31) %% 997 * 10000000000 - 5000000000000 END, (i %% 5003) / 100.0 - 20,
		(i %% 4001) * 1000000000000.001, CASE i %% 13 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 'Infinity'
		WHEN 3 THEN NULL ELSE (i %% 777) / 8.0 - 40 END, (i %% 333) / 4.0, i %% 3 = 0,
		CASE WHEN i %% 5 > 0 THEN chr((97 + i %% 26)::int) || (i %% 199) END, 'é' || (i * 3) %% 2003,
		DATE '2020-01-01' + (i %% 400)::int, TIMESTAMP '2020-01-01' + to_seconds(i %% 86401),
		md5((i %% 9000)::text)::uuid FROM range(%d) r(i)`, rowsIn, rowsIn))
	exec(t, s, "VACUUM t")
	exec(t, s, "DELETE FROM t WHERE id % 17 = 3; UPDATE t SET small = small + 1 WHERE id % 101 = 5")
	require.Contains(t, rows(t, s, ordersOf)[0], "0|id; small, id; big, id; ")

	literals := map[string][]string{
		"id": {"0", "77", "30010", "-5", "1.5", "30011"}, "small": {"-150", "0", "7", "NULL", "40000"},
		"big": {"0", "10000000000", "-5000000000000", "4970000000000"}, "d": {"-20", "0.01", "3.5", "29.99", "1.005"},
		"wide": {"0", "1000000000000.001", "55000000000000.055"}, "f": {"0", "'NaN'", "'Infinity'", "-39.875", "7"},
		"r": {"0", "1.25", "80", "3"}, "b": {"true", "false"}, "w": {"'a1'", "'z99'", "''", "'m'", "NULL"},
		"v": {"'é7'", "'é1000'", "'z'"}, "day": {"'2020-01-01'", "'2020-06-15'", "'2021-02-03'"},
		"at": {"'2020-01-01 00:00:07'", "'2020-01-01 12:00'", "'2020-01-02'"},
		"u":  {"'" + strings.Repeat("0", 32) + "'", "'" + uuidText + "'", "'" + uuidText + "'::uuid"},
	}
	names := []string{"id", "small", "big", "d", "wide", "f", "r", "b", "w", "v", "day", "at", "u"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(7, seed))
	literal := func(c string) string { return literals[c][rng.IntN(len(literals[c]))] }
	condition := func() string {
		c := names[rng.IntN(len(names))]
		switch rng.IntN(8) {
		case 0:
			return c + " IN (" + literal(c) + ", " + literal(c) + ", " + literal(c) + ")"
		case 1:
			return c + " BETWEEN " + literal(c) + " AND " + literal(c)
		case 2:
			return c + " IS NULL"
		case 3:
			if c == "w" || c == "v" {
				return c + " LIKE " + []string{"'a%'", "'é19%'", "'m1%'", "'%7'"}[rng.IntN(4)]
			}
			return c + " IS NOT NULL"
		}
		return c + " " + []string{"=", "=", "=", "<", "<=", ">", ">=", "<>"}[rng.IntN(8)] + " " + literal(c)
	}
	for _, id := range literals["u"] {
		require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT id FROM t WHERE u = "+id), "\n"),
			"found by the order of u", id)
	}
	found := 0
	rounds := 80 * testsuite.Effort()
	for range rounds {
		list := []string{condition()}
		for len(list) < 3 && rng.IntN(2) == 0 {
			list = append(list, condition())
		}
		where := " FROM t WHERE " + strings.Join(list, " AND ")
		for _, ask := range []string{"SELECT id, small, w" + where, "SELECT count(*), sum(id), min(w)" + where} {
			exec(t, s, "RESET csm.disable")
			got, err := tryRows(s, ask)
			if err != nil { // such as a literal that is no number of the type: then always
				exec(t, s, "SET csm.disable = indexes")
				_, again := tryRows(s, ask)
				require.Error(t, again, ask)
				continue
			}
			if strings.Contains(strings.Join(rows(t, s, "EXPLAIN "+ask), "\n"), "found by the order of") {
				found++
			}
			exec(t, s, "SET csm.disable = indexes")
			require.Equal(t, sorted(rows(t, s, ask)), sorted(got), ask)
			require.NotContains(t, strings.Join(rows(t, s, "EXPLAIN "+ask), "\n"), "found by the order of")
		}
	}
	require.Greater(t, found, rounds/2, "orders are used")
}

// Parameters are looked for, too, when they are known.
func TestOrdersFindParameters(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k bigint PRIMARY KEY, w text)")
	exec(t, s, "INSERT INTO t SELECT (i * 7919) % 20011, 'w' || i FROM range(20011) r(i); VACUUM t")
	for _, text := range []string{"SELECT w FROM t WHERE k = $1", "SELECT max(w) FROM t WHERE k = $1 AND w > ''"} {
		st, err := s.Prepare(t.Context(), text)
		require.NoError(t, err)
		defer st.Close()
		for k := range 50 {
			r, err := st.Query(t.Context(), int64(k*7919%20011))
			require.NoError(t, err)
			lines, err := linesOf(r)
			require.NoError(t, err)
			require.Equal(t, []string{fmt.Sprintf("w%d", k)}, lines)
		}
	}
}

// KY1 with orders: a key that is there is found by them, and one that was deleted is not.
func TestKeysAreFoundByOrders(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, w text, n int, PRIMARY KEY (a, w), UNIQUE (n))")
	exec(t, s, "INSERT INTO t SELECT (i * 31) % 101, 'w' || i, NULLIF((i * 7919) % 20011, 5) FROM range(20011) r(i)")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"0|a, w; n"}, rows(t, s, ordersOf))
	require.Equal(t, "23505 Key (a, w)=(31, w1) already exists.", keyRefused(t, s, "INSERT INTO t VALUES (31, 'w1', -1)"))
	require.Equal(t, "23505 Key (n)=(7919) already exists.", keyRefused(t, s, "INSERT INTO t VALUES (31, 'x', 7919)"))
	require.Equal(t, "23505 Key (n)=(7) already exists.", keyRefused(t, s, "UPDATE t SET n = 7 WHERE n = 8"))
	exec(t, s, "INSERT INTO t VALUES (31, 'W1', -1), (32, 'w1', NULL), (33, 'w1', NULL)")
	exec(t, s, "DELETE FROM t WHERE n = 7919; INSERT INTO t VALUES (1000, 'w', 7919)")
	require.Equal(t, "23505 Key (n)=(7919) already exists.", keyRefused(t, s, "INSERT INTO t VALUES (1, 'y', 7919)"))
}

// What refers to a key, and what gives way to one that is there, finds it by orders, too.
func TestReferencesAreFoundByOrders(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, w text, n int, PRIMARY KEY (a, w))")
	exec(t, s, "INSERT INTO t SELECT (i * 31) % 101, 'w' || i, 0 FROM range(20011) r(i)")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"0|a, w"}, rows(t, s, ordersOf))
	exec(t, s, "CREATE TABLE c (a int, w text, FOREIGN KEY (a, w) REFERENCES t)")
	exec(t, s, "INSERT INTO c VALUES (31, 'w1'), (62, 'w2'), (31, 'w1'), (NULL, 'w9'), (NULL, NULL)")
	require.Equal(t, "23503 Key (a, w)=(31, w2) is not present in table \"t\".",
		keyRefused(t, s, "INSERT INTO c VALUES (62, 'w2'), (31, 'w2')"))
	exec(t, s, "DELETE FROM t WHERE w = 'w3'")
	require.Equal(t, "23503 Key (a, w)=(93, w3) is not present in table \"t\".",
		keyRefused(t, s, "INSERT INTO c VALUES (93, 'w3')"))
	require.Equal(t, "23503 Key (a, w)=(31, w1) is still referenced from table \"c\".",
		keyRefused(t, s, "DELETE FROM t WHERE w = 'w1'"))
	exec(t, s, "INSERT INTO t VALUES (31, 'w1', 7), (93, 'w3', 8), (62, 'w2', 9) ON CONFLICT (a, w) DO UPDATE SET n = excluded.n")
	require.Equal(t, []string{"w1|7", "w2|9", "w3|8"}, rows(t, s, "SELECT w, n FROM t WHERE n > 0 ORDER BY w"))
	exec(t, s, `MERGE INTO t USING (VALUES (31, 'w1', 1), (1, 'new', 2)) v(a, w, n) ON t.a = v.a AND t.w = v.w
		WHEN MATCHED THEN UPDATE SET n = v.n WHEN NOT MATCHED THEN INSERT VALUES (v.a, v.w, v.n)`)
	require.Equal(t, []string{"new|2", "w1|1", "w2|9", "w3|8"}, rows(t, s, "SELECT w, n FROM t WHERE n > 0 ORDER BY w"))
}

// Orders come by themselves, follow the table's columns, and go with the keys that they are for, with their memory.
func TestOrdersComeAndGo(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, w text, n int)")
	exec(t, s, "INSERT INTO t SELECT (i * 7919) % 20011, 'w' || i, i FROM range(20011) r(i)")
	is := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return rows(t, s, ordersOf)[0] == want }, 30*time.Second,
			20*time.Millisecond, want)
	}
	is("0|k")
	bytes := "SELECT bytes FROM csm.tables WHERE name = 't'"
	one := rows(t, s, bytes)
	exec(t, s, "ALTER TABLE t ADD CONSTRAINT u UNIQUE (n, w)")
	is("0|k; n, w") // the rows lie in that order: it takes no memory
	require.Equal(t, one, rows(t, s, bytes))
	exec(t, s, "ALTER TABLE t RENAME COLUMN k TO key; ALTER TABLE t ADD COLUMN more int DEFAULT 7")
	is("0|key; n, w")
	require.Equal(t, []string{"7919|w1|1|7"}, rows(t, s, "SELECT key, w, n, more FROM t WHERE n = 1 AND w = 'w1'"))
	exec(t, s, "ALTER TABLE t DROP COLUMN n")
	is("0|key")
	exec(t, s, "ALTER TABLE t DROP CONSTRAINT t_pkey")
	is("0|")
	require.NotEqual(t, one, rows(t, s, bytes), "what its order took is given back")
	require.Equal(t, []string{"20011"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Orders lie wherever their chunks do: in every replica, at the nodes of a hash; they move with them, and are read at all
// nodes.
func TestOrdersInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	insert := "INSERT INTO t%d SELECT (i * 7919) %% 60013, 'w' || i FROM range(60013) r(i)"
	placements := []string{"local", "node(n1)", "rows", "hash(k)"}
	for i, p := range placements {
		exec(t, s, fmt.Sprintf("CREATE TABLE t%d (k int PRIMARY KEY, w text) WITH (placement = '%s', replicas = %d)", i, p, 1+i%2))
		exec(t, c.session(i%3), fmt.Sprintf(insert, i))
		exec(t, c.session((i+1)%3), fmt.Sprintf("VACUUM t%d", i))
	}
	ask := func(nodes ...int) {
		t.Helper()
		for i, p := range placements {
			all := fmt.Sprintf("SELECT count(*) FROM csm.chunks WHERE name = 't%d' AND orders = 'k'", i)
			require.NotEqual(t, []string{"0"}, rows(t, s, all), p)
			without := fmt.Sprintf("SELECT count(*) FROM csm.chunks WHERE name = 't%d' AND rows > 8192 AND orders IS NULL", i)
			require.Equal(t, []string{"0"}, rows(t, s, without), p)
			for _, at := range nodes {
				one := c.session(at)
				for _, k := range []int{0, 7, 60012} {
					got := rows(t, one, fmt.Sprintf("SELECT w FROM t%d WHERE k = %d", i, k*7919%60013))
					require.Equal(t, []string{fmt.Sprintf("w%d", k)}, got, p)
				}
				require.Equal(t, "23505 Key (k)=(5) already exists.",
					keyRefused(t, one, fmt.Sprintf("INSERT INTO t%d VALUES (5, 'x')", i)))
			}
		}
	}
	ask(0, 1, 2)
	c.requireSpace()
	exec(t, s, "ALTER TABLE t0 SET (placement = 'node(n2)')")
	exec(t, s, "ALTER TABLE t2 SET (placement = 'local')")
	exec(t, s, "ALTER TABLE t1 SET (replicas = 3)")
	ask(2, 1, 0)
	c.requireSpace()
	exec(t, s, "ALTER TABLE t0 SET (placement = 'node(n0)')")
	c.stop(2)
	c.requireGone("n2")
	for _, i := range []int{1, 3} { // they have a replica elsewhere
		require.Equal(t, []string{"w7"}, rows(t, s, fmt.Sprintf("SELECT w FROM t%d WHERE k = %d", i, 7*7919%60013)))
	}
	c.nodes[2] = c.open(2)
	c.requireSpace()
}

// A chunk that gets an order while it moves is moved all the same, with it.
func TestOrdersDuringMove(t *testing.T) {
	t.Parallel()
	c := startCluster(&cluster{t: t, change: func(_ int, c *engine.Config) { c.NoCompaction = true }}, 2)
	s, writer := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY)")
	exec(t, s, "INSERT INTO t SELECT (i * 7919) % 20011 FROM range(20011) r(i)")
	once := false
	c.onFault(func(_ int, point faults.Point) {
		if point == faults.MoveCopied && !once {
			once = true
			exec(t, writer, "VACUUM t")
		}
	})
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'node(n1)'")
	c.onFault(nil)
	require.True(t, once)
	require.Equal(t, []string{"n1|k"}, rows(t, s, "SELECT node, orders FROM csm.chunks"))
	require.Equal(t, []string{"7"}, rows(t, s, "SELECT k FROM t WHERE k = 7"))
	c.requireSpace()
}

// A region without room for an order refuses the index by name, and nothing is left of it.
func TestOrdersWithoutRoom(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.RegionBytes, c.NoCompaction = 4<<20, true })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (k bigint, fill bigint)")
	exec(t, s, "INSERT INTO t SELECT (i * 7919) % 200003, i FROM range(200003) r(i)")
	_, err := s.Exec(t.Context(), "CREATE INDEX i ON t (k); CREATE INDEX j ON t (fill, k); CREATE INDEX l ON t (k, fill)")
	require.Error(t, err)
	require.Equal(t, "53200", state(t, err))
	require.Equal(t, []string{"7"}, rows(t, s, "SELECT k FROM t WHERE k = 7"))
	require.NoError(t, e.CheckSpace(t.Context()))
}

// BenchmarkRowByKey asks for a row by a key that lies in no order, of two million, with orders and without, in turns.
func BenchmarkRowByKey(b *testing.B) {
	s := session(b, open(b))
	const n = 2_000_003
	exec(b, s, "CREATE TABLE t (k bigint PRIMARY KEY, w text)")
	exec(b, s, fmt.Sprintf("INSERT INTO t SELECT (i * 7919) %% %d, 'w' || i FROM range(%d) r(i)", n, n))
	exec(b, s, "VACUUM t")
	st, err := s.Prepare(b.Context(), "SELECT w FROM t WHERE k = $1")
	require.NoError(b, err)
	defer st.Close()
	took := map[string][]time.Duration{}
	for i := 0; b.Loop(); i++ {
		for _, without := range []string{"", "indexes"} {
			exec(b, s, "SET csm.disable = '"+without+"'")
			for range 2 { // the first one plans
				begun := time.Now()
				r, err := st.Query(b.Context(), int64(i*7919%n))
				require.NoError(b, err)
				lines, err := linesOf(r)
				require.NoError(b, err)
				took[without] = append(took[without], time.Since(begun))
				require.Equal(b, []string{fmt.Sprintf("w%d", i)}, lines)
			}
		}
	}
	for without, list := range took {
		var second []time.Duration
		for i := 1; i < len(list); i += 2 {
			second = append(second, list[i])
		}
		slices.Sort(second)
		unit := map[string]string{"": "µs-by-orders", "indexes": "µs-without"}[without]
		b.ReportMetric(float64(second[len(second)/2].Nanoseconds())/1000, unit)
	}
}
