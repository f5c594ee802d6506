package calling_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/internal/mark"
)

func TestMark(t *testing.T) {
	plain := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil)
	require.Nil(t, calling.Of(plain))
	require.Nil(t, calling.Of(nil))
	r := &calling.Record{Dialect: "postgres", Text: "SELECT public.f(1)", Functions: []uint64{3, 5}}
	marked, err := calling.Mark(plain, r)
	require.NoError(t, err)
	require.Equal(t, r, calling.Of(marked))
	require.True(t, r.Needs(5))
	require.False(t, r.Needs(4))
	without, err := calling.Mark(marked, nil)
	require.NoError(t, err)
	require.Nil(t, calling.Of(without))
}

// CQ2.
func TestUnreadable(t *testing.T) {
	for _, text := range []string{"{", "7", `{"dialect":"postgres"}`, `{"text":8,"functions":[1]}`} {
		meta := mark.WithAny(arrow.Metadata{}, "csm.calls", text)
		columns := arrow.NewSchema(nil, &meta)
		r := calling.Of(columns)
		require.NotNil(t, r, text)
		require.Empty(t, r.Text, text)
		require.True(t, r.Needs(77), text)
		again, err := calling.Mark(arrow.NewSchema(nil, nil), r)
		require.NoError(t, err)
		kept, _ := again.Metadata().GetValue("csm.calls")
		require.Equal(t, text, kept)
	}
}
