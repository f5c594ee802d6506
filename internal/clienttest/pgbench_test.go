package clienttest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func pgbench(t *testing.T, args ...string) (out string) {
	t.Helper()
	path := tool(t, "pgbench", "postgresql")
	args = append(args, "-h", "127.0.0.1", "-p", shared.listens(), "-U", "postgres", "csmsql")
	out, errOut, err := run(t, "", path, args...)
	require.NoError(t, err, "%s\n%s", out, errOut)
	return out + errOut
}

// TestPgbench: tables of scale 1, with foreign keys, then some transactions of each kind in each protocol. There is one
// client when rows are written, because a conflicting commit fails with 40001, and pgbench counts that as a failed
// transaction.
func TestPgbench(t *testing.T) {
	pgbench(t, "-i", "-s", "1", "-q", "--foreign-keys")
	require.Equal(t, "100000\n", mustPsql(t, "", "-At", "-c", "SELECT count(*) FROM pgbench_accounts"))
	script := filepath.Join(t.TempDir(), "select.sql")
	require.NoError(t, os.WriteFile(script, []byte(`\set key random(0, 24)
SELECT n_name FROM nation WHERE n_nationkey = :key;
\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid \gset
`), 0o600))
	for _, mode := range []string{"simple", "extended", "prepared"} {
		t.Run(mode, func(t *testing.T) {
			require.Contains(t, pgbench(t, "-n", "-M", mode, "-t", "5"), "number of transactions actually processed: 5/5")
			out := pgbench(t, "-n", "-M", mode, "-c", "2", "-t", "20", "-f", script)
			require.Contains(t, out, "number of transactions actually processed: 40/40")
			require.Contains(t, out, "number of failed transactions: 0")
			require.Contains(t, pgbench(t, "-n", "-M", mode, "-c", "2", "-t", "20", "-S"), "processed: 40/40")
		})
	}
	require.Equal(t, "15|t\n", mustPsql(t, "", "-At", "-c", `SELECT count(*), sum(delta) = (SELECT sum(abalance) FROM pgbench_accounts) FROM pgbench_history`))
}
