package clienttest

import (
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// psql prints notifications behind its commands.
func TestPsqlListen(t *testing.T) {
	out := mustPsql(t, `CREATE OR REPLACE TABLE psql_heard (i integer);
LISTEN csm_table_psql_heard;
INSERT INTO psql_heard VALUES (1);
BEGIN;
INSERT INTO psql_heard VALUES (2);
SELECT 'still in it';
COMMIT;
DROP TABLE psql_heard;
`, "-Atq")
	out = regexp.MustCompile(`PID \d+`).ReplaceAllString(out, "PID n")
	heard := func(payload string) string {
		return `Asynchronous notification "csm_table_psql_heard" with payload "` + payload +
			"\" received from server process with PID n.\n"
	}
	require.Equal(t, heard("2")+"still in it\n"+heard("3")+heard("gone"), out)
}

// pgx waits for a notification on a connection that does nothing else, and reads the version that it names.
func TestPgxListen(t *testing.T) {
	conn, ctx := connect(t)
	writer, _ := connect(t)
	_, err := writer.Exec(ctx, "CREATE OR REPLACE TABLE pgx_heard (i integer); ALTER TABLE pgx_heard SET (retained_versions = 10)")
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "LISTEN csm_table_public_pgx_heard")
	require.NoError(t, err)
	for i := range 5 {
		_, err = writer.Exec(ctx, "INSERT INTO pgx_heard VALUES ($1)", i)
		require.NoError(t, err)
		n, err := conn.WaitForNotification(ctx)
		require.NoError(t, err)
		require.Equal(t, "csm_table_public_pgx_heard", n.Channel)
		require.NotZero(t, n.PID)
		_, err = writer.Exec(ctx, "BEGIN; INSERT INTO pgx_heard VALUES (100); ROLLBACK") // no notification
		require.NoError(t, err)
		var count int
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM pgx_heard AT (VERSION => "+n.Payload+")",
			pgx.QueryExecModeExec).Scan(&count))
		require.Equal(t, i+1, count)
	}
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = writer.Exec(ctx, "DELETE FROM pgx_heard")
	require.NoError(t, err)
	var listened string
	require.NoError(t, tx.QueryRow(ctx, "SELECT pg_listening_channels()").Scan(&listened))
	require.Equal(t, "csm_table_public_pgx_heard", listened)
	require.NoError(t, tx.Commit(ctx))
	_, err = conn.WaitForNotification(ctx) // it came with the COMMIT
	require.NoError(t, err)
}
