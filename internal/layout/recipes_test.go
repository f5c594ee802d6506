package layout_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoFailureIsHiddenByAPipe: the exit status of a pipe in sh is that of its last command. A recipe that filters the
// output of tests succeeds even if they fail.
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
