package prepared_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/prepared"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Planning casts parameters to the types that PREPARE declared, and counts them.
func TestPlanned(t *testing.T) {
	for _, c := range []struct {
		query, given string
		types        []string
		parameters   int
	}{
		{"SELECT 1", "  SELECT 1", nil, 0},
		{"SELECT $2", "  SELECT $2", nil, 2},
		{"SELECT $1", "  SELECT CAST($1 AS int)", []string{"int"}, 1},
		{"SELECT $1", "  SELECT $1", []string{"numeric"}, 1},
		{"SELECT '$1'", "  SELECT '$1'", []string{"int"}, 1},
	} {
		n := &prepared.Statement{Query: c.query, Types: c.types, OIDs: make([]uint32, len(c.types))}
		given, _, padded := n.Planned("äb")
		require.Equal(t, []string{c.given, "  " + c.query}, []string{given, padded}, c.query)
		require.Equal(t, c.parameters, n.Parameters, c.query)
		require.Len(t, n.Types, c.parameters, c.query)
		require.Len(t, n.OIDs, c.parameters, c.query)
	}
}

// What PREPARE declared stays; the rest is as planning found it.
func TestDeduce(t *testing.T) {
	n := &prepared.Statement{Types: []string{"int", ""}, OIDs: []uint32{relation.OIDInt4, 0}, Parameters: 2}
	n.Deduce([]duckdb.ParameterType{duckdb.TypeText, duckdb.TypeInt64, duckdb.TypeDate})
	require.Equal(t, []string{"int", "BIGINT"}, n.Types)
	require.Equal(t, []uint32{relation.OIDInt4, relation.OIDInt8}, n.OIDs)
}

// A type is exact that keeps everything of a value: numeric has digits only if it says how many.
func TestOpen(t *testing.T) {
	for name, open := range map[string]bool{"int": false, "NUMERIC": true, "decimal": true, "": true, "numeric(9,2)": false} {
		require.Equal(t, open, (&prepared.Statement{Types: []string{"int", name}}).Open(), name)
	}
}

// EXECUTE gives one argument for each parameter.
func TestExecute(t *testing.T) {
	for _, c := range []struct {
		parameters int
		arguments  []string
		state      string
	}{
		{2, []string{"1", "'x'"}, ""}, {2, []string{"1"}, "42601"}, {2, nil, "42601"}, {2, []string{"1", "2", "3"}, "42601"},
		{0, []string{"1"}, ""}, // PostgreSQL does not look at them
	} {
		n := &prepared.Statement{Query: "SELECT $1, $2", Parameters: c.parameters}
		_, err := n.Execute(&statement.Execute{Name: "p", Arguments: c.arguments})
		require.Equal(t, c.state, sqlerror.State(err), "%v", c.arguments)
	}
}

// Values stand where parameters stood, and nowhere else.
func TestText(t *testing.T) {
	x := &prepared.Execution{Query: "SELECT $2, '$1', $1 -- $1", Arguments: []string{"1", "2"}}
	got, err := x.Text([]string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, "SELECT b, '$1', a -- $1", got)
	got, err = (&prepared.Execution{Query: x.Query}).Text(nil)
	require.NoError(t, err)
	require.Equal(t, x.Query, got)
}

// A numeric without digits has those of its value.
func TestTextOfNumerics(t *testing.T) {
	const query = "SELECT csm_numeric__parameter($1::DECIMAL(38, 9)), $1::DECIMAL(38, 9)"
	for value, want := range map[string]string{
		"(0.12345678901)":                           "'0.12345678901'::DECIMAL(38, 11)",
		"(-1.50)":                                   "'-1.50'::DECIMAL(38, 2)",
		"CAST('0.30000000000000004' AS DOUBLE)":     "'0.3'::DECIMAL(38, 1)",
		"CAST('1e-12' AS DOUBLE)":                   "'0.000000000001'::DECIMAL(38, 12)",
		"CAST('0.1234' AS DECIMAL(11, 10))":         "'0.1234'::DECIMAL(38, 4)",
		"CAST(5 AS INTEGER)":                        "'5'::DECIMAL(38, 0)",
		"CAST(('0.1234567890123') AS text)":         "'0.1234567890123'::DECIMAL(38, 13)",
		"CAST(NULL AS INTEGER)":                     "csm_numeric__parameter(CAST(NULL AS INTEGER)::DECIMAL(38, 9))",
		"CAST('x' AS VARCHAR)":                      "csm_numeric__parameter(CAST('x' AS VARCHAR)::DECIMAL(38, 9))",
		"(12345678901234567890123456789.123456789)": "'12345678901234567890123456789.123456789'::DECIMAL(38, 9)",
	} {
		x := &prepared.Execution{Query: query, Arguments: []string{"1"}}
		got, err := x.Text([]string{value})
		require.NoError(t, err, value)
		require.Equal(t, "SELECT "+want+", "+value+"::DECIMAL(38, 9)", got, value)
	}
	x := &prepared.Execution{Query: query, Arguments: []string{"1"}}
	_, err := x.Text([]string{"(12345678901234567890123456789.1234567891)"})
	require.Equal(t, "0A000", sqlerror.State(err))
	x.Query = "SELECT csm_numeric__parameter($1::DECIMAL(38, 9)[])"
	got, err := x.Text([]string{"CAST('[0.12345678901]' AS DECIMAL(11, 11)[])"})
	require.NoError(t, err)
	_, err = x.Text([]string{"('{1,0.12345678901}')"})
	require.Equal(t, "22003", sqlerror.State(err))
	require.Equal(t, "SELECT csm_numeric__array(CAST('[0.12345678901]' AS DECIMAL(11, 11)[]))", got)
}

// What is plainly a constant of its type stands in the statement; DuckDB is asked for everything else.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		argument, typ string
		oid           uint32
		value, asked  string
	}{
		{"5", "BIGINT", relation.OIDInt8, "(5)", ""},
		{"-5", "BIGINT", relation.OIDInt8, "(-5)", ""},
		{"2 + 3", "BIGINT", relation.OIDInt8, "", "CAST((2 + 3) AS BIGINT)"},
		{"NULL", "DATE", relation.OIDDate, "CAST((NULL) AS DATE)", ""},
		{"'x'", "VARCHAR", relation.OIDText, "('x')", ""},
		{"'2024-01-01'", "DATE", relation.OIDDate, "", "CAST(('2024-01-01') AS DATE)"},
		{"1.5", "", 0, "(1.5)", ""},
		{"now()", "", 0, "", "(now()\n)"},
	} {
		n := &prepared.Statement{Types: []string{c.typ}, OIDs: []uint32{c.oid}, FromSQL: true}
		values, asked, list, err := (&prepared.Execution{Statement: n, Arguments: []string{c.argument}}).Values()
		require.NoError(t, err, c.argument)
		require.Equal(t, []string{c.value}, values, c.argument)
		if c.asked == "" {
			require.Empty(t, asked, c.argument)
			continue
		}
		require.Equal(t, []int{0}, asked, c.argument)
		require.Equal(t, []string{c.asked}, list)
	}
	for argument, state := range map[string]string{"$1": "42P02", "(SELECT 1)": "0A000", "1, 2": "42601"} {
		n := &prepared.Statement{Types: []string{""}, OIDs: []uint32{0}}
		_, _, _, err := (&prepared.Execution{Statement: n, Arguments: []string{argument}}).Values()
		require.Equal(t, state, sqlerror.State(err), argument)
	}
}
