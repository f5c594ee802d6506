package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A constant template, which becomes strftime, and the same template as a parameter, which the macro cuts up for every row, give the same.
func TestFormatsAreTheMacros(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT TIMESTAMP '1999-12-31 23:59:59.987654' + INTERVAL 1 HOUR * (i * 997) + INTERVAL 1 MICROSECOND * (i * 7919) AS ts FROM range(40) r(i)")
	pieces := strings.Fields(`YYYY YY YYY Y yyyy IYYY IW ID IDDD MM mm DD dd DDD D HH24 hh24 HH12 HH MI mi SS ss SSSS MS US AM am PM Q q WW W CC J Mon MON mon Month MONTH month
		Dy DY dy Day DAY day FMMonth FMDay FMDD FMMM FMHH24 FMMI FMSS FMDDD FMYYYY FMMONTH FMday DDth FMDDTH - / . : , "text" "100%" % T x`)
	pieces = append(pieces, " ", " ", "-", "-")
	macro, err := s.Prepare(context.Background(), "SELECT to_char(ts, $1) FROM t ORDER BY ts")
	require.NoError(t, err)
	defer macro.Close()
	rapid.Check(t, func(r *rapid.T) {
		template := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(r, "template"), rapid.SampledFrom([]string{"", "-"}).Draw(r, "between"))
		constant := rows(t, s, "SELECT to_char(ts, '"+template+"') FROM t ORDER BY ts")
		reader, err := macro.Query(context.Background(), template)
		require.NoError(t, err)
		require.Equal(t, textsOf(reader), constant, template)
	})
}

func textsOf(r array.RecordReader) (out []string) {
	defer r.Release()
	for r.Next() {
		for i := range int(r.RecordBatch().NumRows()) {
			out = append(out, strings.Clone(r.RecordBatch().Column(0).ValueStr(i)))
		}
	}
	return out
}

// A view calls PostgreSQL's functions as a statement does, also where its argument is no time.
func TestFormatsInViews(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT TIMESTAMP '2024-03-05 04:07:09' AS d, INTERVAL '26 hours' AS i, 12.5 AS n, 'ab' AS w")
	exec(t, s, `CREATE VIEW v AS SELECT to_char(d, 'YYYY-"Q"Q') AS q, to_char(i, 'HH24:MI') AS h, to_char(n, '99.9') AS x, initcap(w) AS c, encode(w::bytea, 'hex') AS b FROM t`)
	for _, who := range []int{0, 1} {
		asked := map[int]string{0: "SELECT * FROM v", 1: "FROM v"}[who]
		require.Equal(t, []string{"2024-Q1|26:00| 12.5|Ab|6162"}, rows(t, s, asked))
		require.Equal(t, []string{"2024-Q1|26:00| 12.5|Ab|6162"}, rows(t, other, asked))
	}
	exec(t, s, "BEGIN; CREATE VIEW w AS SELECT q || to_char(DATE '2024-01-02', 'DD') AS z FROM v")
	require.Equal(t, []string{"2024-Q102"}, rows(t, s, "FROM w"))
}

// The template may be anything, and so may what it is applied to: DuckDB does not know an aggregate's type when it chooses between macros.
func TestFormatsOfAggregates(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'YYYY-MM-DD' AS f, '999.9' AS n, TIMESTAMP '2024-01-02 03:04:05' + to_days(i::int) AS ts FROM range(10) r(i)")
	for sql, want := range map[string]string{
		"SELECT to_char(max(ts), f) FROM t GROUP BY f":                           "2024-01-11",
		"SELECT to_char(max(ts), max(f)) FROM t":                                 "2024-01-11",
		"SELECT to_char(sum(a), n) FROM t GROUP BY n":                            "  45.0",
		"SELECT to_char(avg(a)::numeric(5,2), max(n)) FROM t":                    "   4.5",
		"SELECT to_char(max(ts) - min(ts), 'DD' || ' HH24') FROM t":              "09 00",
		"SELECT DISTINCT to_char(sum(a) OVER (), n) FROM t":                      "  45.0",
		"SELECT to_char(ts, f[:4]) FROM t GROUP BY to_char(ts, f[:4])":           "2024",
		"SELECT to_char((SELECT max(ts) FROM t), f) FROM t LIMIT 1":              "2024-01-11",
		"SELECT c FROM (SELECT to_char(max(ts), f) AS c FROM t GROUP BY f) AS x": "2024-01-11",
	} {
		require.Equal(t, []string{want}, rows(t, s, sql), sql)
	}
	require.Equal(t, []string{"2024"}, rows(t, s, "SELECT to_char(max(ts), $1) FROM t", "YYYY"))
	require.Equal(t, []string{"   45"}, rows(t, s, "SELECT to_char(sum(a), $1) FROM t", "9999"))
	for _, sql := range []string{"SELECT to_char(true, f) FROM t", "SELECT to_char(max(f), f) FROM t GROUP BY f"} {
		err := failing(s, sql)
		requireState(t, "42883", err)
		require.ErrorContains(t, err, "to_char()", sql)
		require.NotContains(t, err.Error(), "char_typed", sql)
	}
}
