package literal_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

var text = arrow.BinaryTypes.String

func form(t arrow.DataType) literal.Form { return literal.Of(arrow.Field{Name: "c", Type: t}) }

func TestTextInDuckDBsSpelling(t *testing.T) {
	bytes, truth, date := form(arrow.BinaryTypes.Binary), form(arrow.FixedWidthTypes.Boolean), form(arrow.FixedWidthTypes.Date32)
	moment, interval := form(arrow.FixedWidthTypes.Timestamp_us), form(arrow.FixedWidthTypes.MonthDayNanoInterval)
	ofDay := form(arrow.FixedWidthTypes.Time64us)
	numbers, words, blobs := form(arrow.ListOf(arrow.PrimitiveTypes.Int32)), form(arrow.ListOf(text)), form(arrow.ListOf(arrow.BinaryTypes.Binary))
	for _, c := range []struct {
		form     literal.Form
		in, want string
	}{
		{bytes, `\xDEADBEEF00`, `\xDE\xAD\xBE\xEF\x00`}, {bytes, `\xde ad`, `\xde\xad`}, {bytes, `\x`, ``}, {bytes, `abc`, `abc`}, {bytes, ``, ``},
		{bytes, `\xDE\xAD`, `\xDE\xAD`}, {bytes, `a\\b\001\377`, `a\x5Cb\x01\xFF`}, {bytes, `ä`, `\xC3\xA4`}, {bytes, `a\x00b`, `a\x00b`},
		{truth, ` t `, `true`}, {truth, `on`, `true`}, {truth, `YES`, `true`}, {truth, `of`, `false`}, {truth, `0`, `false`}, {truth, `o`, `o`}, {truth, `maybe`, `maybe`}, {truth, ``, ``},
		{date, `0044-03-15 BC`, `0044-03-15 (BC)`}, {date, `0044-03-15 bc `, `0044-03-15 (BC)`}, {date, `0044-03-15`, `0044-03-15`}, {date, `BC`, `BC`}, {date, `0044-03-15 (BC)`, `0044-03-15 (BC)`},
		{moment, `0044-03-15 12:00:00.5 BC`, `0044-03-15 (BC) 12:00:00.5`}, {moment, `0044-03-15T12:00:00+01 BC`, `0044-03-15 (BC) 12:00:00+01`}, {moment, `infinity`, `infinity`},
		{date, `Jan 31, 2020`, `2020-01-31`}, {date, `20200131`, `2020-01-31`}, {date, ` january 31 2020 `, `2020-01-31`}, {date, `31-Jan-2020`, `2020-01-31`},
		{date, `Fri Jan 31, 2020`, `2020-01-31`}, {date, `Friday, 31 January 2020`, `2020-01-31`}, {date, `2020.031`, `2020-01-31`}, {date, `2020-Jan-31`, `2020-01-31`},
		{date, `Jan-31-2020`, `2020-01-31`}, {date, `20200231`, `20200231`}, {date, `1/31/2020`, `1/31/2020`}, {date, `2020-01-31`, `2020-01-31`}, {date, `12345678`, `12345678`},
		{moment, `20200131 102030`, `2020-01-31 10:20:30`}, {moment, `20200131T102030Z`, `2020-01-31 10:20:30Z`}, {moment, `Jan 31, 2020 9:20`, `2020-01-31 09:20:00`},
		{moment, `2020-01-31 10:20+01`, `2020-01-31 10:20:00+01`}, {moment, `2020-01-31T10:20Z`, `2020-01-31 10:20:00Z`},
		{moment, `2020-01-31 10:20 utc`, `2020-01-31 10:20:00Z`}, {moment, `2020-01-31 10:20`, `2020-01-31 10:20`},
		{moment, `2020-01-31 10:20:30+01`, `2020-01-31 10:20:30+01`}, {moment, `2020-01-31 10:20 Europe/Paris`, `2020-01-31 10:20 Europe/Paris`},
		{moment, `Jan 31 10:20:30.5 2020`, `2020-01-31 10:20:30.5`}, {moment, `31 Jan 2020 10:20:30 +01`, `2020-01-31 10:20:30+01`}, {moment, `20200131 x`, `20200131 x`},
		{moment, `2024-01-02 3:04 PM`, `2024-01-02 15:04:00`}, {moment, `Jan 2, 2024 12:04:05.5am`, `2024-01-02 00:04:05.5`}, {moment, `2024-01-02 12:00 pm +01`, `2024-01-02 12:00:00+01`},
		{moment, `2024-01-02 13:00 PM`, `2024-01-02 13:00 PM`}, {ofDay, `3:04 PM`, `15:04:00`}, {ofDay, ` 12:30:01 am `, `00:30:01`}, {ofDay, `0:30pm`, `12:30:00`}, {ofDay, `100000`, `10:00:00`}, {ofDay, `235959.5`, `23:59:59.5`},
		{ofDay, `3:04 pm+02`, `15:04:00+02`}, {ofDay, `13:04 PM`, `13:04 PM`}, {ofDay, `15:04`, `15:04`}, {ofDay, `3 PM`, `3 PM`}, {ofDay, `15:04:05+01`, `15:04:05+01`}, {ofDay, `15:04+01`, `15:04:00+01`},
		{interval, `-1 mons +3 days +01:02:03`, `-1 mons 3 days 01:02:03`}, {interval, `+1 day`, `1 day`}, {interval, `1 day -02:00`, `1 day -02:00`},
		{numbers, `{1, 2 ,NULL}`, `[1,2,NULL]`}, {numbers, `{{1,2},{3}}`, `[[1,2],[3]]`}, {numbers, ` {} `, `[]`}, {numbers, `[1, 2]`, `[1, 2]`},
		{words, `{a b,"a,b","x\"y\\z",NULL,"NULL",it's,"",[q], c }`, `["a b","a,b","x\"y\\z",NULL,"NULL","it's","","[q]",c]`}, {words, `{a\,b}`, `["a,b"]`},
		{words, `{a`, `{a`}, {words, `{a,}`, `{a,}`}, {words, `{a}b`, `{a}b`}, {words, `{"a`, `{"a`}, {words, `{a\`, `{a\`}, {words, `{,a}`, `{,a}`}, {words, `{a{b}`, `{a{b}`},
		{blobs, `{"\\xDEAD",NULL}`, `["\\xDE\\xAD",NULL]`}, {form(arrow.ListOf(arrow.FixedWidthTypes.Date32)), `{"0044-03-15 BC"}`, `["0044-03-15 (BC)"]`},
		{form(arrow.MapOf(text, text)), `{a=1}`, `{a=1}`}, {form(text), `\xDEAD`, `\xDEAD`}, {form(text), `{1}`, `{1}`}, {form(text), `0044-03-15 BC`, `0044-03-15 BC`},
		{literal.Named("jsonb", true), `{"{\"a\": 1}"}`, `[{"a": 1}]`}, {literal.Named("BYTEA", false), `\xDEAD`, `\xDE\xAD`}, {literal.Named("nothing", false), `\xDEAD`, `\xDEAD`},
	} {
		got, err := c.form.Translate(c.in)
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, got, c.in)
		again, err := c.form.Translate(got)
		require.NoError(t, err, got)
		require.Equal(t, got, again, "DuckDB's spelling is left as it is")
	}
}

func TestTextThatDuckDBWouldTakeForOtherBytes(t *testing.T) {
	for in, state := range map[string]string{`\xABC`: "22023", `\xZZ`: "22023", `\xä`: "22023", `a\`: "22P02", `a\9`: "22P02", `a\400`: "22P02", `\xDE\x`: "22P02"} {
		for _, f := range []literal.Form{form(arrow.BinaryTypes.Binary), literal.Named("bytea", false)} {
			_, err := f.Translate(in)
			var e *sqlerror.Error
			require.ErrorAs(t, err, &e, in)
			require.Equal(t, state, e.SQLState(), in)
		}
	}
	_, err := literal.Named("bytea", true).Translate(`{"\\xABC"}`)
	require.Error(t, err)
}

func TestTextThatDuckDBDoesNotRead(t *testing.T) {
	for text, want := range map[string]bool{
		"on": true, " t ": true, "of": true, "fals": true, "20200131": true, "2020-01-31 10:20+01": true, "2020-01-31 10:20": false, "Jan 31, 2020": true, `\xDEAD`: true,
		"0044-03-15 BC": true, "true": false, "T": false, "1": false, "o": false, "maybe": false, "2020-01-31": false,
		"12345678": false, "": false, "3:04 PM": true, "100000": false, "15:04": false,
	} {
		require.Equal(t, want, literal.Ambiguous(text), text)
	}
}

func FuzzTranslate(f *testing.F) {
	for _, s := range []string{`\xDEAD`, `{1,{2},"x\"",NULL}`, `0044-03-15 12:00 BC`, `+1 day`, ` on`, `a\\b\001`, `{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"bytea", "bool", "timestamp", "interval", "text", "json"} {
			for _, list := range []bool{false, true} {
				_, _ = literal.Named(name, list).Translate(s)
			}
		}
	})
}
