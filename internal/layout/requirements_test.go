package layout_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What our files import is a requirement of ours, and go.mod says so: “// indirect” is for what others need. (go mod tidy does
// it; a test cannot run that where modules cannot be downloaded.)
func TestImportedModulesAreDirectRequirements(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	indirect := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "require" {
			words = words[1:]
		}
		if len(words) >= 2 && strings.HasPrefix(words[1], "v") {
			indirect[words[0]] = slices.Contains(words, "indirect")
		}
	}
	require.Greater(t, len(indirect), 10, "go.mod was not understood")
	eachFile(t, func(path string, imports []string) {
		for _, i := range imports {
			best := ""
			for module := range indirect {
				if within(i, module) && len(module) > len(best) {
					best = module
				}
			}
			require.False(t, indirect[best], "%s imports %s; go mod tidy makes %s a requirement of our own", path, i, best)
		}
	})
}
