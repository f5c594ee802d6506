package format_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/internal/format"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

var then = time.UnixMicro(1_700_000_000_000_000)

// together is a store in which the first Gets of as many nodes answer before any of them commits.
type together struct {
	*store.Memory
	once *sync.Once
	all  *sync.WaitGroup
}

func (s together) Get(ctx context.Context, key string) (store.Item, bool, error) {
	item, ok, err := s.Memory.Get(ctx, key)
	s.once.Do(func() { s.all.Done(); s.all.Wait() })
	return item, ok, err
}

// SF1.
func TestManyNodesTakeOneCatalog(t *testing.T) {
	const nodes = 4
	for name, begun := range map[string][]store.Item{
		"an empty store":    nil,
		"the format before": {{Key: keys.Format, Value: record.EncodeFormat(format.Current-1, "it", then)}},
	} {
		memory := &store.Memory{}
		if begun != nil {
			_, err := memory.Commit(t.Context(), store.Transaction{Puts: begun})
			require.NoError(t, err)
		}
		var all, ended sync.WaitGroup
		all.Add(nodes)
		found := make([]string, nodes)
		for i := range nodes {
			ended.Go(func() {
				s := together{memory.Handle(), &sync.Once{}, &all}
				var err error
				if found[i], err = format.Take(t.Context(), s, then, []string{"public"}); err != nil {
					t.Error(name, err)
				}
			})
		}
		ended.Wait()
		item, _, err := memory.Get(t.Context(), keys.Format)
		require.NoError(t, err)
		number, identity, created, err := record.DecodeFormat(item.Value)
		require.NoError(t, err)
		require.Equal(t, uint64(format.Current), number, name)
		require.True(t, then.Equal(created), name)
		for _, is := range found {
			require.Equal(t, identity, is, name)
		}
		_, schema, err := memory.Get(t.Context(), keys.Schema("public"))
		require.NoError(t, err)
		require.Equal(t, begun == nil, schema, name)
		if begun != nil {
			require.Equal(t, "it", identity)
		} else {
			require.Len(t, identity, 32)
		}
		at := item.Revision
		_, err = format.Take(t.Context(), memory, time.Now(), nil)
		require.NoError(t, err)
		item, _, err = memory.Get(t.Context(), keys.Format)
		require.NoError(t, err)
		require.Equal(t, at, item.Revision, "what is in the current format is left alone")
	}
}

func TestOtherFormatsAreRefused(t *testing.T) {
	for _, of := range []struct {
		value []byte
		want  error
	}{
		{record.EncodeFormat(format.Current+1, "it", then), format.ErrOther},
		{record.EncodeFormat(0, "it", then), format.ErrOther},
		{[]byte{0xff}, format.ErrDamaged},
	} {
		s := &store.Memory{}
		_, err := s.Commit(t.Context(), store.Transaction{Puts: []store.Item{{Key: keys.Format, Value: of.value}}})
		require.NoError(t, err)
		_, err = format.Take(t.Context(), s, then, nil)
		require.ErrorIs(t, err, of.want)
	}
}
