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
	require.GreaterOrEqual(t, spelling.Near("to"), spelling.Distance("to", "tp"))
}
