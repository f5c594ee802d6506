package split_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/split"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// SP3: what says something of nodes is no answer of the statement's. What a fragment finds damaged is: Run has asked
// whether the lease stood under which it was read.
func TestOnly(t *testing.T) {
	for err, only := range map[error]bool{
		sqlerror.New("22012", "division by zero"):                                          false,
		errors.New("anything else"):                                                        false,
		split.ErrTypes:                                                                     true,
		noderpc.ErrFragmentOver:                                                            true,
		fmt.Errorf("%w: region 1 of node n2", catalog.ErrLenderGone):                       true,
		sqlerror.New("08006", "the node cannot be reached"):                                true,
		sqlerror.New("53200", "lent memory is full"):                                       true,
		&reader.DamagedError{Table: "public.t", Cause: errors.New("its checksum differs")}: false,
		fmt.Errorf("%w: page 1", hugetable.ErrLost):                                        false,
	} {
		require.Equal(t, only, split.Only(err), "%v", err)
	}
}

// A fragment's own error is the statement's. What says something of the other node, or of this one's lease, is found out
// here.
func TestRepeatedHere(t *testing.T) {
	for err, here := range map[error]bool{
		sqlerror.New("22012", "division by zero"):                                                           false,
		&reader.DamagedError{Table: "public.t", Cause: errors.New("its checksum differs")}:                  false,
		sqlerror.New("08006", "the node cannot be reached"):                                                 true,
		fmt.Errorf("%w: region 1 of node n2", catalog.ErrLenderGone):                                        true,
		fmt.Errorf("run a fragment at node n2: table public.t: read page 1: %w: page 1", hugetable.ErrLost): true,
	} {
		require.Equal(t, here, split.RepeatedHere(err), "%v", err)
	}
}
