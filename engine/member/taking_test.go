package member

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/placement"
)

// Nodes that are not there are not taken for drained ones, which an operator would have to bring back.
func TestWhyNoNodeTakesRows(t *testing.T) {
	p, err := placement.Parse("rows")
	require.NoError(t, err)
	for want, members := range map[string][]catalog.Member{
		"all are drained":                 {{State: catalog.Draining}},
		"no node of the cluster is there": nil,
	} {
		require.ErrorContains(t, noTaker(p, members), want)
	}
	require.ErrorIs(t, noTaker(p, nil), catalog.ErrLenderGone)
}
