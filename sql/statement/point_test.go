package statement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

func TestErrorsPointAtNames(t *testing.T) {
	s := &statement.Statement{Text: `INSERT INTO /* t */ "ȺȺȺȺȺȺȺȺ" VALUES (a . T), ("t'"), ('v')`}
	missing := sqlerror.New("42P01", "missing")
	for _, c := range []struct {
		name string
		at   int
	}{{"ȺȺȺȺȺȺȺȺ", 21}, {"t", 40}, {"t'", 49}, {"v", 0}, {"absent", 0}} {
		var e *sqlerror.Error
		require.ErrorAs(t, s.PointAt(missing, c.name), &e)
		require.Equal(t, c.at, e.At, c.name)
	}
	require.Equal(t, 0, missing.At)
}
