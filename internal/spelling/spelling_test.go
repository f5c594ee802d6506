package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"order_s", "orders", 1}, {"lineitem", "sqlite_schema", 8}} {
		require.Equal(t, c.want, spelling.Distance(c.a, c.b), "%q, %q", c.a, c.b)
		require.Equal(t, c.want, spelling.Distance(c.b, c.a), "%q, %q", c.b, c.a)
	}
	require.Less(t, spelling.Near("lineitem"), spelling.Distance("lineitem", "sqlite_schema"))
	require.Less(t, spelling.Near("nope"), spelling.Distance("nope", "nodes"))
	require.Less(t, spelling.Near("f"), spelling.Distance("f", "favg"))
	require.Equal(t, 3, spelling.Near("a_name_of_a_table_that_is_long"))
	require.GreaterOrEqual(t, spelling.Near("order_s"), spelling.Distance("order_s", "orders"))
	require.GreaterOrEqual(t, spelling.Near("to"), spelling.Distance("to", "tp"))
}

func TestNearest(t *testing.T) {
	list := []string{"placement", "replicas"}
	require.Equal(t, "replicas", spelling.Nearest("Replica", list))
	require.Equal(t, "placement", spelling.Nearest("placment", list))
	require.Empty(t, spelling.Nearest("fillfactor", list))
}
