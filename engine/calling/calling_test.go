package calling_test

import (
	"strings"
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

// CQ3: whatever the calls' text is, it ends no comment, and comes back.
func TestExpressions(t *testing.T) {
	for _, text := range []string{"public.f(1)", "f('*/ 1 /*')", "f(\"a\" * 2, '\\u002a{}') /* '", "f('é') -- x\n"} {
		r := &calling.Record{Dialect: "postgres", Text: text, Functions: []uint64{3, 5}, Means: "77"}
		made := r.Before("1 + 2 /*csm_calls {}*/")
		require.Equal(t, 1, strings.Count(strings.TrimSuffix(made, "1 + 2 /*csm_calls {}*/"), "*/"))
		back, computes := calling.Split(made)
		require.Equal(t, r, back)
		require.Equal(t, "1 + 2 /*csm_calls {}*/", computes)
		require.Equal(t, text, calling.Shown(made))
		require.True(t, calling.IsReserved(" "+made))
		edited, err := calling.Edited(made, func(text string) (string, error) { return text + "!", nil })
		require.NoError(t, err)
		require.Equal(t, text+"!", calling.Shown(edited))
		require.Equal(t, computes+"!", calling.Computes(edited))
	}
	r, computes := calling.Split("a > 1")
	require.Nil(t, r)
	require.Equal(t, "a > 1", computes)
	require.Equal(t, "a > 1", r.Before(computes))
	for _, damaged := range []string{"/*csm_calls csm_function__7 {*/a", "/*csm_calls x*/a"} { // CQ2
		r, computes := calling.Split(damaged)
		require.True(t, r.Needs(99), damaged)
		require.Equal(t, damaged, r.Before(computes))
		require.Equal(t, "a", calling.Shown(damaged))
	}
}
