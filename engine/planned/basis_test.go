package planned_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/optimization"
)

// PL1: whatever a plan was made over, another one is made when that has changed.
func TestBasisStands(t *testing.T) {
	view := &snapshot.View{Contents: &catalog.Contents{}, Reads: &lookup.Names{}}
	at := func() []string { return []string{"n0", "n1"} }
	basis := func() *planned.Basis {
		return &planned.Basis{Path: []string{"public"}, Meaning: "m", Faults: 3, Nodes: at()}
	}
	require.True(t, basis().Stands(basis(), at, false, view))
	require.True(t, basis().Stands(basis(), at, true, view), "of the same revision")
	for what, change := range map[string]func(*planned.Basis){
		"its own changes": func(b *planned.Basis) { b.Own = true },
		"search path":     func(b *planned.Basis) { b.Path = []string{"other", "public"} },
		"settings":        func(b *planned.Basis) { b.Meaning = "other" },
		"pages gone":      func(b *planned.Basis) { b.Faults++ },
		"verification":    func(b *planned.Basis) { b.Verification = reader.VerifyAlways },
		"csm.disable":     func(b *planned.Basis) { b.Without, _ = optimization.Parse("keys") },
	} {
		now := basis()
		change(now)
		require.False(t, basis().Stands(now, at, false, view), what)
	}
	fewer := func() []string { return []string{"n0"} }
	require.False(t, basis().Stands(basis(), fewer, false, view), "a node is gone")
	alone := basis()
	alone.Nodes = nil
	require.True(t, alone.Stands(basis(), fewer, false, view), "it does not depend on them")
	own := basis()
	own.Own = true
	require.False(t, own.Stands(basis(), at, false, view), "what its names mean is not known")
	own.Names = lookup.Meanings{}
	require.True(t, own.Stands(basis(), at, false, view), "they mean the same")
	changed := basis()
	changed.Own = true
	require.True(t, own.Stands(changed, at, false, view))
	require.False(t, own.Stands(changed, at, true, view), "temporary objects may hide tables")

	old := basis()
	old.Revision = 5 // the view's is another
	require.False(t, old.Stands(basis(), at, false, view), "what its names mean is not known")
	old.Names = lookup.Meanings{}
	require.False(t, old.Stands(basis(), at, true, view), "temporary objects may hide tables")
	require.True(t, old.Stands(basis(), at, false, view), "they mean the same")
	require.Equal(t, view.Contents.Revision(), old.Revision)
	old.Revision = 5
	old.Names = lookup.Meanings{catalog.TableName{Schema: "public", Name: "t"}: {Table: &catalog.TableVersion{}}}
	require.False(t, old.Stands(basis(), at, false, view), "the table is gone")
}

// PL2.
func TestShareHasBounds(t *testing.T) {
	s := &planned.Share{Plans: 2, Most: 100}
	require.True(t, s.Take(60))
	require.False(t, s.Take(41), "too many bytes")
	require.True(t, s.Take(40))
	require.False(t, s.Take(0), "too many plans")
	s.Give(60)
	require.True(t, s.Take(60))
	plans, bytes := s.Kept()
	require.Equal(t, []int64{2, 100}, []int64{int64(plans), bytes})
}
