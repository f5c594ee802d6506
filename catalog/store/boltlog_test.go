package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"go.etcd.io/bbolt"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/catalog/store/commitlog"
	"github.com/csmsql/csmsql/catalog/store/storetest"
)

// TestKilledBolt: a life that ends without a word leaves what it committed in the log.
func TestKilledBolt(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.World {
		directory := temporary(t)
		var last *store.Bolt
		return storetest.World{
			Single: true,
			Open: func() store.Store {
				if last != nil {
					require.NoError(t, last.Kill())
				}
				var err error
				last, err = store.OpenBolt(directory)
				require.NoError(t, err)
				return unsettled{last}
			},
			Kill: func(s store.Store) { require.NoError(t, s.(unsettled).Kill()) },
		}
	})
}

// unsettled dies when it is closed.
type unsettled struct{ *store.Bolt }

func (u unsettled) Close() error { return u.Kill() }

func put(key, value string) store.Item { return store.Item{Key: key, Value: []byte(value)} }

// contents is all that a store has.
func contents(t require.TestingT, s store.Store) map[string]string {
	all := map[string]string{}
	last := ""
	_, err := s.Scan(context.Background(), []string{""}, func(i store.Item) error {
		require.Less(t, last, i.Key+"\x00")
		last = i.Key
		all[i.Key] = look(i.Revision, i.Value)
		return nil
	})
	require.NoError(t, err)
	return all
}

func look(r store.Revision, value []byte) string {
	return fmt.Sprintf("%d: %d bytes, %x", r, len(value), xxh3.Hash(value))
}

// script makes transactions of all sizes, so that the log is full again and again, and remembers what they leave.
type script struct {
	r     *rand.Rand
	model []map[string]string // by revision
	keys  []string
}

func newScript(seed uint64) *script {
	s := &script{r: rand.New(rand.NewPCG(seed, 16)), model: []map[string]string{{}}}
	for i := range 12 {
		s.keys = append(s.keys, fmt.Sprintf("k/%02d", i))
	}
	return s
}

func (s *script) draw() (store.Transaction, map[string]string) {
	now := s.model[len(s.model)-1]
	revision, next := len(s.model), map[string]string{}
	for k, v := range now {
		next[k] = v
	}
	t := store.Transaction{Lazy: s.r.IntN(3) == 0}
	first := s.r.IntN(len(s.keys))
	for i := range 1 + s.r.IntN(3) {
		key := s.keys[(first+i)%len(s.keys)]
		if _, there := now[key]; there && i > 0 {
			t.Deletes = append(t.Deletes, key)
			delete(next, key)
			continue
		}
		value := make([]byte, s.r.IntN(1<<(4+s.r.IntN(18)))) // some are too long for the log
		for i := range min(8, len(value)) {
			value[i] = byte(s.r.Uint32())
		}
		t.Puts = append(t.Puts, store.Item{Key: key, Value: value})
		next[key] = look(store.Revision(revision), value)
	}
	return t, next
}

func (s *script) did(next map[string]string) { s.model = append(s.model, next) }

// Reads see what is in the log, in the half that is settling and in the file, whatever the settler does meanwhile, and a
// restart after any end has all of it.
func TestLogTurns(t *testing.T) {
	for seed := range uint64(3) {
		directory := temporary(t)
		s, err := store.OpenBolt(directory)
		require.NoError(t, err)
		script := newScript(seed)
		settling := 0
		for range 150 {
			tx, next := script.draw()
			revision, err := s.Commit(context.Background(), tx)
			require.NoError(t, err)
			require.Equal(t, store.Revision(len(script.model)), revision)
			script.did(next)
			if s.Settling() {
				settling++
			}
			switch script.r.IntN(20) {
			case 0, 1:
				require.Equal(t, next, contents(t, s))
			case 2:
				require.NoError(t, s.Kill())
			case 3:
				require.NoError(t, s.Close())
			default:
				continue
			}
			if s.Session().Check() != nil {
				s, err = store.OpenBolt(directory)
				require.NoError(t, err)
				require.False(t, s.Torn())
			}
			require.Equal(t, next, contents(t, s))
		}
		require.NoError(t, s.Close())
	}
}

// While nothing settles, one half of the log is filled and the other; then commits wait. The newest is seen.
func TestBothHalvesAreFull(t *testing.T) {
	directory := temporary(t)
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	const inHalf = 5
	value := func(n int) string { return fmt.Sprint(n, " ", strings.Repeat("x", commitlog.HalfBytes/(inHalf+1))) }
	var done atomic.Int64
	commit := func() {
		_, err := s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("a", value(int(done.Load()))), put(fmt.Sprint("b", done.Load()), "")}})
		require.NoError(t, err)
		done.Add(1)
	}
	seen := func() string {
		item, _, err := s.Get(context.Background(), "a")
		require.NoError(t, err)
		return string(item.Value)
	}
	var writer sync.WaitGroup
	require.NoError(t, s.Still(func() error {
		for range inHalf + 1 {
			commit()
		}
		require.True(t, s.Settling())
		require.Equal(t, value(inHalf), seen())
		writer.Go(func() {
			for range inHalf {
				commit()
			}
		})
		require.Eventually(t, func() bool { return done.Load() == 2*inHalf }, patience, tick)
		require.Never(t, func() bool { return done.Load() > 2*inHalf }, 50*tick, tick, "nothing is written over that the file does not have")
		return nil
	}))
	writer.Wait()
	require.Equal(t, value(2*inHalf), seen())
	want := contents(t, s)
	require.Len(t, want, 2*inHalf+2)
	require.NoError(t, s.Kill())
	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	require.Equal(t, want, contents(t, s))
	require.NoError(t, s.Close())
}

// watched is the log's file, of which a test knows what is on the disk.
type watched struct {
	commitlog.File
	mu    sync.Mutex
	disk  []byte
	dirty [][2]int64
	syncs int
	full  bool // writes fail
}

func watch(file commitlog.File) *watched {
	w := &watched{File: file}
	size, _ := file.Size()
	w.disk = make([]byte, size)
	_, _ = file.ReadAt(w.disk, 0)
	return w
}

func (w *watched) WriteAt(p []byte, at int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full {
		w.full = false
		return 0, &os.PathError{Op: "write", Path: "log", Err: syscall.ENOSPC}
	}
	w.dirty = append(w.dirty, [2]int64{at, at + int64(len(p))})
	return w.File.WriteAt(p, at)
}

func (w *watched) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncs++
	w.reach(func() bool { return true })
	return nil
}

// reach has some of what was written reach the disk.
func (w *watched) reach(which func() bool) {
	for _, d := range w.dirty {
		for at := d[0]; at < d[1]; at = (at/512 + 1) * 512 {
			to := min((at/512+1)*512, d[1])
			if !which() {
				continue
			}
			if to > int64(len(w.disk)) {
				w.disk = append(w.disk, make([]byte, to-int64(len(w.disk)))...)
			}
			if _, err := w.File.ReadAt(w.disk[at:to], at); err != nil && !errors.Is(err, io.EOF) {
				panic(err)
			}
		}
	}
	w.dirty = nil
}

func openWatched(t *testing.T, directory string) (s *store.Bolt, log *watched) {
	s, err := store.OpenWrapped(directory, func(file *os.File) commitlog.File {
		log = watch(commitlog.Disk{File: file})
		return log
	})
	require.NoError(t, err)
	return s, log
}

// TestPowerCut: a machine that loses its power has all that was acknowledged, except the newest of what is lazy, and a
// state that there was.
func TestPowerCut(t *testing.T) {
	for seed := range uint64(5) {
		script := newScript(seed)
		directory := temporary(t)
		s, log := openWatched(t, directory)
		for range 6 {
			durable := len(script.model) - 1
			for range script.r.IntN(25) {
				tx, next := script.draw()
				_, err := s.Commit(context.Background(), tx)
				require.NoError(t, err)
				script.did(next)
				if !tx.Lazy {
					durable = len(script.model) - 1
				}
			}
			after := temporary(t)
			require.NoError(t, s.Still(func() error {
				log.mu.Lock()
				defer log.mu.Unlock()
				log.reach(func() bool { return script.r.IntN(2) == 0 })
				file, err := os.ReadFile(filepath.Join(directory, store.FileName))
				return errors.Join(err, os.WriteFile(filepath.Join(after, store.FileName), file, 0o600),
					os.WriteFile(filepath.Join(after, store.LogName), log.disk, 0o600))
			}))
			require.NoError(t, s.Kill())
			directory = after
			s, log = openWatched(t, directory)
			revision, err := s.Scan(context.Background(), nil, nil)
			require.NoError(t, err)
			require.GreaterOrEqual(t, int(revision), durable, "seed %d", seed)
			require.Equal(t, script.model[revision], contents(t, s), "seed %d", seed)
			script.model = script.model[:revision+1]
		}
		require.NoError(t, s.Close())
	}
}

func TestSyncsOfACommit(t *testing.T) {
	s, log := openWatched(t, temporary(t))
	commit := func(lazy bool) {
		_, err := s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("a", "1")}, Lazy: lazy})
		require.NoError(t, err)
	}
	commit(false)
	syncs := func() int { log.mu.Lock(); defer log.mu.Unlock(); return log.syncs }
	before := syncs()
	for range 50 {
		commit(false)
	}
	require.Equal(t, 50, syncs()-before)
	commit(true)
	require.Eventually(t, func() bool { return syncs() > 50+before }, patience, tick, "what is lazy is synced soon")
	require.NoError(t, s.Close())
}

// A full disk refuses a commit, which did not happen, and the next one does.
func TestFullDisk(t *testing.T) {
	directory := temporary(t)
	s, log := openWatched(t, directory)
	_, err := s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("a", "1")}})
	require.NoError(t, err)
	log.full = true
	_, err = s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("a", "2"), put("b", "2")}})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, err, store.ErrUnknown)
	_, ok, err := s.Get(context.Background(), "b")
	require.NoError(t, err)
	require.False(t, ok, "S8")
	_, err = s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("c", "3")}})
	require.NoError(t, err)
	want := contents(t, s)
	require.Len(t, want, 2)
	require.NoError(t, s.Kill())
	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	require.Equal(t, want, contents(t, s))
	require.NoError(t, s.Close())
}

// TestDirectoryWithoutLog: what was written before there was a log is brought over when it is opened, and an older
// program does not take it from then on.
func TestDirectoryWithoutLog(t *testing.T) {
	directory := temporary(t)
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	for i := range 20 {
		_, err = s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put(fmt.Sprint("k", i), strings.Repeat("v", i))}})
		require.NoError(t, err)
	}
	want := contents(t, s)
	require.NoError(t, s.Close())
	path := filepath.Join(directory, store.FileName)
	meta := func(change func(meta *bbolt.Bucket) error) {
		db, err := bbolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket([]byte("meta"))) }))
		require.NoError(t, db.Close())
	}
	meta(func(m *bbolt.Bucket) error {
		return errors.Join(m.Put([]byte("magic"), []byte("csmsql catalog 1")), m.Delete([]byte("life")))
	})
	require.NoError(t, os.Remove(filepath.Join(directory, store.LogName)))
	for range 2 {
		s, err = store.OpenBolt(directory)
		require.NoError(t, err)
		require.Equal(t, want, contents(t, s))
		require.NoError(t, s.Kill())
	}
	meta(func(m *bbolt.Bucket) error {
		require.Equal(t, "csmsql catalog 2", string(m.Get([]byte("magic"))))
		return nil
	})
}

func TestMissingAndForeignLog(t *testing.T) {
	directory := temporary(t)
	log := filepath.Join(directory, store.LogName)
	commit := func(end func(*store.Bolt) error) {
		s, err := store.OpenBolt(directory)
		require.NoError(t, err)
		_, err = s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("a", "1")}})
		require.NoError(t, err)
		require.NoError(t, end(s))
	}
	commit((*store.Bolt).Close)
	require.NoError(t, os.Remove(log)) // it had nothing
	commit((*store.Bolt).Kill)
	require.NoError(t, os.Rename(log, log+".elsewhere"))
	_, err := store.OpenBolt(directory)
	require.ErrorIs(t, err, store.ErrCorrupt)
	require.ErrorContains(t, err, log)
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Mkdir(log, 0o700))
	_, err = store.OpenBolt(directory)
	require.ErrorIs(t, err, store.ErrForeign)
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Rename(log+".elsewhere", log))
	commit((*store.Bolt).Close)
}

// A log that lost something which was on the disk is said to have, and nothing of it is taken.
func TestDamagedLog(t *testing.T) {
	directory := temporary(t)
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	for i := range 3 {
		_, err = s.Commit(context.Background(), store.Transaction{Puts: []store.Item{put("a", fmt.Sprint("value ", i))}})
		require.NoError(t, err)
	}
	require.NoError(t, s.Kill())
	path := filepath.Join(directory, store.LogName)
	log, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := append([]byte(nil), log...)
	log[strings.Index(string(log), "value 1")]++
	require.NoError(t, os.WriteFile(path, log, 0o600))
	for range 2 {
		_, err = store.OpenBolt(directory)
		require.ErrorIs(t, err, store.ErrCorrupt)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "record 2")
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	require.Len(t, contents(t, s), 1)
	require.NoError(t, s.Close())
}
