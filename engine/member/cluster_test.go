package member_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A node that has been in its cluster waits for it whatever etcd fails by; its process does not end.
func TestANodeWaitsForItsCluster(t *testing.T) {
	silent := sqlerror.New("57P03", "etcd has no majority")
	unknown := sqlerror.New("08007", "no answer in time").WithCause(store.ErrUnknown)
	over := sqlerror.New("57P02", "it did not hear of this process").WithCause(store.ErrSessionOver)
	for _, err := range []error{silent, unknown, over} {
		err = fmt.Errorf("open catalog: %w", err)
		require.ErrorIs(t, member.Joined(true).Away(err), member.ErrClusterAway, err)
		require.NotErrorIs(t, member.Joined(false).Away(err), member.ErrClusterAway, "it may have been given the wrong address")
	}
	other := errors.New("the data directory is in use")
	require.NotErrorIs(t, member.Joined(true).Away(other), member.ErrClusterAway)
	require.NoError(t, member.Joined(true).Away(nil))
}
