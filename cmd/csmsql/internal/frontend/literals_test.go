package frontend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/frontend"
	"github.com/csmsql/csmsql/sql/statement"
)

func TestNumericLiterals(t *testing.T) {
	for sql, want := range map[string]string{
		`SELECT ('-12.3456'::numeric)::numeric(5, 1)`:                                                                     `SELECT ('-12.3456'::DECIMAL(38, 4))::numeric(5, 1)`,
		`SELECT 5::NUMERIC, 1.50::numeric, a::numeric`:                                                                    `SELECT 5::DECIMAL(38, 0), 1.50::DECIMAL(38, 2), a::numeric`,
		`SELECT 'NaN'::numeric, 1e5::numeric, '0.12345678901234567890123456789012345678'::numeric, CAST('7.' AS numeric)`: `SELECT 'NaN'::numeric, 1e5::numeric, '0.12345678901234567890123456789012345678'::numeric, CAST('7.' AS DECIMAL(38, 0))`,
		`SELECT '1.23456'::Numeric`:                                                                                       `SELECT '1.23456'::DECIMAL(38, 5)`,
		`SELECT '1.5'::decimal, '1.5'::text, '{1.5}'::numeric[]`:                                                          `SELECT '1.5'::decimal, '1.5'::text, '{1.5}'::numeric[]`,
	} {
		parsed, err := statement.Parse(sql)
		require.NoError(t, err)
		require.Equal(t, want, frontend.NumericLiterals(parsed.Tree, sql))
		require.True(t, sql == want || frontend.MayHaveNumerics(sql), sql)
	}
}
