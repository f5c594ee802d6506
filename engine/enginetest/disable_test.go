package enginetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/optimization"
)

// disabled are the values of csm.disable that leave one optimization out, and all of them.
func disabled() []string { return append(strings.Split(optimization.All.String(), ", "), "all") }

// TestDisabledOptimizations: O1 of sql/optimization, one world for each, and all traps for some or, with CSMSQL_EFFORT,
// for each.
func TestDisabledOptimizations(t *testing.T) {
	r := newRig(t)
	traps := trapRig(t)
	trapped := drawSome(t, len(disabled())/3, disabled())
	for i, name := range disabled() {
		for _, side := range []*lent{r.auto, r.duckdb, traps.auto, traps.duckdb} {
			side.must(t, "SET csm.disable = '"+name+"'")
		}
		t.Run(name, func(t *testing.T) {
			r.play(t, uint64(1000+i))
			if slices.Contains(trapped, name) {
				traps.spring(t)
			}
		})
	}
	require.Positive(t, r.compared)
}
