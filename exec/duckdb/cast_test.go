package duckdb_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// Text becomes bytes and dates as PostgreSQL's clients write them, wherever a cast stands: constants, columns, inside of lists, in a TRY_CAST.
func TestCastsOfText(t *testing.T) {
	conn := openWith(t, duckdb.Options{Threads: 2, PostgresText: true})
	ctx := context.Background()
	one := func(expression, text string) string {
		got, err := conn.Texts(ctx, "SELECT "+expression+" FROM (VALUES (NULL), ($1::VARCHAR)) v(x) WHERE x IS NOT NULL", text)
		require.NoError(t, err, "%s of %q", expression, text)
		require.Len(t, got, 1)
		return got[0]
	}
	long := strings.Repeat("0123456789", 20)
	for text, want := range map[string]string{
		``: "", `abc`: "616263", `\x`: "", `\xDEAD44`: "DEAD44", `\xde ad`: "DEAD", `\xDE\xAD`: "DEAD", `a\\b\001\377`: "615C6201FF", `ä`: "C3A4", `a\x00b`: "610062",
		long: strings.ToUpper(strings.Repeat("30313233343536373839", 20)), `\x` + long: long,
	} {
		require.Equal(t, want, one("hex(CAST(x AS BLOB))", text), text)
		require.Equal(t, want, one("hex(TRY_CAST(x AS BLOB))", text), text)
		require.Equal(t, want, one("hex(CAST([x] AS BLOB[])[1])", text), text)
	}
	for text, want := range map[string]string{"": `\x`, "DE4144": `\xde4144`, "5C7841": `\x5c7841`, strings.Repeat("00FF", 300): `\x` + strings.Repeat("00ff", 300)} {
		require.Equal(t, want, one("CAST(unhex(x) AS VARCHAR)", text), "the text of bytes, which casts to the same bytes")
		require.Equal(t, "["+want+"]", one("CAST([unhex(x)] AS VARCHAR)", text))
		require.Equal(t, text, one("hex(CAST(CAST(unhex(x) AS VARCHAR) AS BLOB))", text))
	}
	for _, text := range []string{`\xABC`, `\xZZ`, `a\`, `a\9`, `a\400`, `\xDE\x`, `\`, strings.Repeat("ä", 60) + `\`} {
		require.Equal(t, "true", one("CAST(TRY_CAST(x AS BLOB) IS NULL AS VARCHAR)", text), text)
		_, err := conn.Texts(ctx, "SELECT hex(CAST($1::VARCHAR AS BLOB))", text)
		require.Error(t, err, text)
	}
	for text, want := range map[string]string{
		"2024-02-29": "2024-02-29", "1970-01-01": "1970-01-01", "0001-01-01": "0001-01-01", "9999-12-31": "9999-12-31", "1969-12-31": "1969-12-31", "1900-03-01": "1900-03-01", "epoch": "1970-01-01",
		"infinity": "infinity", "-infinity": "-infinity", " 2024-2-9 ": "2024-02-09", "0044-03-15 BC": "0044-03-15 (BC)", " 44-3-15  bc ": "0044-03-15 (BC)", "0044-03-15 (BC)": "0044-03-15 (BC)",
		"12345-01-01": "12345-01-01", "5881580-07-10": "5881580-07-10", "2024-02-29 12:00:00": "2024-02-29", "0044-03-15 12:00:00 BC": "0044-03-15 (BC)", "2024/02/29": "2024-02-29", "0000-03-15": "0001-03-15 (BC)",
	} {
		require.Equal(t, want, one("CAST(CAST(x AS DATE) AS VARCHAR)", text), text)
		require.Equal(t, want, one("CAST(CAST([x] AS DATE[])[1] AS VARCHAR)", text), text)
	}
	for text, want := range map[string]string{"2024-02-30": "out of range", "1900-02-29": "out of range", "2024-13-01": "out of range", "": "invalid date", "BC": "invalid date", "now": "invalid date", "2024": "invalid date",
		"01/02/03": "four digits", "1-2-3": "four digits", " 99-01-08": "four digits", "99 01 08": "four digits"} {
		require.Equal(t, "true", one("CAST(TRY_CAST(x AS DATE) IS NULL AS VARCHAR)", text), text)
		_, err := conn.Texts(ctx, "SELECT CAST(CAST($1::VARCHAR AS DATE) AS VARCHAR)", text)
		require.ErrorContains(t, err, want, text)
	}
}

// Every day of the years that are read without DuckDB is the one that DuckDB reads.
func TestDatesOfTextAreDuckDBs(t *testing.T) {
	conn := openWith(t, duckdb.Options{Threads: 2, PostgresText: true})
	got, err := conn.Texts(context.Background(), "SELECT CAST(count(*) FILTER (CAST(CAST(d AS VARCHAR) AS DATE) <> d) AS VARCHAR) FROM (SELECT DATE '0001-01-01' + CAST(i AS INTEGER) AS d FROM range(3652059) r(i))")
	require.NoError(t, err)
	require.Equal(t, []string{"0"}, got)
}

// Numbers with a floating point are rounded half to even before it is looked whether they fit an integer.
func TestRoundedNumbersFit(t *testing.T) {
	conn := openWith(t, duckdb.Options{Threads: 2})
	ctx := context.Background()
	for _, of := range []struct{ kind, least, most string }{
		{"TINYINT", "-128", "127"}, {"SMALLINT", "-32768", "32767"}, {"INTEGER", "-2147483648", "2147483647"}, {"UTINYINT", "0", "255"},
		{"USMALLINT", "0", "65535"}, {"UINTEGER", "0", "4294967295"},
	} {
		for text, want := range map[string]string{
			of.most + ".4": of.most, of.least: of.least, "-0.5": "0", "2.5": "2", "3.5": "4", of.most + ".5": "", of.most + ".6": "", "1e30": "", "nan": "", "inf": "", "-inf": "",
		} {
			for _, from := range []string{"DOUBLE", "FLOAT"} {
				if from == "FLOAT" && len(text) > 8 {
					continue // has not as many digits
				}
				cast := "CAST(x::" + from + " AS " + of.kind + ")"
				got, err := conn.Texts(ctx, "SELECT coalesce("+strings.Replace(cast, "CAST", "TRY_CAST", 1)+"::VARCHAR, '') FROM (VALUES (NULL), ($1::VARCHAR)) v(x) WHERE x IS NOT NULL", text)
				require.NoError(t, err)
				require.Equal(t, []string{want}, got, "%s of %s", cast, text)
				got, err = conn.Texts(ctx, "SELECT "+cast+"::VARCHAR FROM (VALUES ($1::VARCHAR)) v(x)", text)
				if want == "" {
					require.ErrorContains(t, err, "out of range for the destination type", "%s of %s", cast, text)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, []string{want}, got, "%s of %s", cast, text)
			}
		}
	}
	for text, want := range map[string]string{"9223372036854774784": "9223372036854774784", "-9223372036854775808": "-9223372036854775808", "9223372036854775808": ""} {
		got, err := conn.Texts(ctx, "SELECT coalesce(TRY_CAST($1::VARCHAR::DOUBLE AS BIGINT)::VARCHAR, '')", text)
		require.NoError(t, err)
		require.Equal(t, []string{want}, got)
	}
	got, err := conn.Texts(ctx, "SELECT coalesce(TRY_CAST($1::VARCHAR::DOUBLE AS UBIGINT)::VARCHAR, 'none')", "18446744073709551616")
	require.NoError(t, err)
	require.Equal(t, []string{"none"}, got)
	_, err = conn.Texts(ctx, "SELECT CAST($1::VARCHAR::DOUBLE AS SMALLINT)::VARCHAR", "32767.6")
	require.ErrorContains(t, err, "value 32767.6 can't")
}
