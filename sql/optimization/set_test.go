package optimization_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/optimization"
)

// O3, for each set of two.
func TestASetReadsItsOwnText(t *testing.T) {
	for x := optimization.Set(1); x < optimization.All; x <<= 1 {
		for y := optimization.Set(1); y < optimization.All; y <<= 1 {
			got, unknown := optimization.Parse((x | y).String())
			require.Empty(t, unknown)
			require.Equal(t, x|y, got)
			require.True(t, got.Has(x) && got.Has(y))
			require.Contains(t, optimization.Names(), x.String())
			require.Contains(t, optimization.Description(), x.String()+": ")
		}
	}
}

func TestParse(t *testing.T) {
	for list, want := range map[string]struct {
		set     optimization.Set
		unknown string
	}{
		"":                 {0, ""},
		"  ":               {0, ""},
		" Enum ,PRUNING":   {optimization.Enum | optimization.Pruning, ""},
		"enum,enum":        {optimization.Enum, ""},
		"all":              {optimization.All, ""},
		"enum,enmu,nothin": {optimization.Enum, "enmu"},
		"enum,":            {optimization.Enum, "enum,"},
		"none":             {0, "none"},
	} {
		set, unknown := optimization.Parse(list)
		require.Equal(t, want.set, set, list)
		require.Equal(t, want.unknown, unknown, list)
	}
	require.Empty(t, optimization.Set(0).String())
}
