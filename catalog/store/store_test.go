package store_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/catalog/store/storetest"
	"github.com/csmsql/csmsql/internal/shmdir"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.World {
		first := &store.Memory{}
		return storetest.World{
			Open:   func() store.Store { return first.Handle() },
			Kill:   func(s store.Store) { s.(*store.Memory).Expire() },
			Gone:   10 * time.Second,
			Forget: first.Compact,
		}
	})
}

func TestBolt(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.World {
		directory := temporary(t)
		return storetest.World{
			Single: true,
			Open: func() store.Store {
				s, err := store.OpenBolt(directory)
				require.NoError(t, err)
				return s
			},
			Kill: func(s store.Store) { require.NoError(t, s.Close()) }, // it leaves as much behind as a death does
		}
	})
}

// temporary prefers memory: these tests open hundreds of files, and what a disk's sync costs is not their business.
func temporary(t *testing.T) string {
	if directory, err := shmdir.Make(); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(directory) })
		return directory
	}
	return t.TempDir()
}

func TestBoltSurvives(t *testing.T) {
	directory := temporary(t)
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	revision, err := s.Commit(context.Background(), store.Transaction{Puts: []store.Item{{Key: "a", Value: []byte("1")}}})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	item, ok, err := s.Get(context.Background(), "a")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, revision, item.Revision)
	require.NoError(t, s.Close())
}

// TestMain lets the test binary be the other server of TestSecondServer.
func TestMain(m *testing.M) {
	if directory := os.Getenv("CSMSQL_HOLD_STORE"); directory != "" {
		if _, err := store.OpenBolt(directory); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("open\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSecondServer(t *testing.T) {
	directory := temporary(t)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "CSMSQL_HOLD_STORE="+directory)
	input, err := other.StdinPipe()
	require.NoError(t, err)
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	_, err = output.Read(make([]byte, 8))
	require.NoError(t, err)
	_, err = store.OpenBolt(directory)
	require.ErrorIs(t, err, store.ErrInUse)
	require.ErrorContains(t, err, directory)
	require.ErrorContains(t, err, "process "+strconv.Itoa(other.Process.Pid))
	require.NoError(t, input.Close())
	require.NoError(t, other.Wait())
	s, err := store.OpenBolt(directory)
	require.NoError(t, err, "a server that died leaves no lock")
	require.NoError(t, s.Close())
}

func TestForeignFiles(t *testing.T) {
	directory := temporary(t)
	path := filepath.Join(directory, store.FileName)
	require.NoError(t, os.WriteFile(path, []byte("PAR1, this is a Parquet file perhaps, and long enough to have a page\n"+string(make([]byte, 9000))), 0o600))
	_, err := store.OpenBolt(directory)
	require.ErrorIs(t, err, store.ErrForeign)
	require.ErrorContains(t, err, path)

	require.NoError(t, os.Remove(path))
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("someone else's"))
		return err
	}))
	require.NoError(t, db.Close())
	_, err = store.OpenBolt(directory)
	require.ErrorIs(t, err, store.ErrForeign)
	require.ErrorContains(t, err, "someone else's")

	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = store.OpenBolt(directory)
	require.ErrorIs(t, err, store.ErrForeign)
}

func TestAlteredValue(t *testing.T) {
	directory := temporary(t)
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	_, err = s.Commit(context.Background(), store.Transaction{Puts: []store.Item{{Key: "table/1", Value: []byte("forty-two rows")}}})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	path := filepath.Join(directory, store.FileName)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(whole, []byte("forty-two"), []byte("forty-ten")), 0o600))
	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	_, _, err = s.Get(context.Background(), "table/1")
	require.ErrorIs(t, err, store.ErrCorrupt)
	require.ErrorContains(t, err, "table/1")
	require.NoError(t, s.Close())
}

// A damaged file is an error, or is not noticed because nothing of value was hit; it is never a crash.
func TestDamagedFile(t *testing.T) {
	directory := temporary(t)
	path := filepath.Join(directory, store.FileName)
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	var puts []store.Item
	for i := range 500 {
		puts = append(puts, store.Item{Key: "key/" + strconv.Itoa(i), Value: make([]byte, 300)})
	}
	_, err = s.Commit(context.Background(), store.Transaction{Puts: puts})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for page := 0; page < len(whole); page += 4096 {
		damaged := append([]byte(nil), whole...)
		for i := page; i < page+64; i++ {
			damaged[i] ^= 0x55
		}
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		touch(directory)
	}
	for _, length := range []int{0, 100, 4096, 8192, 5 * 4096, len(whole) - 4096} {
		require.NoError(t, os.WriteFile(path, whole[:length], 0o600))
		touch(directory)
	}
}

func touch(directory string) {
	s, err := store.OpenBolt(directory)
	if err != nil {
		return
	}
	_, _ = s.Scan(context.Background(), []string{""}, func(store.Item) error { return nil })
	_, _, _ = s.Get(context.Background(), "key/77")
	_ = s.Close()
}

// patience is how long tests wait for what must come, and tick how often they look.
const (
	patience = 10 * time.Second
	tick     = time.Millisecond
)
