package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// DuckDB says which names are temporary. A statement that gets no answer fails, rather than use the table of the same
// name that all sessions share.
func TestTemporaryNamesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE shared AS SELECT i FROM range(10) r(i); CREATE VIEW v AS SELECT 1 AS i; CREATE TEMP TABLE own (i bigint)")
	for n := range 400 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%200)*10*time.Microsecond)
		for _, sql := range []string{"INSERT INTO own SELECT i FROM shared", "UPDATE own SET i = 1", "DELETE FROM own WHERE i > 3", "SELECT * FROM own"} {
			if _, err := s.Exec(ctx, sql); err != nil {
				require.Equal(t, "57014", sqlState(err), "%s: %v", sql, err)
			}
		}
		cancel()
	}
}

// What a session calls its macros does not change what names mean.
func TestTemporaryNamesBesideMacros(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE shared (i bigint); CREATE TEMP TABLE own (i bigint); CREATE TEMP MACRO lower(x) AS 'the same'")
	exec(t, s, "INSERT INTO shared VALUES (1); INSERT INTO OWN VALUES (2), (3)")
	require.Equal(t, []string{"1|2"}, rows(t, s, "SELECT (SELECT count(*) FROM shared), (SELECT count(*) FROM own)"))
}
