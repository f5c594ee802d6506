package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/catalog/store/commitlog"
)

// beside is a file beside a store, of which nothing is on the disk that was not synced.
type beside struct {
	mu     sync.Mutex
	synced map[int64]bool
	fail   error
}

func (f *beside) sync(list []store.Redo) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	for _, r := range list {
		f.synced[r.Offset] = true
	}
	return nil
}

func redos(t *testing.T, s *store.Bolt) (list []store.Redo) {
	has, err := s.HasRedos()
	require.NoError(t, err)
	require.NoError(t, s.Redos(func(r store.Redo) error {
		r.Data = slices.Clone(r.Data)
		list = append(list, r)
		return nil
	}))
	require.Equal(t, has, len(list) > 0)
	return list
}

// writes puts a key, and something beside at an offset above 0.
func writes(key, value string, offset int64) store.Transaction {
	t := store.Transaction{Puts: []store.Item{put(key, value)}}
	if offset > 0 {
		t.Redo = []store.Redo{{Offset: offset}}
	}
	return t
}

// Whatever way it went, what was written beside the store is synced there or in Redos after a restart, in order.
func TestRedo(t *testing.T) {
	for _, size := range []int{100, commitlog.HalfBytes / 7, commitlog.HalfBytes / 2} {
		directory := temporary(t)
		file := &beside{synced: map[int64]bool{}}
		s, err := store.OpenBolt(directory)
		require.NoError(t, err)
		s.Beside(file.sync)
		const commits = 20
		redo := func(i int) store.Redo {
			data := fmt.Append(nil, "row ", i)
			return store.Redo{Region: 3, Generation: uint64(100 + i), Offset: int64(i) << 12, Length: 4096, Data: data}
		}
		for i := range commits {
			_, err := s.Commit(context.Background(), store.Transaction{
				Puts: []store.Item{put("page", strings.Repeat("p", size))}, Redo: []store.Redo{redo(i), {Region: 4, Offset: -1}},
			})
			require.NoError(t, err)
		}
		require.NoError(t, s.Kill())
		for range 2 { // it is there until it is done, whatever ends in between
			s, err = store.OpenBolt(directory)
			require.NoError(t, err)
			list := slices.DeleteFunc(redos(t, s), func(r store.Redo) bool { return r.Region == 4 })
			for i := range commits {
				switch {
				case len(list) > 0 && list[0].Offset == int64(i)<<12:
					require.Equal(t, redo(i), list[0])
					list = list[1:]
				default:
					require.True(t, file.synced[int64(i)<<12], "size %d, commit %d", size, i)
				}
			}
			require.Empty(t, list)
			require.NoError(t, s.Kill())
		}
		require.Equal(t, size == 100, len(file.synced) == 0)
		s, err = store.OpenBolt(directory)
		require.NoError(t, err)
		require.NoError(t, s.Redone())
		require.NoError(t, s.Close())
		s, err = store.OpenBolt(directory)
		require.NoError(t, err)
		require.Empty(t, redos(t, s))
		require.NoError(t, s.Close())
	}
}

// What cannot be synced beside the store stays in the log.
func TestRedoThatCannotBeSynced(t *testing.T) {
	directory := temporary(t)
	file := &beside{synced: map[int64]bool{}, fail: errors.New("the disk says no")}
	s, err := store.OpenBolt(directory)
	require.NoError(t, err)
	s.Beside(file.sync)
	_, err = s.Commit(context.Background(), writes("a", "1", 1))
	require.NoError(t, err)
	require.ErrorIs(t, s.Settle(), file.fail)
	_, err = s.Commit(context.Background(), writes("b", strings.Repeat("b", commitlog.HalfBytes), 0))
	require.ErrorIs(t, err, file.fail, "it would have to go into the file behind what is pending")
	_, ok, err := s.Get(context.Background(), "b")
	require.NoError(t, err)
	require.False(t, ok)
	_, err = s.Commit(context.Background(), writes("c", "1", 0))
	require.NoError(t, err)
	err = s.Close()
	require.ErrorIs(t, err, file.fail)
	require.ErrorContains(t, err, store.LogName)
	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	require.Len(t, redos(t, s), 1)
	require.Len(t, contents(t, s), 2)
	s.Beside(file.sync)
	file.fail = nil
	_, err = s.Commit(context.Background(), writes("d", "1", 2))
	require.NoError(t, err)
	require.NoError(t, s.Settle())
	require.Equal(t, map[int64]bool{2: true}, file.synced)
	_, err = s.Commit(context.Background(), writes("e", "1", 3))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Equal(t, map[int64]bool{2: true, 3: true}, file.synced)

	s, err = store.OpenBolt(directory)
	require.NoError(t, err)
	file = &beside{synced: map[int64]bool{}, fail: errors.New("the disk says no")}
	s.Beside(file.sync)
	const commits = 8
	for i := range commits { // more than half of the log: what it has first waits for the disk
		_, err = s.Commit(context.Background(), store.Transaction{
			Puts: []store.Item{put("f", strings.Repeat("f", commitlog.HalfBytes/6))}, Redo: []store.Redo{{Offset: int64(i)}},
		})
		require.NoError(t, err)
	}
	require.True(t, s.Settling())
	require.ErrorIs(t, s.Settle(), file.fail)
	file.mu.Lock()
	file.fail = nil
	file.mu.Unlock()
	require.NoError(t, s.Settle())
	require.Len(t, file.synced, commits)
	require.False(t, s.Settling())
	require.NoError(t, s.Close())
}

func TestRedoWithoutOwner(t *testing.T) {
	s, err := store.OpenBolt(temporary(t))
	require.NoError(t, err)
	_, err = s.Commit(context.Background(), writes("a", "1", 1))
	require.NoError(t, err)
	require.ErrorContains(t, s.Settle(), "no owner")
	require.NoError(t, s.Kill())
}
