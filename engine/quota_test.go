package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
)

// A table holds no more of the region than its quota, also over restarts; others are not its business.
func TestQuotas(t *testing.T) {
	t.Parallel()
	config := engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, MemoryBytes: 256 << 20, Threads: 2}
	config.Quotas = map[catalog.TableName]int64{{Schema: "public", Name: "few"}: 1 << 20}
	const load = "INSERT INTO few SELECT hash(i) FROM range(50000) r(i)" // 400,000 bytes
	run := func(do func(s *engine.Session)) {
		e, err := engine.Open(t.Context(), config)
		require.NoError(t, err)
		s, err := e.Session(engine.SessionOptions{})
		require.NoError(t, err)
		do(s)
		require.NoError(t, s.Close())
		require.NoError(t, e.Close())
	}
	full := func(s *engine.Session, text string) {
		t.Helper()
		_, err := s.Exec(t.Context(), text)
		require.Equal(t, "53200", state(t, err))
		var e *engine.Error
		require.ErrorAs(t, err, &e)
		require.Regexp(t, `allocate .* for "public.few": quota of the owner is used up: holds .* of 1 MiB`, e.Message)
		require.Contains(t, e.HintText, "--quota")
	}
	run(func(s *engine.Session) {
		exec(t, s, "CREATE TABLE few (a ubigint); CREATE TABLE many AS SELECT hash(i) FROM range(500000) r(i)")
		exec(t, s, load)
		exec(t, s, load)
		full(s, load)
		full(s, "CREATE OR REPLACE TABLE few AS FROM many")
		require.Equal(t, []string{"100000"}, rows(t, s, "SELECT count(*) FROM few"))
		exec(t, s, "TRUNCATE few; "+load)
		exec(t, s, load)
	})
	run(func(s *engine.Session) {
		full(s, load)
		exec(t, s, "DELETE FROM few; VACUUM; TRUNCATE few; "+load)
	})
	config.Quotas = nil
	run(func(s *engine.Session) { exec(t, s, "INSERT INTO few FROM many; INSERT INTO few FROM many") })
}
