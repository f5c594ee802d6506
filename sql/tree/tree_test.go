package tree_test

import (
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/tree"
)

// tree.T1, by what can be counted in a text.
func TestAll(t *testing.T) {
	parsed, err := pg.Parse("WITH w AS (SELECT f(a, g(1), h(b)) FROM t) SELECT f(ARRAY[k(2)]) FROM w, (SELECT m(c)) x ORDER BY n(d); SELECT o()")
	require.NoError(t, err)
	names, seen := map[string]int{}, map[any]bool{}
	for m := range tree.All(parsed.ProtoReflect()) {
		require.False(t, seen[m.Interface()], "%v twice", m)
		for child := range tree.Children(m) {
			require.False(t, seen[child.Interface()], "%v before what is around it", child)
		}
		seen[m.Interface()] = true
		if call, ok := m.Interface().(*pg.FuncCall); ok {
			names[call.Funcname[0].GetString_().GetSval()]++
		}
	}
	require.Equal(t, map[string]int{"f": 2, "g": 1, "h": 1, "k": 1, "m": 1, "n": 1, "o": 1}, names)
}

// A search that has found its node ends.
func TestAllEnds(t *testing.T) {
	parsed, err := pg.Parse("SELECT f(1), g(2); SELECT h(3)")
	require.NoError(t, err)
	for stop := 1; ; stop++ {
		visited := 0
		for range tree.All(parsed.ProtoReflect()) {
			if visited++; visited == stop {
				break
			}
		}
		if visited < stop {
			require.Equal(t, count(parsed.ProtoReflect()), visited)
			return
		}
	}
}

func count(m protoreflect.Message) int {
	n := 1
	for child := range tree.Children(m) {
		n += count(child)
	}
	return n
}
