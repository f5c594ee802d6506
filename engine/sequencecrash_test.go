package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// takers take values from sessions, in all ways that there are; no value is given to
// two of them.
func takeValues(t *testing.T, of func(int) *engine.Session, takers, each int) {
	exec(t, of(0), "CREATE TABLE t (id bigserial, k integer); CREATE SEQUENCE s")
	var mu sync.Mutex
	seen := map[string]bool{}
	note := func(kind string, values []string) error {
		mu.Lock()
		defer mu.Unlock()
		for _, v := range values {
			if seen[kind+v] {
				return fmt.Errorf("%s %s was given twice", kind, v)
			}
			seen[kind+v] = true
		}
		return nil
	}
	var group errgroup.Group
	for i := range takers {
		s := of(i)
		group.Go(func() error {
			for n := range each {
				sql, kind := []string{
					"SELECT nextval('s')", "INSERT INTO t (k) VALUES (1), (2) RETURNING id", "SELECT nextval('s') FROM range(7)",
					"INSERT INTO t (k) VALUES (3)", "INSERT INTO t (k) SELECT range FROM range(5)",
				}[n%5], []string{"s", "t", "s", "", ""}[n%5]
				found, err := tryRows(s, sql)
				if kind == "" && err == nil {
					continue
				}
				if err == nil {
					err = note(kind, found)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	want := fmt.Sprint(takers * (2*((each+3)/5) + (each+1)/5 + 5*(each/5)))
	require.Equal(t, []string{want + "|" + want}, rows(t, of(0), "SELECT count(*), count(DISTINCT id) FROM t"))
}

// SQ1.
func TestSequenceOfManyClients(t *testing.T) {
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		takeValues(t, func(int) *engine.Session { return session(t, e) }, 8, 40)
		s := session(t, e)
		require.Equal(t, []string{"512"}, rows(t, s, "SELECT last_value FROM s"), "nothing was lost")
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		takeValues(t, func(i int) *engine.Session { return c.session(i % 3) }, 8, 40)
	})
}

// What one node sets or restarts counts on the others at once.
func TestSequenceOfThreeNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := []*engine.Session{c.session(0), c.session(1), c.session(2)}
	exec(t, s[0], "CREATE SEQUENCE s; CREATE TABLE t (id serial, k integer)")
	for i := range s {
		exec(t, s[i], "SELECT nextval('s'); INSERT INTO t (k) VALUES (1)")
	}
	exec(t, s[1], "SELECT setval('s', 1000)")
	require.Equal(t, []string{"1001"}, rows(t, s[2], "SELECT nextval('s')"))
	for i := range s {
		value, err := strconv.Atoi(rows(t, s[i], "SELECT nextval('s')")[0])
		require.NoError(t, err)
		require.Greater(t, value, 1000)
	}
	exec(t, s[2], "ALTER SEQUENCE s RESTART WITH 5")
	require.Equal(t, []string{"5"}, rows(t, s[0], "SELECT nextval('s')"))
	exec(t, s[1], "TRUNCATE t RESTART IDENTITY")
	exec(t, s[2], "INSERT INTO t (k) VALUES (2)")
	require.Equal(t, []string{"1|2"}, rows(t, s[0], "SELECT * FROM t"))
}

// sequenceRole takes values until it is killed.
func sequenceRole(c *childSide) error {
	var a crashArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Config{
		Dialect: engine.DialectDuckDB, Directory: a.Directory, RegionDirectory: a.RegionDirectory, RegionBytes: 64 << 20,
		MemoryBytes: 256 << 20, Threads: 1, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	var group errgroup.Group
	for range 4 {
		s, err := e.Session(engine.SessionOptions{})
		if err != nil {
			return err
		}
		group.Go(func() error {
			for {
				for _, sql := range []string{"INSERT INTO t (k) VALUES (1) RETURNING id", "SELECT nextval('s')"} {
					found, err := tryRows(s, sql)
					if err != nil {
						return err
					}
					c.say("%s %s", sql[:1], found[0])
				}
			}
		})
	}
	return group.Wait()
}

// SQ1: a node that is killed at any moment gives no value again that it has given.
func TestSequencesSurviveKills(t *testing.T) {
	t.Parallel()
	a := crashArguments{Directory: t.TempDir(), RegionDirectory: shmDirectory(t)}
	start := func() *engine.Engine {
		e, err := engine.Open(context.Background(), engine.Config{
			Dialect: engine.DialectDuckDB, Directory: a.Directory, RegionDirectory: a.RegionDirectory, RegionBytes: 64 << 20,
			MemoryBytes: 256 << 20, Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		return e
	}
	e := start()
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	exec(t, s, "CREATE TABLE t (id serial, k integer); CREATE SEQUENCE s")
	require.NoError(t, e.Close())
	given := map[string]int{}
	for round := range 4 * testsuite.Effort() {
		p := spawn(t, "sequence", a)
		for range 40 + 30*round {
			given[p.expect("")]++
		}
		p.signal(9)
		for _, line := range p.wait() {
			given[line]++
		}
		require.True(t, p.killed())
	}
	var ids []string
	for line, times := range given {
		require.Equal(t, 1, times, "%s was given twice", line)
		if id, ok := strings.CutPrefix(line, "I "); ok {
			ids = append(ids, id)
		}
	}
	e = start()
	defer func() { require.NoError(t, e.Close()) }()
	s = session(t, e)
	there := rows(t, s, "SELECT id FROM t")
	sort.Strings(there)
	sort.Strings(ids)
	require.Subset(t, there, ids, "what was acknowledged is there")
	require.Equal(t, []string{fmt.Sprint(len(there))}, rows(t, s, "SELECT count(DISTINCT id) FROM t"))
	next := rows(t, s, "SELECT nextval('s')")[0]
	require.Zero(t, given["S "+next])
}

// A node that ends and comes back goes on where it was.
func TestSequencesOverRestarts(t *testing.T) {
	t.Parallel()
	directory, region := t.TempDir(), shmDirectory(t)
	for want := 1; want < 40; want += 3 {
		e, err := engine.Open(context.Background(), engine.Config{
			Dialect: engine.DialectDuckDB, Directory: directory, RegionDirectory: region, RegionBytes: 64 << 20,
			MemoryBytes: 256 << 20, Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		s, err := e.Session(engine.SessionOptions{})
		require.NoError(t, err)
		if want == 1 {
			exec(t, s, "CREATE SEQUENCE s")
		}
		for i := range 3 {
			require.Equal(t, []string{fmt.Sprint(want + i)}, rows(t, s, "SELECT nextval('s')"))
		}
		require.Equal(t, []string{fmt.Sprintf("%d|true", want+2)}, rows(t, s, "SELECT last_value, is_called FROM s"))
		require.NoError(t, e.Close())
	}
}
