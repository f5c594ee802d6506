package mixed

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The same rows for every side: COPY's data is a function of the number of rows.
func TestRowsAreReproducible(t *testing.T) {
	var first, again bytes.Buffer
	require.NoError(t, Write(&first, 500))
	require.NoError(t, Write(&again, 500))
	require.Equal(t, first.String(), again.String())
	lines := strings.Split(strings.TrimSuffix(first.String(), "\n"), "\n")
	require.Len(t, lines, 500)
	for _, line := range lines {
		require.Len(t, strings.Split(line, "\t"), Columns())
	}
	require.Equal(t, 16, Columns())
	require.Equal(t, 16, strings.Count(Definition(), ", ")+1)
	for text, v := range map[string]int64{"0.07": 7, "-0.70": -70, "12.34": 1234} {
		require.Equal(t, text, string(cents(nil, v, 2)))
	}
}
