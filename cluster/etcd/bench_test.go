package etcd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/etcd"
)

func BenchmarkCommit(b *testing.B) {
	s := open(b, etcd.Options{Endpoints: []string{member(b).Endpoint()}, Prefix: prefix()})
	item := store.Item{Key: "table/0000000000000001", Value: make([]byte, 2000)}
	revision := commit(b, s, item)
	for b.Loop() {
		var err error
		revision, err = s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged(item.Key, revision)}, Puts: []store.Item{item}})
		require.NoError(b, err)
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b, etcd.Options{Endpoints: []string{member(b).Endpoint()}, Prefix: prefix()})
	commit(b, s, store.Item{Key: "a", Value: make([]byte, 2000)})
	for b.Loop() {
		_, ok, err := s.Get(ctx, "a")
		require.NoError(b, err)
		require.True(b, ok)
	}
}

func BenchmarkSessionCheck(b *testing.B) {
	s := open(b, etcd.Options{Endpoints: []string{member(b).Endpoint()}, Prefix: prefix()})
	for b.Loop() {
		require.NoError(b, s.Session().Check())
	}
}

// From the commit of one process to the apply of another's watch.
func BenchmarkCommitToWatch(b *testing.B) {
	own := prefix()
	s := open(b, etcd.Options{Endpoints: []string{member(b).Endpoint()}, Prefix: own})
	other := open(b, etcd.Options{Endpoints: []string{member(b).Endpoint()}, Prefix: own})
	first := commit(b, s, put("a", ""))
	seen := make(chan store.Revision)
	go func() {
		_ = other.Watch(b.Context(), []string{"a"}, first, func(c store.Change) error {
			seen <- c.Revision
			return nil
		})
	}()
	for b.Loop() {
		revision := commit(b, s, put("a", ""))
		require.Equal(b, revision, <-seen)
	}
}
