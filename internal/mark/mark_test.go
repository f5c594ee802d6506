package mark_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/mark"
)

func TestMarks(t *testing.T) {
	given := arrow.NewMetadata([]string{"a", "b", "c"}, []string{"1", "2", "3"})
	with := mark.With(given, "b", "4")
	require.Equal(t, []string{"a", "c", "b"}, with.Keys())
	require.Equal(t, []string{"1", "3", "4"}, with.Values())
	require.Equal(t, []string{"1", "3", ""}, mark.With(with, "b", "").Values())
	without := mark.WithAny(with, "a", "")
	require.Equal(t, []string{"c", "b"}, without.Keys())
	require.Equal(t, without, mark.Without(without, "none"))
	require.Equal(t, []string{"d"}, mark.WithAny(arrow.Metadata{}, "d", "5").Keys())
	require.Equal(t, []string{"1", "2", "3"}, given.Values(), "what was given stays")
}
