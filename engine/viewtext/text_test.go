package viewtext_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/viewtext"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A view's names are those of its first columns; it cannot have more of them.
func TestColumns(t *testing.T) {
	given := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.BinaryTypes.String}}, nil)
	for _, c := range []struct{ names, want []string }{
		{nil, []string{"a", "b"}}, {[]string{"x"}, []string{"x", "b"}}, {[]string{"x", "y"}, []string{"x", "y"}},
	} {
		columns, err := viewtext.Columns(given, c.names)
		require.NoError(t, err)
		for i, name := range c.want {
			require.Equal(t, name, columns.Field(i).Name)
			require.Equal(t, given.Field(i).Type, columns.Field(i).Type)
		}
	}
	_, err := viewtext.Columns(given, []string{"x", "y", "z"})
	require.Equal(t, "42601", sqlerror.State(err))
	require.Equal(t, "a", given.Field(0).Name, "the query's own schema stays as it is")
}
