package clienttest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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

// What asyncpg and node's pg go by: they ask for a statement's types, and send arrays and look up types accordingly.
func TestDescribedLists(t *testing.T) {
	c, ctx := connect(t)
	_, err := c.Exec(ctx, "CREATE OR REPLACE TABLE described (i integer[], n numeric(5, 2)[][], t text[], u uuid[], z timestamptz[], b bytea[], p integer)")
	require.NoError(t, err)
	for sql, want := range map[string][]uint32{
		"INSERT INTO described VALUES ($1, $2, $3, $4, $5, $6, $7)":                       {1007, 1231, 1009, 2951, 1185, 1001, 23},
		"SELECT * FROM described WHERE i = $1 AND p = ANY($2)":                            {1007, 1007},
		"SELECT oid FROM pg_type WHERE oid = ANY($1::oid[]) OR typelem = $2::oid":         {1028, 26},
		"SELECT 1 WHERE $1::integer[] IS NULL AND $2::text[] IS NULL AND $3::oid IS NULL": {1007, 1009, 26},
	} {
		described, err := c.Prepare(ctx, "", sql)
		require.NoError(t, err, sql)
		require.Equal(t, want, described.ParamOIDs, sql)
	}
	described, err := c.Prepare(ctx, "", "SELECT *, array_agg(oid) OVER () FROM (SELECT oid, typname FROM pg_type) t")
	require.NoError(t, err)
	var shown []uint32
	for _, f := range described.Fields {
		shown = append(shown, f.DataTypeOID)
	}
	require.Equal(t, []uint32{26, 25, 1028}, shown)

	_, err = c.Prepare(ctx, "kept", "SELECT * FROM described")
	require.NoError(t, err)
	_, err = c.Exec(ctx, "CREATE OR REPLACE TABLE described (another text)", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	_, err = c.Exec(ctx, "kept")
	var failed *pgconn.PgError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []string{"0A000", "RevalidateCachedQuery"}, []string{failed.Code, failed.Routine}, failed.Message)
}
