package dbgen_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/queries/dbgen"
)

var generators = struct {
	mu   sync.Mutex
	made map[float64]*dbgen.Generator // guarded by mu
}{made: map[float64]*dbgen.Generator{}}

// generator returns one Generator per scale factor.
func generator(t testing.TB, sf float64) *dbgen.Generator {
	t.Helper()
	generators.mu.Lock()
	defer generators.mu.Unlock()
	g := generators.made[sf]
	if g == nil {
		var err error
		g, err = dbgen.New(sf)
		require.NoError(t, err)
		generators.made[sf] = g
	}
	return g
}
