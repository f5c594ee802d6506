package layout_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedLabels is how many packages have invariants of these letters. They become fewer: lower the number when a
// package gets letters of its own.
var sharedLabels = map[string]int{
	"E": 2, "N": 2, "O": 2, "P": 2, "R": 3, "S": 2, "T": 3, "W": 2,
}

var labelled = regexp.MustCompile(`(?m)^//\s+- ([A-Z]+)[0-9]+: `)

// L5: an invariant's label identifies its package: no two packages have the same letters.
func TestLabelsOfInvariantsAreOnePackages(t *testing.T) {
	packages := map[string][]string{}
	eachFile(t, func(path string, _ []string) {
		if filepath.Base(path) != "doc.go" {
			return
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, found := range labelled.FindAllSubmatch(text, -1) {
			if letters := string(found[1]); !seen[letters] {
				seen[letters] = true
				packages[letters] = append(packages[letters], filepath.Dir(path))
			}
		}
	})
	require.Greater(t, len(packages), 50, "hardly any labels were found: the test looks in the wrong place")
	for letters, list := range packages {
		require.Equal(t, max(1, sharedLabels[letters]), len(list), "invariants %s1, %s2, … of %v: give each package letters of its own", letters, letters, list)
	}
}
