package planned

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBesideStars: a star may be any number of columns; those beside it keep their names.
func TestBesideStars(t *testing.T) {
	for _, c := range []struct {
		names   []string
		columns int
		want    []string
	}{
		{[]string{"a", "b"}, 2, []string{"a", "b"}},
		{[]string{"a", "b"}, 3, nil},
		{[]string{"", "b"}, 2, []string{"", "b"}},
		{[]string{"a", "", "b", "c"}, 6, []string{"a", "", "", "", "b", "c"}},
		{[]string{"a", "", "b", "", "c"}, 6, []string{"a", "", "", "", "", "c"}},
		{[]string{"a", "", "b"}, 2, []string{"a", "b"}},
		{[]string{"a", "", "b"}, 1, nil},
		{nil, 1, nil},
	} {
		require.Equal(t, c.want, besideStars(c.names, c.columns), "%q of %d", c.names, c.columns)
	}
}
