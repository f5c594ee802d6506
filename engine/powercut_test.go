package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// outlet is a node on a disk that loses its power: what the region's file got and was not synced is there or not, page
// by page. All that is committed here is small, so that nothing of it is synced in the region before the log is full,
// which it is not.
type outlet struct {
	t      *testing.T
	r      *rand.Rand
	config engine.Config
	base   []byte            // of the region, as the last orderly end left it
	image  map[string][]byte // of the catalog's files, when the power went
	region []byte            // what the file had then, for the processes of the machine
}

func (o *outlet) path() string {
	found, err := filepath.Glob(filepath.Join(o.config.Directory, "*.region"))
	require.NoError(o.t, err)
	require.Len(o.t, found, 1)
	return found[0]
}

func (o *outlet) read(path string) []byte {
	b, err := os.ReadFile(path)
	require.NoError(o.t, err)
	return b
}

// cut takes down what there is; the node is closed, and what it does then is lost.
func (o *outlet) cut(e *engine.Engine) {
	o.image, o.region = map[string][]byte{}, o.read(o.path())
	for _, name := range []string{store.FileName, store.LogName} {
		o.image[name] = o.read(filepath.Join(o.config.Directory, name))
	}
	require.NoError(o.t, e.Close())
}

// restore is the disk when the power is back; share of a hundred pages reached it. File systems may have forgotten that
// the file grew.
func (o *outlet) restore(share int) {
	for name, b := range o.image {
		require.NoError(o.t, os.WriteFile(filepath.Join(o.config.Directory, name), b, 0o600))
	}
	disk := slices.Clone(o.base)
	if share > 0 {
		disk = append(disk, make([]byte, max(0, len(o.region)-len(disk)))...)
	}
	for at := 0; at < len(o.region) && at < len(disk); at += 4096 {
		if o.r.IntN(100) < share {
			copy(disk[at:at+4096], o.region[at:])
		}
	}
	require.NoError(o.t, os.WriteFile(o.path(), disk, 0o600))
}

func (o *outlet) open() *engine.Engine {
	e, err := engine.Open(context.Background(), o.config)
	require.NoError(o.t, err)
	return e
}

// holds checks that the tables have what was acknowledged, when every byte was compared with its checksum.
func (o *outlet) holds(want map[string][]string, what string) *engine.Engine {
	e := o.open()
	require.NoError(o.t, e.VerifyChecksums(context.Background()), what)
	s := session(o.t, e)
	for query, answer := range want {
		require.Equal(o.t, answer, rows(o.t, s, query), "%s: %s", what, query)
	}
	require.NoError(o.t, e.CheckSpace(context.Background()))
	return e
}

// owes reports whether the catalog has something of the region that is not on the disk there.
func (o *outlet) owes() bool {
	bolt, err := store.OpenBolt(o.config.Directory)
	require.NoError(o.t, err)
	has, err := bolt.HasRedos()
	require.NoError(o.t, err)
	require.NoError(o.t, bolt.Close())
	return has
}

func TestPowerCut(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	o := &outlet{t: t, r: rand.New(rand.NewPCG(16, 39)), config: engine.Config{
		Directory: directory, RegionDirectory: directory, Fabric: "file", RegionBytes: 64 << 20, NoCompaction: true,
	}}
	e := o.open()
	s := session(t, e)
	exec(t, s, "CREATE TABLE kept (id bigint, v text)")
	exec(t, s, "INSERT INTO kept SELECT i, 'old ' || i FROM range(100) r(i)")
	require.NoError(t, e.Close())
	next := 0
	for round := range 2 * testsuite.Effort() {
		o.base = o.read(o.path())
		e = o.open()
		o.work(e, &next)
		s = session(t, e)
		want := map[string][]string{}
		for _, q := range []string{
			"SELECT count(*), count(DISTINCT id), sum(id), min(v), max(v) FROM kept",
			"SELECT count(*), sum(hash(id, v)::hugeint)::text FROM kept",
		} {
			want[q] = rows(t, s, q)
		}
		require.Equal(t, []string{fmt.Sprint(100 + next)}, rows(t, s, "SELECT count(*) FROM kept"))
		o.cut(e)
		for _, share := range []int{0, 50, 100} {
			what := fmt.Sprintf("round %d, %d of 100 pages", round, share)
			o.restore(share)
			require.NoError(t, o.holds(want, what).Close(), what)
			require.False(t, o.owes(), "the region has all of it now")
			require.NoError(t, o.holds(want, what+", after an end in order").Close())

			o.restore(share) // and the power goes again, when the log is read, and nothing is written yet
			require.True(t, o.owes())
			require.NoError(t, o.holds(want, what+", read and cut again").Close())
		}
	}
}

// work inserts rows one by one, from several sessions, updates and deletes some, and folds what is small, so that
// memory comes free and is another chunk's.
func (o *outlet) work(e *engine.Engine, next *int) {
	for range 3 {
		var writers sync.WaitGroup
		failed := make([]error, 4)
		for w := range failed {
			first := *next
			*next += 10
			writers.Go(func() {
				s, err := e.Session(engine.SessionOptions{})
				for i := range 10 {
					if err == nil {
						_, err = s.Exec(context.Background(), fmt.Sprintf("INSERT INTO kept VALUES (%d, 'row %d')", 1000+first+i, w))
					}
				}
				failed[w] = errors.Join(err, s.Close())
			})
		}
		writers.Wait()
		require.NoError(o.t, errors.Join(failed...))
		s := session(o.t, e)
		exec(o.t, s, fmt.Sprintf("UPDATE kept SET v = v || '!' WHERE id %% 7 = %d", o.r.IntN(7)))
		exec(o.t, s, fmt.Sprintf("INSERT INTO kept VALUES (%d, 'gone'), (%d, 'gone')", -1-o.r.IntN(1000), -5000))
		exec(o.t, s, "DELETE FROM kept WHERE v = 'gone' OR v = 'gone!'")
		if o.r.IntN(2) == 0 {
			exec(o.t, s, "VACUUM kept")
		}
		require.NoError(o.t, s.Close())
	}
}

// TestPowerCutWhereMemoryIsAnothers: what small chunks leave is a large chunk's by then, which was synced when it was
// committed. The log still has the small ones.
func TestPowerCutWhereMemoryIsAnothers(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	o := &outlet{t: t, r: rand.New(rand.NewPCG(16, 40)), config: engine.Config{
		Directory: directory, RegionDirectory: directory, Fabric: "file", RegionBytes: 64 << 20, NoCompaction: true,
	}}
	e := o.open()
	s := session(t, e)
	exec(t, s, "CREATE TABLE small (id bigint)")
	exec(t, s, "SET csm.disable = "+aChunkEach)
	for i := range 200 {
		exec(t, s, fmt.Sprintf("INSERT INTO small VALUES (%d)", i))
	}
	exec(t, s, "TRUNCATE small")
	exec(t, s, "CREATE TABLE large AS SELECT i, i * 7 AS j FROM range(50000) r(i)")
	const query = "SELECT count(*), sum(i), sum(j) FROM large"
	want := map[string][]string{query: rows(t, s, query)}
	o.cut(e)
	o.base = o.region
	o.restore(100)
	require.NoError(t, o.holds(want, "all of the region").Close())
}
