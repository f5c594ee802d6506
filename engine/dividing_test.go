package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/internal/faults"
)

// requireDivided asks for groups in a way that gives some of them twice if the plan relies on a hash and rows lie
// elsewhere.
func requireDivided(t testing.TB, c *cluster, table, key, placement string) {
	t.Helper()
	s := c.session(1)
	exec(t, s, "SET csm.distribute = 'always'")
	groups := "SELECT " + key + ", count(*) FROM " + table + " GROUP BY " + key
	require.Equal(t, alone(t, s, groups), sorted(rows(t, s, groups)), table)
	require.Equal(t, []string{placement}, rows(t, s, "SELECT coalesce(placement, '') FROM csm.tables WHERE name = '"+table+"'"))
}

// A table is divided while sessions of all nodes insert, change and delete its rows one by one: nothing is lost, nothing
// is there twice, and in the end every row lies where plans rely on it. No statement fails because of it.
func TestTablesAreDividedBesideWriters(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t(k INTEGER PRIMARY KEY, g INTEGER, n INTEGER)")
	exec(t, s, "CREATE TABLE child(k INTEGER REFERENCES t)")
	const all = 6000
	for i := range 3 { // of each writer every third key, in chunks of several nodes
		exec(t, c.session(i), fmt.Sprintf("INSERT INTO t SELECT range, range %% 50, 0 FROM range(%d, %d)", i*all/3, (i+1)*all/3))
	}
	exec(t, s, "INSERT INTO child SELECT 6 * range FROM range(10)")
	steps := atomic.Int64{}
	c.onFault(func(_ int, point faults.Point) {
		if point == faults.DivideStep {
			steps.Add(1)
		}
	})
	writing, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	want := [3]map[int]int{}
	for w := range want {
		want[w] = map[int]int{}
		for k := w; k < all; k += 3 {
			want[w][k] = 0
		}
		writer := c.session(w)
		random := rand.New(rand.NewPCG(uint64(w), 7))
		group.Go(func() {
			next := all + w
			for writing.Err() == nil {
				k, text := 3*random.IntN(all/3)+w, ""
				n, is := want[w][k]
				switch {
				case random.IntN(3) == 0:
					k, n = next, 1
					text = fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 1)", k, k%50)
					next += 3
				case !is || k%6 == 0 && random.IntN(2) == 0: // some of those have children
					n++
					text = fmt.Sprintf("INSERT INTO t VALUES (%d, %d, %d) ON CONFLICT (k) DO UPDATE SET n = excluded.n", k, k%50, n)
				case random.IntN(2) == 0 || k%6 == 0:
					n++
					text = fmt.Sprintf("UPDATE t SET n = n + 1, g = (g + 50) %% 50 WHERE k = %d", k)
				default:
					text = fmt.Sprintf("DELETE FROM t WHERE k = %d", k)
					n = -1
				}
				if _, err := writer.Exec(t.Context(), text); err != nil {
					t.Errorf("n%d: %s: %v", w, text, err)
					return
				}
				if want[w][k] = n; n < 0 {
					delete(want[w], k)
				}
			}
		})
	}
	for _, p := range [][2]string{
		{"hash(k)", "hash(k) on (n0, n1, n2)"}, {"hash(g) on (n2, n0)", "hash(g) on (n2, n0)"}, {"rows", "rows"},
		{"hash(k) on (n1, n2)", "hash(k) on (n1, n2)"},
	} {
		exec(t, s, "ALTER TABLE t SET PLACEMENT '"+p[0]+"'")
		require.Equal(t, []string{p[1]}, rows(t, s, "SELECT placement FROM csm.tables WHERE name = 't'"))
	}
	stop()
	group.Wait()
	c.onFault(nil)
	require.Positive(t, steps.Load())
	rowsOf, sum := 0, 0
	for w := range want {
		for k, n := range want[w] {
			rowsOf++
			sum += k * (n + 1)
		}
	}
	is := "SELECT count(*), count(DISTINCT k), sum(k * (n + 1)) FROM t"
	require.Equal(t, []string{fmt.Sprintf("%d|%d|%d", rowsOf, rowsOf, sum)}, rows(t, s, is))
	requireDivided(t, c, "t", "k", "hash(k) on (n1, n2)")
	require.Equal(t, []string{"n1 n2"}, rows(t, s, "SELECT string_agg(DISTINCT node, ' ' ORDER BY node) FROM csm.chunks WHERE name = 't'"))
	_, err := s.Exec(t.Context(), "INSERT INTO t VALUES (0, 0, 0)")
	requireRefused(t, "23505", err)
	_, err = s.Exec(t.Context(), "DELETE FROM t WHERE k = 6")
	requireRefused(t, "23503", err)
	c.requireSpace()
}

// A division that ends in the middle leaves a table that is right, whose record says how it is. It goes on from there,
// by the same statement or by a drain, or ends by another placement. Steps whose rows are changed become smaller.
func TestDivisionsGoOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s, writer := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t WITH (retained_versions = 100) AS "+fmt.Sprintf(someRows, 0, 3000))
	exec(t, writer, "INSERT INTO t "+fmt.Sprintf(someRows, 0, 3000)) // the same on two nodes
	want := sumOf(t, s, "t")
	former := rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 't'")[0]
	// divide ends a division after so many steps, whose first two attempts are in another session's way.
	divide := func(p string, after int) error {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		attempts, steps := 0, 0
		c.onFault(func(_ int, point faults.Point) {
			switch point {
			case faults.DivideCopied:
				if attempts++; attempts <= 2 {
					exec(t, writer, fmt.Sprintf("UPDATE t SET b = b WHERE a %% 1000 = %d", attempts))
					exec(t, writer, fmt.Sprintf("DELETE FROM t WHERE a = %d", 10+attempts))
					again := fmt.Sprintf(someRows, 10+attempts, 11+attempts)
					exec(t, writer, "INSERT INTO t "+again+" UNION ALL "+again)
				}
			case faults.DivideStep:
				if steps++; steps >= after && attempts > 2 {
					cancel(errors.New("enough"))
				}
			}
		})
		defer c.onFault(nil)
		_, err := s.Exec(ctx, "ALTER TABLE t SET PLACEMENT '"+p+"'")
		require.Greater(t, attempts, 2)
		return err
	}
	under := "hash(a) on (n0, n1, n2) dividing"
	require.Error(t, divide("hash(a)", 2))
	requireDivided(t, c, "t", "a", under)
	require.Equal(t, want, sumOf(t, s, "t"))
	exec(t, writer, "INSERT INTO t "+fmt.Sprintf(someRows, 6000, 6500))
	exec(t, writer, "DELETE FROM t WHERE a >= 6000 AND a < 6500")
	requireDivided(t, c, "t", "a", under)

	_, err := s.Exec(t.Context(), "ALTER TABLE t SET PLACEMENT 'hash(a) dividing'")
	requireRefused(t, "22023", err)
	_, err = s.Exec(t.Context(), "CREATE TABLE u(a INTEGER) WITH (placement = 'hash(a) dividing')")
	requireRefused(t, "22023", err)
	_, err = s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => "+former+")")
	requireRefused(t, "55000", err)
	exec(t, s, "CREATE TABLE u CLONE t")
	requireDivided(t, c, "u", "a", under)

	exec(t, c.session(2), "ALTER TABLE t SET PLACEMENT 'hash(a)'")
	requireDivided(t, c, "t", "a", "hash(a) on (n0, n1, n2)")
	require.Equal(t, want, sumOf(t, s, "t"))

	// What lies right stays where it is: the two commits of a division are all.
	versions := "SELECT max(version) FROM csm.versions WHERE name = 't'"
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'local'")
	begun := rows(t, s, versions)
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'hash(a)'")
	requireDivided(t, c, "t", "a", "hash(a) on (n0, n1, n2)")
	first, last := 0, 0
	fmt.Sscan(begun[0], &first)
	fmt.Sscan(rows(t, s, versions)[0], &last)
	require.Equal(t, first+2, last)
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'local'")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => "+former+")")
	requireDivided(t, c, "t", "a", "")
	require.Equal(t, want, sumOf(t, s, "t"))

	require.Error(t, divide("hash(b, a) on (n2, n1)", 1))
	require.NoError(t, c.nodes[0].Drain(t.Context(), "n2", nil))
	requireDivided(t, c, "t", "a", "hash(b, a) on (n1)")
	requireDivided(t, c, "u", "a", "hash(a) on (n0, n1)")
	c.requireSpace()
	require.Zero(t, c.nodes[2].RegionStats().Used)
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'rows'")
	require.Error(t, divide("hash(a)", 1))
	require.Equal(t, want, sumOf(t, s, "t"))
	require.Equal(t, want, sumOf(t, s, "u"))
	c.requireSpace()
}

// Rows that were written as the placement before said, and not committed, are not there when a division begins: their
// commit is a conflict.
func TestRowsFromBeforeADivision(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, writer := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t AS "+fmt.Sprintf(someRows, 0, 1000))
	exec(t, writer, "BEGIN")
	exec(t, writer, "INSERT INTO t "+fmt.Sprintf(someRows, 1000, 2000))
	exec(t, s, "ALTER TABLE t SET PLACEMENT 'hash(a)'")
	_, err := writer.Exec(t.Context(), "COMMIT")
	require.ErrorIs(t, err, catalog.ErrConflict)
	requireDivided(t, c, "t", "a", "hash(a) on (n0, n1)")
	require.Equal(t, []string{"1000"}, rows(t, s, "SELECT count(*) FROM t"))
	c.requireSpace()
}

// Another placement ends a division: it says so, and changes nothing any more. Rows of which nothing is stored have a part
// of the hash, too, and a table without rows is divided at once.
func TestAPlacementDuringADivision(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t AS "+fmt.Sprintf(someRows, 0, 1000))
	want, once := sumOf(t, s, "t"), false
	c.onFault(func(_ int, point faults.Point) {
		if point == faults.DivideStep && !once {
			once = true
			exec(t, other, "ALTER TABLE t SET PLACEMENT 'node(n1)'")
		}
	})
	_, err := s.Exec(t.Context(), "ALTER TABLE t SET PLACEMENT 'hash(a)'")
	c.onFault(nil)
	requireRefused(t, "55000", err)
	require.ErrorContains(t, err, "became node(n1) while it was divided")
	require.Equal(t, want, sumOf(t, s, "t"))
	require.Equal(t, []string{"node(n1)"}, rows(t, s, "SELECT placement FROM csm.tables WHERE name = 't'"))

	exec(t, s, "CREATE TABLE nothing(a INTEGER, b VARCHAR)")
	exec(t, s, "ALTER TABLE nothing SET PLACEMENT 'hash(a)'")
	requireDivided(t, c, "nothing", "a", "hash(a) on (n0, n1)")
	exec(t, s, "ALTER TABLE nothing SET PLACEMENT 'local'")
	exec(t, s, "INSERT INTO nothing SELECT NULL, NULL FROM range(100)")
	exec(t, s, "INSERT INTO nothing SELECT nullif(range % 2, 0) * range, NULL FROM range(100)")
	exec(t, s, "ALTER TABLE nothing SET PLACEMENT 'hash(a)'")
	requireDivided(t, c, "nothing", "a", "hash(a) on (n0, n1)")
	exec(t, s, "ALTER TABLE nothing SET PLACEMENT 'hash(b)'")
	requireDivided(t, c, "nothing", "a", "hash(b) on (n0, n1)")
	require.Equal(t, []string{"200|50"}, rows(t, s, "SELECT count(*), count(a) FROM nothing"))
	c.requireSpace()
}
