package sequence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/sql/lex"
)

func TestTranslate(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT nextval('s'), nextval('s'::regclass)":             "SELECT csm_nextval('s'), csm_nextval('s')",
		"SELECT pg_catalog.nextval('s'::pg_catalog.regclass)":     "SELECT csm_nextval('s')",
		`SELECT "nextval"('"S"'), NEXTVAL ('a.b')`:                `SELECT csm_nextval('"S"'), csm_nextval ('a.b')`,
		"SELECT setval('s', (SELECT max(a)::int FROM t), false)":  "SELECT csm_setval('s', (SELECT max(a)::int FROM t), false)",
		"SELECT nextval(CAST('s' AS regclass)), lastval()":        "SELECT csm_nextval('s'), csm_lastval()",
		"SELECT nextval(('s'::text)::regclass)":                   "SELECT csm_nextval(('s'::text))",
		"SELECT nextval, 'nextval(''s'')', other.nextval('s')":    "SELECT nextval, 'nextval(''s'')', other.nextval('s')",
		"SELECT nextval('own'), currval('pg_temp.own'::regclass)": "SELECT nextval('own'), currval('pg_temp.own')",
		"SELECT nextval('public.own')":                            "SELECT csm_nextval('public.own')",
	} {
		require.Equal(t, sequence.Mentioned(sql), true, sql)
		got, _ := sequence.Translate(lex.Client.Text(sql), map[string]bool{"own": true})
		require.Equal(t, want, got, sql)
	}
	require.False(t, sequence.Mentioned("SELECT interval, nextvalue, xnextval(1), csm_nextval('s') FROM eval"))
}

func TestNamesInStrings(t *testing.T) {
	for text, want := range map[string]string{
		"s": "s", "S": "s", `"S"`: "S", "a.b": "a.b", `a."B c"`: "a.B c", ` s `: "s", "": "", "a.": "", "a b": "", "a.b.c.d": "", "1": "",
	} {
		name, err := sequence.ReadName(text)
		require.Equal(t, want == "", err != nil, text)
		if err == nil {
			require.Equal(t, want, name.String(), text)
		}
	}
}

// SQ4.
func TestShown(t *testing.T) {
	require.Equal(t, []int64{7, 8}, sequence.Calls("csm_nextval__of(7) + csm_nextval__of(8)"))
	number, is := sequence.Only("csm_nextval__of(7)")
	require.True(t, is)
	require.EqualValues(t, 7, number)
	_, is = sequence.Only("csm_nextval__of(7) + 1")
	require.False(t, is)
}
