package sqlerror_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

func TestNew(t *testing.T) {
	e := sqlerror.New("42P01", "relation %q does not exist", "t").WithHint("Look.").WithDetail("More.")
	e.Cause, e.At, e.Object = io.EOF, 3, sqlerror.Object{Schema: "s", Table: "t", Column: "c", Constraint: "k"}
	require.EqualError(t, e, `relation "t" does not exist`)
	require.Equal(t, []any{"42P01", "Look.", "More.", 3}, []any{e.SQLState(), e.Hint(), e.Detail(), e.Position()})
	require.ErrorIs(t, e, io.EOF)
	schema, table, column, constraint := e.Objects()
	require.Equal(t, []string{"s", "t", "c", "k"}, []string{schema, table, column, constraint})
}

func TestState(t *testing.T) {
	require.Equal(t, "22012", sqlerror.State(fmt.Errorf("wrapped: %w", sqlerror.New("22012", "division by zero"))))
	require.Empty(t, sqlerror.State(errors.New("none")))
	require.Empty(t, sqlerror.State(nil))
}
