package statement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/statement"
)

func TestValuesAreReadByTheirTokens(t *testing.T) {
	kinds := map[statement.ValueKind]string{
		statement.ExpressionValue: "expression", statement.NullValue: "null", statement.DefaultValueWord: "default", statement.BooleanValue: "boolean",
		statement.IntegerValue: "integer", statement.DecimalValue: "decimal", statement.FloatValue: "float", statement.TextValue: "text", statement.ParameterValue: "parameter",
	}
	sql := `VALUES (1, -20, +3, 1.50, .5, 2., 1e0, 0xff, 1_000), -- two rows
		('it''s', E'a\n', $$x$$, X'1F', NULL, true, DEFAULT, $12, (SELECT 1, 2)), ('a' || 'b', f(1, 2), [1, 2], {'a': 1}, -(1), DATE '2024-01-01', 1 + 2, - -1, 1::int, ('x'), ((-2.5)), (1, 2), ());`
	var got []string
	require.True(t, statement.Values(sql, func(v *statement.Value) bool {
		got = append(got, fmt.Sprintf("%d.%d %s %s %d.%d%s", v.Row, v.Column, sql[v.Start:v.End], kinds[v.Kind], v.Whole, v.Fraction, v.Text))
		return true
	}))
	require.Equal(t, []string{
		"0.0 1 integer 1.0", "0.1 -20 integer 2.0", "0.2 +3 integer 1.0", "0.3 1.50 decimal 1.2", "0.4 .5 decimal 0.1", "0.5 2. decimal 1.0", "0.6 1e0 float 0.0",
		"0.7 0xff float 0.0", "0.8 1_000 float 0.0",
		"1.0 'it''s' text 0.0it's", "1.1 E'a\\n' text 0.0a\n", "1.2 $$x$$ text 0.0x", "1.3 X'1F' expression 0.0", "1.4 NULL null 0.0", "1.5 true boolean 0.0",
		"1.6 DEFAULT default 0.0", "1.7 $12 parameter 0.0", "1.8 (SELECT 1, 2) expression 0.0",
		"2.0 'a' || 'b' expression 0.0", "2.1 f(1, 2) expression 0.0", "2.2 [1, 2] expression 0.0", "2.3 {'a': 1} expression 0.0", "2.4 -(1) expression 0.0",
		"2.5 DATE '2024-01-01' expression 0.0", "2.6 1 + 2 expression 0.0", "2.7 - -1 expression 0.0", "2.8 1::int expression 0.0",
		"2.9 ('x') text 0.0x", "2.10 ((-2.5)) decimal 1.1", "2.11 (1, 2) expression 0.0", "2.12 () expression 0.0",
	}, got)
	for _, other := range []string{
		"SELECT 1", "VALUES", "VALUES ()", "VALUES (1", "VALUES (1,)", "VALUES (1) ORDER BY 1", "VALUES (1) UNION VALUES (2)", "VALUES (1), (2) LIMIT 1", "VALUES (1) (2)", "VALUES (,1)", "VALUES 1",
	} {
		require.False(t, statement.Values(other, func(*statement.Value) bool { return true }), other)
	}
}
