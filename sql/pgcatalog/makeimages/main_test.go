package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The images that every node attaches contain what data/ says: "go generate ./sql/pgcatalog" writes them.
func TestImagesAreWhatIsMade(t *testing.T) {
	made, err := makeAll(t.TempDir())
	require.NoError(t, err)
	entries := 0
	for _, k := range kinds {
		now, err := embedded(k)
		require.NoError(t, err)
		want := made[k.file].contents
		entries += len(want)
		missing, other := difference(want, now), difference(now, want)
		require.Empty(t, missing, "not in %s, but made now: run go generate ./sql/pgcatalog", k.file)
		require.Empty(t, other, "in %s, but not made any more: run go generate ./sql/pgcatalog", k.file)
		require.Equal(t, want, now)
	}
	require.Greater(t, entries, 8000, "macros, views and rows of tables")
}

// difference are the first entries of a that b has not.
func difference(a, b []string) (out []string) {
	has := map[string]bool{}
	for _, s := range b {
		has[s] = true
	}
	for _, s := range a {
		if !has[s] && len(out) < 5 {
			out = append(out, s)
		}
	}
	return out
}
