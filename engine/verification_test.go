package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// flipUnseen changes one bit of a table's first value, in memory, through a map that stays until the test ends: no
// watcher sees the store.
func flipUnseen(t *testing.T, s *engine.Session, spec memregion.Spec, table string) (at int64) {
	t.Helper()
	at, err := strconv.ParseInt(rows(t, s, "SELECT position FROM csm.chunks WHERE name = '"+table+"'")[0], 10, 64)
	require.NoError(t, err)
	file, err := os.OpenFile(spec.Path, os.O_RDWR, 0)
	require.NoError(t, err)
	memory, err := unix.Mmap(int(file.Fd()), at, memregion.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, unix.Munmap(memory))
		require.NoError(t, file.Close())
	})
	memory[0] ^= 4
	return at
}

const (
	summed   = "SELECT sum(a)::VARCHAR, count(*) FROM bad WHERE a >= 0"
	rightSum = "499500|1000"
	wrongSum = "499504|1000"
)

func requireDamaged(t *testing.T, s *engine.Session, node string) {
	t.Helper()
	found, err := tryRows(s, summed)
	require.Equal(t, "XX001", sqlState(err), "%v", err)
	require.ErrorContains(t, err, "chunk 0 of table public.bad on node "+node+" is damaged")
	require.Empty(t, found)
}

// What is read is compared when Config.Verify says so, and not otherwise.
func TestVerification(t *testing.T) {
	t.Parallel()
	open := func(v engine.Verification) (*engine.Engine, *engine.Session) {
		e, err := engine.Open(context.Background(), engine.Config{
			Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, Node: "alone", Fabric: memregion.FabricShm, Verify: v,
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		s := session(t, e)
		exec(t, s, "CREATE TABLE bad AS SELECT range AS a FROM range(1000)")
		return e, s
	}
	for v, read := range map[engine.Verification][2]string{ // before, and after the bit was flipped; empty: the damage is found
		engine.VerifyOff: {rightSum, wrongSum}, engine.VerifyDefault: {rightSum, wrongSum}, engine.VerifyFirst: {rightSum, wrongSum}, engine.VerifyAlways: {rightSum, ""},
	} {
		t.Run("read before, "+string(v), func(t *testing.T) {
			e, s := open(v)
			require.Equal(t, []string{read[0]}, rows(t, s, summed))
			flipUnseen(t, s, e.RegionSpec(), "bad")
			if read[1] == "" {
				requireDamaged(t, s, "alone")
			} else {
				require.Equal(t, []string{read[1]}, rows(t, s, summed))
			}
		})
	}
	for v, found := range map[engine.Verification]bool{
		engine.VerifyOff: false, engine.VerifyDefault: false, engine.VerifyFirst: true, engine.VerifyAlways: true,
	} {
		t.Run("not read before, "+string(v), func(t *testing.T) {
			e, s := open(v)
			flipUnseen(t, s, e.RegionSpec(), "bad")
			if found {
				requireDamaged(t, s, "alone")
			} else {
				require.Equal(t, []string{wrongSum}, rows(t, s, summed), "this process wrote it, and no alteration was seen")
			}
		})
	}
	_, err := engine.Open(context.Background(), engine.Config{Directory: t.TempDir(), Verify: "often"})
	require.Equal(t, "22023", sqlState(err), "%v", err)
}

// An attached process compares as it is configured, whatever its node does.
func TestVerificationOfAnAttachedProcess(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	e, err := engine.Open(context.Background(), engine.Config{Directory: directory, RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, Node: "alone", Fabric: memregion.FabricShm, Verify: engine.VerifyOff})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	socket := filepath.Join(directory, "csmsql.sock")
	stop, err := serve(e, socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	s := session(t, e)
	exec(t, s, "CREATE TABLE bad AS SELECT range AS a FROM range(1000)")
	attached := map[engine.Verification]*engine.Session{}
	for _, v := range []engine.Verification{engine.VerifyOff, engine.VerifyFirst, engine.VerifyAlways} {
		borrower, err := engine.AttachWith(context.Background(), socket, engine.Config{Verify: v, MemoryBytes: 64 << 20})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, borrower.Close()) })
		attached[v] = session(t, borrower)
	}
	require.Equal(t, []string{rightSum}, rows(t, attached[engine.VerifyAlways], summed))
	flipUnseen(t, s, e.RegionSpec(), "bad")
	require.Equal(t, []string{wrongSum}, rows(t, attached[engine.VerifyOff], summed))
	requireDamaged(t, attached[engine.VerifyFirst], "alone")
	requireDamaged(t, attached[engine.VerifyAlways], "alone")
	_, err = engine.AttachWith(context.Background(), socket, engine.Config{Verify: "often"})
	require.Equal(t, "22023", sqlState(err), "%v", err)
}

// A check of a table reads the memory, and not what the machine's caches have kept of it since it was read and
// verified.
func TestACheckLooksAtTheMemory(t *testing.T) {
	t.Parallel()
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		e := open(t, onFabric(fabric))
		s := session(t, e)
		exec(t, s, "CREATE TABLE bad AS SELECT range AS a FROM range(1000)")
		require.Equal(t, []string{rightSum}, rows(t, s, summed))
		require.NoError(t, e.VerifyChecksums(t.Context()))
		flipUnseen(t, s, e.RegionSpec(), "bad")
		require.Equal(t, "XX001", sqlState(e.VerifyChecksums(t.Context())))
	})
}

// The same where caches are not coherent: there everything is compared when a machine first reads it, unless that was switched off.
func TestVerificationOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		verify := []engine.Verification{engine.VerifyDefault, engine.VerifyOff, engine.VerifyFirst, engine.VerifyAlways}
		c := startCluster(&cluster{t: t, change: func(i int, config *engine.Config) { config.Fabric, config.Verify = fabric, verify[i] }}, len(verify))
		exec(t, c.session(0), "CREATE TABLE bad AS SELECT range AS a FROM range(1000)")
		at := flipUnseen(t, c.session(0), c.nodes[0].RegionSpec(), "bad")
		if strings.Contains(string(fabric), "home-snoop") { // the lender's cache answers, until it has the line no more
			c.nodes[0].Drop(memregion.Range{Offset: at, Length: memregion.PageSize})
		}
		for i, v := range verify {
			s := c.session(i)
			exec(t, s, "SET csm.distribute = 'off'")
			if v == engine.VerifyOff {
				require.Equal(t, []string{wrongSum}, rows(t, s, summed))
			} else {
				requireDamaged(t, s, "n0")
			}
		}
	})
}
