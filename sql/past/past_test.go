package past_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

func TestRead(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{`SELECT * FROM t AT (VERSION => 5)`, `SELECT * FROM "csm_past"."t@5" AS "t" `},
		{`SELECT * FROM T at(version=>5) WHERE a > 1`, `SELECT * FROM "csm_past"."""T""@5" AS "t"  WHERE a > 1`},
		{`SELECT * FROM s.t x AT (VERSION => 5), u`, `SELECT * FROM "csm_past"."s.t@5" x , u`},
		{`SELECT * FROM t AS x(a, b) AT (VERSION => 5) JOIN t AS y ON true`,
			`SELECT * FROM "csm_past"."t@5" AS x(a, b)  JOIN t AS y ON true`},
		{`SELECT * FROM t AT (VERSION => 5) AS x JOIN "A b" AT (VERSION => 7) USING (a)`,
			`SELECT * FROM "csm_past"."t@5"  AS x JOIN "csm_past"."""A b""@7" AS "A b"  USING (a)`},
		{`SELECT x.a FROM t AT (VERSION => 5) x LEFT JOIN u AT (VERSION => 2) ON true`,
			`SELECT x.a FROM "csm_past"."t@5"  x LEFT JOIN "csm_past"."u@2" AS "u"  ON true`},
		{`SELECT * FROM t AT (VERSION => 5) "on" (i), u AT (VERSION => 2) ORDER BY 1`,
			`SELECT * FROM "csm_past"."t@5"  "on" (i), "csm_past"."u@2" AS "u"  ORDER BY 1`},
		{`TABLE t AT (VERSION => 1)`, `TABLE "csm_past"."t@1" AS "t" `},
		{`SELECT 1 FROM a.b.c AT (TIMESTAMP => '2026-01-02 03:04:05+00')`,
			`SELECT 1 FROM "csm_past"."a.b.c@2026-01-02 03:04:05+00" AS "c" `},
		{`SELECT 1 FROM t AT (TIMESTAMP => TIMESTAMP '2026-01-02')`, `SELECT 1 FROM "csm_past"."t@2026-01-02" AS "t" `},
		{`SELECT 1 FROM t AT (TIMESTAMP => '2026-01-02'::timestamptz)`, `SELECT 1 FROM "csm_past"."t@2026-01-02" AS "t" `},
		// what is no clause stays
		{`SELECT * FROM t AT (version)`, `SELECT * FROM t AT (version)`},
		{`SELECT 'FROM t AT (VERSION => 5)'`, `SELECT 'FROM t AT (VERSION => 5)'`},
		{`SELECT f(version => 5)`, `SELECT f(version => 5)`},
		{`SELECT now() AT TIME ZONE 'UTC', f(timestamp => 1)`, `SELECT now() AT TIME ZONE 'UTC', f(timestamp => 1)`},
	} {
		text, made, err := past.Read(lex.Client.Text(c.from))
		require.NoError(t, err, c.from)
		require.Equal(t, c.to, text)
		require.Equal(t, c.from == c.to, made == nil)
	}
}

func TestRefuses(t *testing.T) {
	for text, state := range map[string]string{
		`SELECT * FROM t AT (VERSION => 0)`:                                               "0A000",
		`SELECT * FROM t AT (VERSION => $1)`:                                              "0A000",
		`SELECT * FROM t AT (VERSION => 1 + 1)`:                                           "0A000",
		`SELECT * FROM t AT (TIMESTAMP => now())`:                                         "0A000",
		`SELECT * FROM t AT (TIMESTAMP => 'tomorrow')`:                                    "22007",
		`SELECT * FROM (SELECT 1) AT (VERSION => 1)`:                                      "0A000",
		`WITH t AS (SELECT 1) SELECT * FROM t AT (VERSION => 1)`:                          "0A000",
		`WITH a AS (SELECT 1), t(x) AS MATERIALIZED (SELECT 1) TABLE t AT (VERSION => 1)`: "0A000",
		`SELECT * FROM a.b.c.d AT (VERSION => 1)`:                                         "42601",
	} {
		_, _, err := past.Read(lex.Client.Text(text))
		e, ok := err.(*sqlerror.Error)
		require.True(t, ok, text)
		require.Equal(t, state, e.State, text)
		require.Positive(t, e.At, text)
	}
}

// A name means the same wherever it is read (PA1).
func TestNames(t *testing.T) {
	for _, r := range []past.Reference{
		{Name: "t", Number: 5},
		{Schema: "s", Name: "t", Number: 1 << 40},
		{Database: "d", Schema: "S", Name: `a"b.c@d`, Time: "2026-01-02 03:04:05+00"},
	} {
		read, ok := past.Parse(r.Encoded())
		require.True(t, ok)
		require.Equal(t, r, read)
	}
	for _, no := range []string{"t", "@5", "t@", "t@0", "a.b.c.d@5"} {
		_, ok := past.Parse(no)
		require.False(t, ok, no)
	}
	text := `SELECT * FROM "csm_past"."public.t@5" AS x, csm_past, 'csm_past'.b`
	called, made := past.Calls(text)
	require.Equal(t, `SELECT * FROM csm_table('csm_past', 'public.t@5') AS x, csm_past, 'csm_past'.b`, called)
	require.Len(t, made, 1)
	require.Equal(t, `SELECT * FROM public.t AT (VERSION => 5) AS x, csm_past, 'csm_past'.b`, past.Shown(text))
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-02":                 "2026-01-01T23:00:00Z",
		"2026-01-02 03:04":           "2026-01-02T02:04:00Z",
		"2026-01-02T03:04:05.25Z":    "2026-01-02T03:04:05.25Z",
		"2026-01-02 03:04:05+02":     "2026-01-02T01:04:05Z",
		"2026-01-02 03:04:05 -07:00": "2026-01-02T10:04:05Z",
	} {
		at, err := past.Reference{Time: text}.At("Europe/Berlin")
		require.NoError(t, err, text)
		require.Equal(t, want, at.UTC().Format(time.RFC3339Nano), text)
	}
}
