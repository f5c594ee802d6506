package clienttest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

func connect(t *testing.T) (*pgx.Conn, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	conn, err := pgx.Connect(ctx, shared.url())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn, ctx
}

// TestPgxUntyped: pgx leaves the types of parameters to the server; in arithmetic they are those of the column beside them.
func TestPgxUntyped(t *testing.T) {
	conn, ctx := connect(t)
	_, err := conn.Exec(ctx, "CREATE OR REPLACE TABLE pgx_typed AS SELECT 1::integer AS i, 2::bigint AS b, 1.50::decimal(10, 2) AS n, 0.5::double AS f, DATE '2024-01-01' AS d")
	require.NoError(t, err)
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	for sql, want := range map[string]uint32{
		"SELECT i + $1 FROM pgx_typed": pgtype.Int4OID, "SELECT $1 * (1 + b) FROM pgx_typed": pgtype.Int8OID, "SELECT t.n - $1 FROM pgx_typed t": pgtype.NumericOID,
		"UPDATE pgx_typed SET f = f / $1": pgtype.Float8OID, "SELECT 1 FROM pgx_typed WHERE i % $1 = 0": pgtype.Int4OID,
	} {
		described, err := tx.Conn().PgConn().Prepare(ctx, "", sql, nil)
		require.NoError(t, err, sql)
		require.Equal(t, []uint32{want}, described.ParamOIDs, sql)
	}
	var sum int
	require.NoError(t, tx.QueryRow(ctx, "SELECT i + $1 FROM pgx_typed", 41).Scan(&sum))
	require.Equal(t, 42, sum)
	// The question that the server asks itself fails here, and must not fail the transaction: the statement is good.
	var day any
	require.NoError(t, tx.QueryRow(ctx, "SELECT d + i * $1::integer FROM pgx_typed", 1).Scan(&day))
	require.NoError(t, tx.Rollback(ctx))
}

// TestPgxCursor: FETCH through the extended protocol, whose statements pgx caches beyond the transaction.
func TestPgxCursor(t *testing.T) {
	conn, ctx := connect(t)
	for _, columns := range []string{"range::integer AS a", "'x' AS b, range AS a"} {
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, "DECLARE c CURSOR FOR SELECT "+columns+" FROM range(100) WHERE range < $1 ORDER BY range", 10)
		require.NoError(t, err)
		tag, err := tx.Exec(ctx, "MOVE 4 FROM c")
		require.NoError(t, err)
		require.Equal(t, "MOVE 4", tag.String())
		rows, err := tx.Query(ctx, "FETCH 100 FROM c", pgx.QueryExecModeExec)
		require.NoError(t, err)
		count := 0
		for rows.Next() {
			count++
		}
		require.NoError(t, rows.Err())
		require.Equal(t, 6, count)
		require.Equal(t, "FETCH 6", rows.CommandTag().String())
		require.NoError(t, tx.Commit(ctx))
	}
}

// TestPgxNumerics: a parameter that the client declares numeric keeps its digits beside an integer or a numeric with fewer.
func TestPgxNumerics(t *testing.T) {
	conn, ctx := connect(t)
	_, err := conn.Exec(ctx, "CREATE OR REPLACE TABLE pgx_numbers AS SELECT 2::smallint AS s, 2 AS i, 2::bigint AS b, 1.01::decimal(10, 2) AS n")
	require.NoError(t, err)
	for sql, value := range map[string]string{"s = $1": "1.5", "i = $1": "1.5", "b <= $1": "1.5", "n = $1": "1.005", "n >= $1": "1.014"} {
		result := conn.PgConn().ExecParams(ctx, "SELECT count(*) FROM pgx_numbers WHERE "+sql, [][]byte{[]byte(value)}, []uint32{pgtype.NumericOID}, nil, nil).Read()
		require.NoError(t, result.Err, sql)
		require.Equal(t, "0", string(result.Rows[0][0]), "%s with %s", sql, value)
	}
}
