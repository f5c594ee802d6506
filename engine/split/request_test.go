package split_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// A part's parameters are numbered from 1 in its own text, by those of the statement.
func TestArgumentsOf(t *testing.T) {
	given := []any{"a", "b", "c"}
	for _, c := range []struct {
		parameters []int
		want       []any
	}{{nil, []any{}}, {[]int{3, 1}, []any{"c", "a"}}, {[]int{2, 2}, []any{"b", "b"}}, {[]int{4}, []any{nil}}} {
		require.Equal(t, c.want, split.ArgumentsOf(&distribute.Text{Parameters: c.parameters}, given))
	}
}

// A request is kept for the same settings, and no more bytes than a plan may keep.
func TestKeptRequests(t *testing.T) {
	f, g := &distribute.Fragment{}, &distribute.Fragment{Partition: 1}
	request := func(bytes int) noderpc.FragmentRequest {
		return noderpc.FragmentRequest{Payload: make([]byte, bytes), Settings: map[string]string{"a": "1"}}
	}
	kept := &split.KeptRequests{}
	_, ok := kept.Find(f, request(0).Settings)
	require.False(t, ok)
	kept.Keep(f, request(split.RequestBytes))
	kept.Keep(g, request(1))
	_, ok = kept.Find(f, request(0).Settings)
	require.True(t, ok)
	_, ok = kept.Find(f, map[string]string{"a": "2"})
	require.False(t, ok, "of other settings")
	_, ok = kept.Find(g, request(0).Settings)
	require.False(t, ok, "there is no room for it")
	kept.Keep(f, request(10)) // in the place of the large one
	kept.Keep(g, request(10))
	_, ok = kept.Find(g, request(0).Settings)
	require.True(t, ok)
}
