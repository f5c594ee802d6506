package fragment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/fragment"
	"github.com/csmsql/csmsql/sql/setting"
)

// Results of other fragments are no tables whose chunks could have been left out.
func TestPruning(t *testing.T) {
	m := fragment.Measures{Scans: []fragment.Scan{
		{Table: "t", Chunks: 1, Of: 8}, {Table: "r", Chunks: 3, Of: 3, Result: true}, {Table: "u", Chunks: 1, Of: 1, Keys: "t"},
	}}
	require.Equal(t, "1 of 8 chunks of t, 1 of 1 chunk of u thinned out by t", m.Pruning())
	require.Empty(t, (&fragment.Measures{}).Pruning())
}

// A result is found before anything that a schema of the session's has.
func TestStageName(t *testing.T) {
	require.Equal(t, catalog.TableName{Schema: "a", Name: "s1"}, fragment.StageName([]string{"a", "b"}, "s1"))
	require.Equal(t, catalog.TableName{Name: "s1"}, fragment.StageName(nil, "s1"))
}

// Plans are one for fragments that differ in the chunks of results alone.
func TestKeysOfPlans(t *testing.T) {
	key := func(change func(*fragment.Payload, *noderpc.FragmentRequest)) string {
		p := fragment.Payload{Stages: []fragment.Stage{{Name: "s1", Columns: []byte("c"), Chunks: [][]byte{{1}}}}}
		r := noderpc.FragmentRequest{Query: "q", Settings: map[string]string{}}
		change(&p, &r)
		k, err := p.Key(r)
		require.NoError(t, err)
		return k
	}
	same := key(func(*fragment.Payload, *noderpc.FragmentRequest) {})
	require.NotEmpty(t, same)
	for what, change := range map[string]func(*fragment.Payload, *noderpc.FragmentRequest){
		"query":   func(_ *fragment.Payload, r *noderpc.FragmentRequest) { r.Query = "r" },
		"columns": func(p *fragment.Payload, _ *noderpc.FragmentRequest) { p.Stages[0].Columns = []byte("d") },
		"path":    func(p *fragment.Payload, _ *noderpc.FragmentRequest) { p.SearchPath = []string{"a"} },
		"zone":    func(_ *fragment.Payload, r *noderpc.FragmentRequest) { r.Settings[setting.TimeZone] = "UTC" },
		"verify":  func(_ *fragment.Payload, r *noderpc.FragmentRequest) { r.Settings[setting.Verify] = "always" },
	} {
		require.NotEqual(t, same, key(change), what)
	}
	require.Equal(t, same, key(func(p *fragment.Payload, _ *noderpc.FragmentRequest) { p.Stages[0].Chunks = [][]byte{{2}, {3}} }))
	require.Empty(t, key(func(_ *fragment.Payload, r *noderpc.FragmentRequest) {
		r.Settings[setting.PlanCacheMode] = setting.ForceCustomPlan
	}), "none is kept of a statement that is to be planned each time")
}
