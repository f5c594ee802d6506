package layout_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoFailureIsHiddenByAPipe: sh tells of a pipe only how its last command ended. A recipe that filters what tests print is green, whatever they print.
func TestNoFailureIsHiddenByAPipe(t *testing.T) {
	b, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	recipes := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "\t") && strings.Contains(line, "$(GO) ") {
			require.NotContains(t, line, "|")
			recipes++
		}
	}
	require.Greater(t, recipes, 5)
}
