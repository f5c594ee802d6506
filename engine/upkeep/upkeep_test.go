package upkeep_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func state(err error) string {
	var pgError *sqlerror.Error
	if errors.As(err, &pgError) {
		return pgError.State
	}
	return ""
}

// U2: a step has what it may move, and at least one chunk.
func TestStepsAreBounded(t *testing.T) {
	require.Equal(t, []int{2, 1, 1}, upkeep.Steps(10, 5, 5, 20, 1))
	require.Equal(t, []int{1, 1}, upkeep.Steps(1, 5, 5))
	require.Equal(t, []int{3}, upkeep.Steps(0, 0, 0, 0), "what only lets replicas go moves no byte")
	require.Empty(t, upkeep.Steps(10))
}

func TestWhatIsSaidOfATable(t *testing.T) {
	text, replicas, err := upkeep.Parameters("placement = 'rows', replicas = 2, fillfactor = 100")
	require.NoError(t, err)
	require.Equal(t, "rows", text)
	require.Equal(t, 2, replicas)
	for _, with := range []string{"replicas = 0", "replicas = 99", "replicas = many", "fillfactor = 70", "replica = 2"} {
		_, _, err := upkeep.Parameters(with)
		require.Equal(t, "22023", state(err), "%s: %v", with, err)
	}
	var pgError *sqlerror.Error
	require.ErrorAs(t, upkeep.UnknownParameter("replica"), &pgError)
	require.Equal(t, `Did you mean "replicas"?`, pgError.HintText)
	require.ErrorAs(t, upkeep.UnknownParameter("toast_tuple_target"), &pgError)
	require.NotContains(t, pgError.HintText, "Did you mean")
	n, err := upkeep.ReplicasIn("")
	require.NoError(t, err)
	require.Zero(t, n, "what was not said is not 1")
}

// A borrower lends nothing and belongs to no cluster.
func TestBorrowersKeepNothing(t *testing.T) {
	k := upkeep.New(upkeep.Config{Name: "n"})
	require.False(t, k.Repairs())
	columns := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	record, err := k.ResolvePlacement("local", columns)
	require.NoError(t, err)
	require.Empty(t, record)
	_, err = k.ResolvePlacement("rows", columns)
	require.Equal(t, "55000", state(err))
	many, err := k.ResolveReplicas(1)
	require.NoError(t, err)
	require.Zero(t, many, "one replica is what a table has anyway")
	_, err = k.ResolveReplicas(2)
	require.Equal(t, "55000", state(err))
	require.ErrorIs(t, k.Drain(context.Background(), "n", nil), upkeep.ErrAlone)
}

func TestLostChunksInWords(t *testing.T) {
	require.Equal(t, "chunk 3 (1 row)", upkeep.ChunksOf(3))
	require.Equal(t, "chunks 0–2, 5 (4 rows)", upkeep.ChunksOf(0, 1, 2, 5))
	require.Equal(t, "chunks 0, 2, 4, 6, 8, 10, 12, 14, … (9 rows)", upkeep.ChunksOf(0, 2, 4, 6, 8, 10, 12, 14, 16))
}

// U4: chunks that are not those that were laid out are not made of its rows.
func TestPartsAreThoseOnRecord(t *testing.T) {
	lengths, err := upkeep.PartsOf(5)
	require.NoError(t, err)
	require.Equal(t, []int{5}, lengths)
	lengths, err = upkeep.PartsOf(5, 2, 0, 3)
	require.NoError(t, err)
	require.Equal(t, []int{2, 0, 3}, lengths)
	for _, counts := range [][]int{{2, 2}, {6}, {-1, 6}} {
		_, err = upkeep.PartsOf(5, counts...)
		require.Equal(t, "XX001", state(err), "%v", counts)
	}
}

func TestFullNodesAreKnownByTheirErrors(t *testing.T) {
	require.Equal(t, "n", upkeep.Full(sqlerror.New("53200", "full")))
	require.Empty(t, upkeep.Full(sqlerror.New("58000", "away")))
	require.Empty(t, upkeep.Full(nil))
}
