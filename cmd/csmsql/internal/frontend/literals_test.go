package frontend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/frontend"
	"github.com/csmsql/csmsql/engine/statement"
)

func TestLiterals(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT '\x00fF27'::bytea, 'ü'`:                     `SELECT '\x00\xff\x27'::bytea, 'ü'`,
		`SELECT 'ü', E'\\x4142'::bytea, '\x43'::bytea`:      `SELECT 'ü', '\x41\x42'::bytea, '\x43'::bytea`,
		`SELECT CAST('\x4142' AS pg_catalog.bytea)`:         `SELECT CAST('\x41\x42' AS pg_catalog.bytea)`,
		`SELECT bytea '\x4142', ''::bytea, '\x'::bytea`:     `SELECT bytea '\x41\x42', ''::bytea, ''::bytea`,
		`INSERT INTO t VALUES ('\x4142'::bytea, '\x4142')`:  `INSERT INTO t VALUES ('\x41\x42'::bytea, '\x4142')`,
		`SELECT '\x4142'::blob, '\x4142'::text`:             `SELECT '\x4142'::blob, '\x4142'::text`,
		`SELECT '\x414'::bytea, '\x41\x42'::bytea`:          `SELECT '\x414'::bytea, '\x41\x42'::bytea`,
		`SELECT '\xzz'::bytea, a::bytea, $$\x4142$$::bytea`: `SELECT '\xzz'::bytea, a::bytea, $$\x4142$$::bytea`,
		`SELECT ('-12.3456'::numeric)::numeric(5, 1)`:       `SELECT ('-12.3456'::DECIMAL(38, 4))::numeric(5, 1)`,
		`SELECT 5::NUMERIC, 1.50::numeric, a::numeric`:      `SELECT 5::DECIMAL(38, 0), 1.50::DECIMAL(38, 2), a::numeric`,
		`SELECT 'NaN'::numeric, 1e5::numeric, '0.12345678901234567890123456789012345678'::numeric, CAST('7.' AS numeric)`: `SELECT 'NaN'::numeric, 1e5::numeric, '0.12345678901234567890123456789012345678'::numeric, CAST('7.' AS DECIMAL(38, 0))`,
		`SELECT '1.5'::decimal, '\x4142'::bytea, '{1.5}'::numeric[]`:                                                      `SELECT '1.5'::decimal, '\x41\x42'::bytea, '{1.5}'::numeric[]`,
	} {
		parsed, err := statement.Parse(sql)
		require.NoError(t, err)
		require.Equal(t, want, frontend.Literals(parsed.Tree, sql))
	}
}
