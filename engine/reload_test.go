package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
)

// sources writes files of equal rows with NULLs, long strings, lists and structs in them: rows of someRows.
func sources(t testing.TB, from, to int) (directory string) {
	directory = t.TempDir()
	s := session(t, open(t, func(c *engine.Config) { c.RegionBytes = 16 << 20; c.Files.All = true }))
	query := fmt.Sprintf(someRows, from, to)
	exec(t, s, "COPY ("+query+") TO '"+filepath.Join(directory, "f.parquet")+"' (ROW_GROUP_SIZE 2048)")
	exec(t, s, "COPY ("+query+") TO '"+filepath.Join(directory, "f.arrow")+"'")
	exec(t, s, "COPY (SELECT a, b, d, {'x': a, 'y': CASE WHEN a % 7 = 2 THEN NULL ELSE d END} AS l FROM ("+query+")) TO '"+filepath.Join(directory, "f.json")+"'")
	exec(t, s, "COPY (SELECT a, b, d FROM ("+query+")) TO '"+filepath.Join(directory, "f.csv")+"' (HEADER true, NULL '~')")
	return directory
}

func load(t testing.TB, e *engine.Engine, table string, options noderpc.LoadOptions, files ...string) {
	t.Helper()
	_, err := e.Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Name: table}, Files: files, Options: options}, nil)
	require.NoError(t, err)
}

// all is a table's rows, whatever its columns.
func all(t testing.TB, s *engine.Session, table string) string {
	t.Helper()
	return strings.Join(rows(t, s, "FROM "+table+" ORDER BY ALL"), "\n")
}

// A machine was booted: the region is gone, and tables come back from where their rows came, each in its own way, byte by byte.
func TestReloadAfterReboot(t *testing.T) {
	t.Parallel()
	files := sources(t, 0, 6000)
	in := func(name string) string { return filepath.Join(files, name) }
	config := engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 32 << 20, MemoryBytes: 512 << 20, Threads: 2, Log: slog.New(slog.DiscardHandler)}
	config.Files.Directories = []string{files}
	e, err := engine.Open(t.Context(), config)
	require.NoError(t, err)
	s := session(t, e)
	load(t, e, "parquet", noderpc.LoadOptions{}, in("f.parquet"), in("f.parquet"))
	load(t, e, "arrow", noderpc.LoadOptions{}, in("f.arrow"))
	load(t, e, "json", noderpc.LoadOptions{}, in("f.json"))
	load(t, e, "csv", noderpc.LoadOptions{Parameters: map[string]string{"null": "~"}}, in("f.csv"))
	exec(t, s, "CREATE TABLE copied (d DECIMAL(10,2) NOT NULL, a INTEGER, b TEXT, e TEXT DEFAULT 'x')")
	exec(t, s, "COPY copied (a, b, d) FROM '"+in("f.csv")+"' (HEADER true, NULL '~')")
	exec(t, s, "COPY copied (a, b, d) FROM '"+in("f.csv")+"' (HEADER true, NULL '~')")
	exec(t, s, "CREATE TABLE arrows (a INTEGER, b TEXT, d DECIMAL(10,2), l INTEGER[])")
	exec(t, s, "COPY arrows FROM '"+in("f.arrow")+"'")
	require.NoError(t, e.LoadTPCH(t.Context(), noderpc.TPCHRequest{ScaleFactor: 0.001}, nil))
	exec(t, s, "CREATE TABLE keyed (k INTEGER PRIMARY KEY, w TEXT)")
	exec(t, s, "COPY (SELECT (i * 7919) % 20011, 'w' || i FROM range(20011) r(i)) TO '"+in("k.csv")+"'")
	exec(t, s, "COPY keyed FROM '"+in("k.csv")+"'; VACUUM keyed")
	require.Equal(t, []string{"k|" + in("k.csv")}, rows(t, s, "SELECT orders, source FROM csm.chunks WHERE name = 'keyed'"))
	exec(t, s, "CREATE TABLE written (a INTEGER); INSERT INTO written VALUES (1)")
	exec(t, s, "CREATE SCHEMA other; SET search_path = other, public")
	exec(t, s, "CREATE TABLE public.derived AS SELECT b, count(*) AS n, list(a ORDER BY a) AS l, {'x': max(d)} AS x, map([1], [min(a)]) AS m FROM parquet GROUP BY b")
	exec(t, s, "CREATE TABLE public.casual AS SELECT a, random() AS r FROM parquet")
	exec(t, s, "CREATE TABLE public.changed AS SELECT sum(a) AS n FROM public.written")
	exec(t, s, "CREATE TABLE public.mixed AS FROM parquet LIMIT 0")
	exec(t, s, "INSERT INTO public.mixed FROM parquet LIMIT 10")
	load(t, e, "mixed", noderpc.LoadOptions{Mode: noderpc.LoadAppend}, in("f.parquet"))
	exec(t, s, "SET integer_division = true; CREATE TABLE public.halves AS SELECT a / 2 AS a FROM csv; RESET integer_division")
	tables := []string{"parquet", "arrow", "json", "csv", "copied", "arrows", "lineitem", "nation", "public.derived", "public.halves",
		"keyed"}
	want := map[string]string{}
	for _, name := range tables {
		want[name] = all(t, s, name)
	}
	require.Equal(t, []string{in("f.parquet")}, rows(t, s, "SELECT source FROM csm.tables WHERE name = 'mixed'"))
	require.Equal(t, []string{"0|(null)", "1|" + in("f.parquet")}, rows(t, s, "SELECT chunk, source FROM csm.chunks WHERE name = 'mixed'"))
	require.Equal(t, []string{"TPC-H lineitem at scale factor 0.001"}, rows(t, s, "SELECT source FROM csm.tables WHERE name = 'lineitem'"))
	path := e.RegionSpec().Path
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	require.NoError(t, os.Remove(path))

	e, err = engine.Open(t.Context(), config)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	s = session(t, e)
	_, err = tryRows(s, "SELECT sum(a) FROM csv")
	require.Error(t, err)
	require.Equal(t, "58030", sqlState(err))
	require.Equal(t, `ALTER TABLE "public"."csv" RELOAD rebuilds them from their source: `+in("f.csv")+".", hintOf(err))
	require.Equal(t, []string{"true"}, rows(t, s, "SELECT bool_and(missing = chunks) FROM csm.tables WHERE rows > 0"))
	refusedReload(t, e, s, in("f.csv"))
	for _, name := range tables {
		exec(t, s, "ALTER TABLE "+name+" RELOAD")
		require.Equal(t, want[name], all(t, s, name), name)
	}
	exec(t, s, "VACUUM keyed") // orders are rebuilt
	require.Equal(t, []string{"k"}, rows(t, s, "SELECT orders FROM csm.chunks WHERE name = 'keyed'"))
	require.Equal(t, []string{"w7"}, rows(t, s, "SELECT w FROM keyed WHERE k = 7 * 7919 % 20011"))
	_, err = s.Exec(t.Context(), "ALTER TABLE mixed RELOAD")
	require.Equal(t, "58000", sqlState(err))
	require.EqualError(t, err, "chunk 0 (10 rows) of table public.mixed, on node local, cannot be reloaded: no source is on record")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT missing FROM csm.tables WHERE name = 'mixed'"), "the others are back")
	_, err = tryRows(s, "FROM mixed")
	require.Contains(t, detailOf(err), "chunk 0 (10 rows) of table public.mixed, on node local, cannot be read anywhere.")
	derivedAgain(t, e, s)
	exec(t, s, "DROP TABLE mixed; DROP TABLE written; DROP TABLE casual; DROP TABLE changed")
	for _, name := range rows(t, s, "SELECT name FROM csm.tables WHERE missing > 0") {
		exec(t, s, "ALTER TABLE "+name+" RELOAD")
	}
	require.NoError(t, e.CheckSpace(t.Context()))
	require.NoError(t, e.VerifyChecksums(t.Context()))
	reloaded := e.Figures().ChunksReloaded
	require.Positive(t, reloaded)
	exec(t, s, "ALTER TABLE csv RELOAD") // nothing to do
	require.Equal(t, reloaded, e.Figures().ChunksReloaded)
}

// derivedAgain: tables of queries come back if the queries give the same rows, whatever their order, and are refused if not.
func derivedAgain(t *testing.T, e *engine.Engine, s *engine.Session) {
	reload := func(table string) func() error {
		return func() error { _, err := s.Exec(t.Context(), "ALTER TABLE "+table+" RELOAD"); return err }
	}
	err := refused(t, e, "58000", []string{"table public.casual cannot be reloaded: its query gives other rows now"}, reload("casual"))
	require.Contains(t, detailOf(err), "random()")
	refused(t, e, "58030", []string{"public.written"}, reload("changed")) // what it reads is lost, too
	exec(t, s, "TRUNCATE written; INSERT INTO written VALUES (1), (2)")
	refused(t, e, "58000", []string{"public.changed", "other rows now (public.written was written since)"}, reload("changed"))
	exec(t, s, "DROP TABLE written")
	refused(t, e, "58000", []string{"public.changed", "its query fails: ", "(public.written is gone)"}, reload("changed"))
	exec(t, s, "CREATE TABLE written AS SELECT 1 AS a")
	require.NoError(t, reload("changed")())
	require.Equal(t, []string{"1"}, rows(t, s, "FROM changed"), "what gives the same rows is the same")
}

// refusedReload: a source that is not what it was is refused by name, however it was changed, and nothing has happened.
func refusedReload(t *testing.T, e *engine.Engine, s *engine.Session, file string) {
	was, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	for how, change := range map[string]func() error{
		"it has": func() error { return os.WriteFile(file, append(was, '\n'), 0o600) },
		`column "b"`: func() error { // as long, and as old
			other := strings.Replace(string(was), "word 5", "word 7", 1)
			return errors.Join(os.WriteFile(file, []byte(other), 0o600), os.Chtimes(file, time.Time{}, info.ModTime()))
		},
		"was changed":  func() error { return os.WriteFile(file, []byte(strings.Repeat("x", len(was))), 0o600) },
		"is not there": func() error { return os.Remove(file) },
	} {
		require.NoError(t, change())
		err := refused(t, e, "58000", []string{"public.csv", file, how}, func() error { _, err := s.Exec(t.Context(), "ALTER TABLE csv RELOAD"); return err })
		require.Contains(t, hintOf(err), "Nothing was changed.", how)
		require.NoError(t, os.WriteFile(file, was, 0o600), "its time is another, its rows are not")
	}
}

func detailOf(err error) string {
	var d interface{ Detail() string }
	if errors.As(err, &d) {
		return d.Detail()
	}
	return ""
}

func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// A node is gone for good: what it alone had comes back from where its rows came, at other nodes, and nothing else moves. When it comes back
// after all, its own count again and the others are let go.
func TestReloadOfALostNode(t *testing.T) {
	t.Parallel()
	file := filepath.Join(sources(t, 0, 6000), "f.parquet")
	c := newRepairingCluster(t, 3, 200*time.Millisecond)
	s := c.session(0)
	names := map[string]string{"l": "node(n2)", "r": "rows", "h": "hash(a)", "x": "hash(a) on (n2, n0)"}
	want := map[string]string{}
	for name, placement := range names {
		load(t, c.nodes[0], name, noderpc.LoadOptions{Placement: placement}, file)
		load(t, c.nodes[1], name, noderpc.LoadOptions{Mode: noderpc.LoadAppend}, file)
		want[name] = sumOf(t, s, name)
	}
	require.NoError(t, c.nodes[1].LoadTPCH(t.Context(), noderpc.TPCHRequest{ScaleFactor: 0.001, Placement: "hash"}, nil))
	tpch := rows(t, s, "SELECT sum(hash(COLUMNS(*))::HUGEINT)::VARCHAR FROM lineitem")
	exec(t, s, "CREATE TABLE written (a INTEGER) WITH (placement = 'node(n2)')")
	exec(t, s, "INSERT INTO written SELECT range FROM range(10)")
	lies := "SELECT name, chunk, node, region, generation FROM csm.chunks WHERE name <> 'written' ORDER BY ALL"
	before := rows(t, s, lies)
	ask := func(at ...int) {
		for _, i := range at {
			one := c.session(i)
			exec(t, one, "SET csm.distribute = 'always'")
			for name := range names {
				require.Equal(t, want[name], sumOf(t, one, name), "%s at n%d", name, i)
			}
			require.Equal(t, []string{"24000"}, rows(t, one, "SELECT count(y.d) FROM h x JOIN x y ON x.a = y.a"))
			require.Equal(t, tpch, rows(t, one, "SELECT sum(hash(COLUMNS(*))::HUGEINT)::VARCHAR FROM lineitem"))
		}
	}
	c.stop(2)
	c.requireGone("n2")
	waitUntil(t, "everything is back that has a source", func() bool {
		return rows(t, s, "SELECT string_agg(name) FROM csm.tables WHERE missing > 0")[0] == "written"
	})
	ask(0, 1)
	require.Equal(t, before, rows(t, s, lies), "whose part of the table a chunk is does not change")
	_, err := tryRows(s, "FROM written")
	require.Equal(t, "58000", sqlState(err))
	require.Contains(t, detailOf(err), "chunk 0 (10 rows) of table public.written, on node n2, cannot be read anywhere. No source of the rows is on record.")
	c.requireSpace()
	c.nodes[2] = c.open(2)
	for name := range names {
		c.asItWas(s, 1, name)
	}
	ask(0, 2)
	require.Equal(t, before, rows(t, s, lies))
	c.requireSpace()
}

// Tables of queries that lay at a lost node, wholly or in part, are rebuilt among the others, sources before the tables
// made of them. When the node comes back, what it had is unowned.
func TestReloadOfQueries(t *testing.T) {
	t.Parallel()
	c := newRepairingCluster(t, 3, 200*time.Millisecond)
	s := c.session(0)
	load(t, c.nodes[0], "base", noderpc.LoadOptions{Placement: "rows"}, filepath.Join(sources(t, 0, 6000), "f.parquet"))
	names := []string{"first", "second", "h", "r", "v"}
	exec(t, s, "CREATE TABLE first WITH (placement = 'node(n2)') AS FROM base WHERE a % 2 = 0")
	exec(t, s, "CREATE TABLE second WITH (placement = 'rows') AS FROM first UNION ALL FROM first")
	exec(t, s, "CREATE TABLE h WITH (placement = 'hash(a)') AS FROM base")
	exec(t, s, "CREATE TABLE r WITH (placement = 'rows', replicas = 2) AS FROM base")
	exec(t, s, "CREATE MATERIALIZED VIEW v WITH (placement = 'rows') AS FROM base WITH NO DATA")
	exec(t, s, "REFRESH MATERIALIZED VIEW v")
	want := map[string]string{}
	for _, name := range names {
		want[name] = sumOf(t, s, name)
	}
	c.stop(2)
	c.requireGone("n2")
	c.stop(1)
	c.requireGone("n1")
	waitUntil(t, "everything is back", func() bool { return rows(t, s, "SELECT count(*) FROM csm.tables WHERE missing > 0")[0] == "0" })
	ask := func(i int) {
		one := c.session(i)
		exec(t, one, "SET csm.distribute = 'always'")
		for _, name := range names {
			require.Equal(t, want[name], sumOf(t, one, name), "%s at n%d", name, i)
		}
		require.Equal(t, []string{"6000"}, rows(t, one, "SELECT count(*) FROM h x JOIN h y ON x.a = y.a"))
	}
	ask(0)
	require.Equal(t, []string{"hash(a) on (n0)"}, rows(t, s, "SELECT placement FROM csm.tables WHERE name = 'h'"))
	c.requireSpace()
	c.nodes[1], c.nodes[2] = c.open(1), c.open(2)
	c.asItWas(s, 1, "base")
	ask(2)
	c.requireSpace()
}

// A session reloads a table of a node that is not there; before the commit the node comes back with the original. There
// is one of each row all the time, and in the end nothing is held twice.
func TestReloadWhileTheNodeComesBack(t *testing.T) {
	t.Parallel()
	file := filepath.Join(sources(t, 0, 3000), "f.parquet")
	c := newCluster(t, 2)
	var back func()
	c.onFault(func(node int, point faults.Point) {
		if node == 0 && point == faults.MoveCopied && back != nil {
			back()
		}
	})
	s := c.session(0)
	load(t, c.nodes[0], "t", noderpc.LoadOptions{Placement: "rows"}, file)
	want := sumOf(t, s, "t")
	c.stop(1)
	c.requireGone("n1")
	_, err := tryRows(s, "SELECT sum(a) FROM t")
	require.Equal(t, "58000", sqlState(err))
	require.Contains(t, hintOf(err), `ALTER TABLE "public"."t" RELOAD rebuilds them from their source: `+file)
	require.Contains(t, hintOf(err), "Or start node n1 again.")
	back = func() { c.nodes[1] = c.open(1); c.requireHere("n1"); back = nil }
	exec(t, s, "ALTER TABLE t RELOAD")
	require.Nil(t, back)
	for i := range 2 {
		require.Equal(t, want, sumOf(t, c.session(i), "t"))
	}
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT max(replicas) FROM csm.chunks WHERE name = 't'"), "no node repairs here")
	exec(t, s, "ALTER TABLE t SET (replicas = 1)")
	c.requireReplicas(s, "t", 1)
	require.Equal(t, want, sumOf(t, s, "t"))
	c.requireSpace()
}

func (c *cluster) requireHere(name string) {
	s := c.session(0)
	waitUntil(c.t, name+" is here", func() bool {
		return rows(c.t, s, "SELECT count(*) FROM csm.nodes WHERE state = 'online' AND name = '"+name+"'")[0] == "1"
	})
}

// reloadArguments of a child that reloads table t and dies at a point.
type reloadArguments struct{ Directory, Regions, Point string }

func reloadRole(c *childSide) error {
	var a reloadArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.Regions, RegionBytes: 16 << 20, MemoryBytes: 256 << 20, Threads: 1, Log: slog.New(slog.DiscardHandler),
		Fault: func(point faults.Point) {
			if point.String() == a.Point {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		},
	})
	if err != nil {
		return err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err == nil {
		_, err = s.Exec(context.Background(), "ALTER TABLE t RELOAD")
	}
	return err
}

// A reload is killed in its middle: the table is lost as before or all there, no extent is unowned, and another reload
// ends it.
func TestReloadKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(sources(t, 0, 2000), "f.parquet")
	config := engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 16 << 20, MemoryBytes: 256 << 20, Threads: 1, Log: slog.New(slog.DiscardHandler)}
	e, err := engine.Open(t.Context(), config)
	require.NoError(t, err)
	for _, mode := range []noderpc.LoadMode{noderpc.LoadCreate, noderpc.LoadAppend} {
		load(t, e, "t", noderpc.LoadOptions{Mode: mode}, file)
	}
	want := sumOf(t, session(t, e), "t")
	lose := func() {
		path := e.RegionSpec().Path
		require.NoError(t, e.Close())
		require.NoError(t, os.Remove(path))
	}
	for point, missing := range map[faults.Point]string{faults.ReplicaCopied: "2", faults.CommitStored: "0"} {
		lose()
		p := spawn(t, "reload", reloadArguments{config.Directory, config.RegionDirectory, point.String()})
		p.wait()
		require.True(t, p.killed(), "%s: %s", point, p.stderr.String())
		e, err = engine.Open(t.Context(), config)
		require.NoError(t, err)
		require.NoError(t, e.CheckSpace(t.Context()))
		s := session(t, e)
		require.Equal(t, []string{missing}, rows(t, s, "SELECT missing FROM csm.tables"), point)
		exec(t, s, "ALTER TABLE t RELOAD")
		require.Equal(t, want, sumOf(t, s, "t"))
		require.NoError(t, e.CheckSpace(t.Context()))
	}
	require.NoError(t, e.Close())
}

// A node that is gone for good is drained: what it had lies elsewhere, from other replicas and, where there is none, after a reload; what has no
// source is named, and the others are done. Then nothing is left of it.
func TestDrainOfALostNode(t *testing.T) {
	t.Parallel()
	file := filepath.Join(sources(t, 0, 3000), "f.parquet")
	c := newCluster(t, 3)
	s := c.session(0)
	load(t, c.nodes[0], "loaded", noderpc.LoadOptions{Placement: "rows"}, file)
	load(t, c.nodes[0], "h", noderpc.LoadOptions{Placement: "hash(a)"}, file)
	load(t, c.nodes[0], "twice", noderpc.LoadOptions{Placement: "hash(a)", Replicas: 2}, file)
	want := sumOf(t, s, "loaded")
	exec(t, s, "CREATE TABLE written (a INTEGER) WITH (placement = 'node(n2)'); INSERT INTO written VALUES (1)")
	require.Equal(t, "42704", state(t, c.nodes[0].Drain(t.Context(), "unknown", nil)))
	c.stop(2)
	c.requireGone("n2")
	err := c.nodes[0].Drain(t.Context(), "n2", nil)
	require.Equal(t, "58000", state(t, err))
	for _, name := range []string{"loaded", "h"} {
		exec(t, s, "ALTER TABLE "+name+" RELOAD")
	}
	err = c.nodes[0].Drain(t.Context(), "n2", nil)
	require.Equal(t, "58000", state(t, err))
	require.ErrorContains(t, err, "public.written")
	exec(t, s, "DROP TABLE written")
	require.NoError(t, c.nodes[0].Drain(t.Context(), "n2", nil))
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.chunks WHERE node = 'n2' OR others LIKE '%n2%'"))
	require.Equal(t, []string{"h|hash(a) on (n0, n1)", "twice|hash(a) on (n0, n1)"}, rows(t, s, "SELECT name, placement FROM csm.tables WHERE name <> 'loaded' ORDER BY 1"))
	ask := func(i int) {
		one := c.session(i)
		exec(t, one, "SET csm.distribute = 'always'")
		for _, name := range []string{"loaded", "h", "twice"} {
			require.Equal(t, want, sumOf(t, one, name), name)
		}
		require.Equal(t, []string{"3000"}, rows(t, one, "SELECT count(*) FROM h x JOIN twice y ON x.a = y.a"))
	}
	ask(1)
	c.requireReplicas(s, "twice", 2)
	c.requireSpace()
	c.nodes[2] = c.open(2)
	ask(2)
	c.requireSpace()
}
