package clienttest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// copiedType is a type with expressions of its values.
type copiedType struct {
	column   string
	values   []string
	noBinary bool
}

// copied are types with expressions of values that COPY takes out and in again: the first, the last, and those that are written in a way of
// their own. What has no binary format is refused.
var copied = []copiedType{
	{"date", []string{"'0044-03-15 BC'", "'0001-12-31 BC'", "'4714-11-24 BC'", "'infinity'", "'-infinity'", "'10000-01-01'", "'5881580-07-10'", "'1969-12-31'"}, false},
	{"date", []string{"'5877642-06-25 BC'"}, true},
	{"timestamp", []string{"'290309-12-22 00:00:00 BC'"}, true},
	{"timestamp", []string{"'0044-03-15 12:00:00.123456 BC'", "'infinity'", "'-infinity'", "'294246-12-31 23:59:59.999999'", "'1969-12-31 23:59:59.999999'", "'2024-02-29 24:00:00'"}, false},
	{"timestamptz", []string{"'0044-03-15 12:00:00+02 BC'", "'infinity'", "'-infinity'", "'10000-01-01 00:00:00.5-11:30'", "'2024-02-29 12:00:00+00:00:30'"}, false},
	{"timestamp_s", []string{"'0044-03-15 12:00:00 BC'", "'2024-02-29 12:00:00'"}, false},
	{"timestamp_ms", []string{"'0044-03-15 12:00:00.123 BC'", "'2024-02-29 12:00:00.001'"}, false},
	{"timestamp_ns", []string{"'2024-02-29 12:34:56.123456789'", "'1969-12-31 23:59:59.999999999'", "'2262-04-11 23:47:16.854775806'", "'1677-09-22 00:00:00.000000001'"}, true},
	{"time", []string{"'00:00:00'", "'23:59:59.999999'", "'24:00:00'"}, false},
	{"interval", []string{"'-1 mons +3 days +01:02:03.5'", "'1 year -2 days'", "'-00:00:00.000001'", "'0'", "'1000000 hours'"}, false},
	{"bytea", []string{`'\xDE414400'`, `''`, `'\x5c78'`, `'\xff'`, `'a\\b\001'`}, false},
	{"boolean", []string{"'on'", "'f'"}, false},
	{"smallint", []string{"-32768", "32767"}, false},
	{"integer", []string{"-2147483648", "2147483647"}, false},
	{"bigint", []string{"-9223372036854775808", "9223372036854775807"}, false},
	{"ubigint", []string{"18446744073709551615", "0"}, false},
	{"real", []string{"'NaN'", "'-Infinity'", "'1e-45'", "'3.4028235e38'", "0.1", "'-0'"}, false},
	{"double", []string{"'NaN'", "'Infinity'", "'5e-324'", "'1.7976931348623157e308'", "0.1", "'-0'"}, false},
	{"numeric(38,10)", []string{"-1234567890123456789012345678.0123456789", "0.0000000001"}, false},
	{"numeric(4,1)", []string{"-999.9", "0"}, false},
	{"uuid", []string{"'00000000-0000-0000-0000-000000000000'", "'FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF'"}, false},
	{"text", []string{"''", `'\N'`, `E'tab\tline\nreturn\r"quote"\\'`, `'\.'`, `'NULL'`, "'ä€𝄞'"}, false},
	{"json", []string{`'{"a": [1, "x\ny", null]}'`, `'null'`, `'"\\"'`}, false},
	{"integer[]", []string{"'{1,NULL,-3}'", "'{}'"}, false},
	{"text[]", []string{`'{"a b",NULL,"NULL","",it''s,"{x}","[y]","a\"b\\c","a,b"," c "}'`, "'{}'"}, false},
	{"bytea[]", []string{`'{"\\xDE4144",NULL,"\\x"}'`}, false},
	{"date[]", []string{"'{\"0001-01-01 BC\",infinity,NULL}'"}, false},
	{"boolean[]", []string{"'{on,f,NULL}'"}, false},
	{"map(text, integer)", []string{"MAP {'k': 1, 'a \"b\\': NULL}", "MAP {}"}, false},
	{"struct(a integer, b text)", []string{`{'a': 1, 'b': 'it''s "x" \ {y}'}`, "{'a': NULL, 'b': NULL}"}, false},
}

// TestCopiedValuesAreEqual: what COPY takes out of a table, in each of its formats, it puts in again as it was.
func TestCopiedValuesAreEqual(t *testing.T) {
	conn, ctx := connect(t)
	run := func(sql string) {
		t.Helper()
		_, err := conn.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	for _, c := range copied {
		t.Run(c.column, func(t *testing.T) {
			run("DROP TABLE IF EXISTS copied_out; DROP TABLE IF EXISTS copied_in")
			run(fmt.Sprintf("CREATE TABLE copied_out (n integer, c %s); CREATE TABLE copied_in (n integer, c %s)", c.column, c.column))
			for i, value := range append(c.values, "NULL") {
				run(fmt.Sprintf("INSERT INTO copied_out VALUES (%d, %s)", i, value))
			}
			for _, format := range []string{"text", "csv", "binary"} {
				var data bytes.Buffer
				_, err := conn.PgConn().CopyTo(ctx, &data, "COPY copied_out TO STDOUT (FORMAT "+format+")")
				if format == "binary" && c.noBinary {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err, format)
				run("TRUNCATE copied_in")
				sent := data.String()
				_, err = conn.PgConn().CopyFrom(ctx, &data, "COPY copied_in FROM STDIN (FORMAT "+format+")")
				require.NoError(t, err, "%s: %q", format, sent)
				var differ int
				require.NoError(t, conn.QueryRow(ctx, `SELECT count(*) FROM copied_out o FULL JOIN copied_in i ON o.n = i.n
					WHERE o.n IS NULL OR i.n IS NULL OR o.c IS DISTINCT FROM i.c OR CAST(o.c AS VARCHAR) IS DISTINCT FROM CAST(i.c AS VARCHAR)`).Scan(&differ))
				require.Zero(t, differ, "%s: %q", format, sent)
			}
		})
	}
}
