package main_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// A parameter that is cast to a numeric without digits keeps nine behind the point: DuckDB's three rounded what drivers
// send. More are refused.
func TestNumericParameters(t *testing.T) {
	conn, ctx := shared.get(t).connect(t), deadline(t)
	_, err := conn.Exec(ctx, "SET csm.dialect = 'postgres'")
	require.NoError(t, err)
	ask := func(oid uint32, sql, value string) (string, error) {
		result := conn.PgConn().ExecParams(ctx, sql, [][]byte{[]byte(value)}, []uint32{oid}, nil, nil).Read()
		if result.Err != nil {
			return "", result.Err
		}
		return string(result.Rows[0][0]), nil
	}
	for _, c := range []struct{ sql, value, want string }{
		{"SELECT $1::numeric", "1.234567", "1.234567000"},
		{"SELECT CAST($1 AS decimal)", "12345678901234567890.5", "12345678901234567890.500000000"},
		{"SELECT CAST($1 + 1 AS numeric)", "2", "3"},
		{"SELECT $1::numeric[]", "{0.123456789,-7}", "{0.123456789,-7.000000000}"},
		{"SELECT $1::numeric * $1::numeric = 156.25", "12.5", "t"},
		{"SELECT $1::numeric(8, 4)", "0.12345", "0.1235"},
		{"SELECT $1::numeric(38, 18)", "0.123456789012345678", "0.123456789012345678"},
	} {
		got, err := ask(0, c.sql, c.value)
		require.NoError(t, err, c.sql)
		require.Equal(t, c.want, got, c.sql)
	}
	for _, oid := range []uint32{0, pgtype.NumericOID, pgtype.TextOID} {
		_, err = ask(oid, "SELECT $1::numeric", "0.1234567891")
		require.Contains(t, state(t, err, "22003").Message, "parameter $1 has more than 9 digits after the point")
	}
	for _, oid := range []uint32{0, pgtype.NumericArrayOID, pgtype.TextOID} {
		_, err = ask(oid, "SELECT $1::numeric[]", "{1,0.1234567891}")
		require.Contains(t, state(t, err, "22003").Message, "parameter $1 has more than 9 digits after the point")
	}
	_, err = ask(pgtype.NumericOID, "SELECT $1 + 1", "0.1234567890123456789")
	require.Contains(t, state(t, err, "22003").Message, "parameter $1 has more than 18 digits after the point")
	_, err = ask(pgtype.Float8OID, "SELECT $1::numeric", "0.3333333333333333")
	require.Contains(t, state(t, err, "22003").Message, "parameter $1 has more than 9 digits after the point")
	got, err := ask(pgtype.Float8OID, "SELECT $1::numeric", "0.30000000000000004")
	require.NoError(t, err)
	require.Equal(t, "0.300000000", got)
	got, err = ask(pgtype.TextOID, "SELECT $1 || (1 + $1::numeric(38, 20))::text", "0.12345678901234567890")
	require.NoError(t, err, "a text has as many digits as it likes")
	require.Equal(t, "0.123456789012345678901.12345678901234567890", got)
	_, err = conn.Exec(ctx, "SET csm.dialect = 'duckdb'")
	require.NoError(t, err)
	got, err = ask(0, "SELECT $1::numeric", "0.1234567891")
	require.NoError(t, err)
	require.Equal(t, "0.123", got, "DuckDB's own")
}
