package revalidation_test

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// names finds a temporary table t of one column.
func names(of arrow.DataType) func(*snapshot.View) *relation.Names {
	describe := func(string) (*arrow.Schema, []*enumeration.Type, error) {
		return arrow.NewSchema([]arrow.Field{{Name: "x", Type: of}}, nil), nil, nil
	}
	return func(*snapshot.View) *relation.Names {
		return &relation.Names{Own: snapshot.Temporary{"t": true}, Describe: describe}
	}
}

// grounds are those of a text that names t.
func grounds(of arrow.DataType) revalidation.Grounds {
	n := names(of)(nil)
	n.Find("", "", "t")
	return revalidation.Grounds{Relations: n.Meanings()}
}

func TestGroundsOfTypes(t *testing.T) {
	var none revalidation.Grounds
	require.NoError(t, none.Check(t.Context(), nil, nil), "nothing is looked up for it")
	g := grounds(arrow.PrimitiveTypes.Int32)
	require.NoError(t, g.CheckTypes(nil, names(arrow.PrimitiveTypes.Int32)))
	err := g.CheckTypes(nil, names(arrow.PrimitiveTypes.Int64))
	require.True(t, revalidation.Changed(err))
	require.Equal(t, "0A000", sqlerror.State(err))
	require.False(t, revalidation.Changed(revalidation.Outdated()))
}

// RV1, RV2: a statement is prepared again once, and only if what it was written for has changed.
func TestRun(t *testing.T) {
	g := grounds(arrow.PrimitiveTypes.Int32)
	changed := g.CheckTypes(nil, names(arrow.PrimitiveTypes.Int64))
	other := errors.New("other")
	for name, c := range map[string]struct {
		errs     []error // of its runs
		prepared error
		differs  bool
		want     error
		runs     int
	}{
		"it holds":                 {errs: []error{nil}, runs: 1},
		"it fails":                 {errs: []error{other}, want: other, runs: 1},
		"it has changed":           {errs: []error{changed, nil}, runs: 2},
		"and fails":                {errs: []error{changed, other}, want: other, runs: 2},
		"it changes all the time":  {errs: []error{changed, changed}, want: changed, runs: 2},
		"it cannot be prepared":    {errs: []error{changed}, prepared: other, want: other, runs: 1},
		"it gives another result":  {errs: []error{changed}, differs: true, want: revalidation.Outdated(), runs: 1},
		"one within it has":        {errs: []error{errors.Join(other, changed), nil}, runs: 2},
		"what it gives is the end": {errs: []error{revalidation.Outdated()}, want: revalidation.Outdated(), runs: 1},
	} {
		runs, preparations := 0, 0
		rows, err := revalidation.Run(func() (int, error) {
			runs++
			return runs, c.errs[runs-1]
		}, func() (bool, error) {
			preparations++
			return !c.differs, c.prepared
		})
		require.Equal(t, c.want, err, name)
		require.Equal(t, c.runs, runs, name)
		require.Equal(t, c.runs, rows, name)
		again := revalidation.Changed(c.errs[0])
		require.Equal(t, again, preparations == 1, name)
		if c.differs {
			require.False(t, revalidation.Changed(err), "a statement around it is not prepared again")
		}
	}
}
