package member_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

func TestSmallExtentsAreNotProtected(t *testing.T) {
	var protected []memregion.Range
	protect := member.Protecting(func(ranges ...memregion.Range) error {
		protected = append(protected, ranges...)
		return nil
	}, 8192)
	small, large := memregion.Range{Length: 4096}, memregion.Range{Offset: 8192, Length: 8192}
	require.NoError(t, protect(small))
	require.Equal(t, invariants.Enabled, len(protected) == 1)
	protected = nil
	require.NoError(t, protect(small, large))
	require.Contains(t, protected, large)
	require.Equal(t, invariants.Enabled, len(protected) == 2)
}
