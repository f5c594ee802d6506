package counted_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/counted"
)

func TestOf(t *testing.T) {
	for n, want := range map[int64]string{0: "0 chunks", 1: "1 chunk", 2: "2 chunks", 1000: "1000 chunks", -1: "-1 chunks"} {
		require.Equal(t, want, counted.Of(n, "chunk"))
	}
	require.Equal(t, "stage", counted.Noun(1, "stage"))
}
