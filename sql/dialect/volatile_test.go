package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

func TestComputeOnce(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT csm_power(random(), 2), csm_power(a, 2)":                            "SELECT csm_once__first__csm_power(random(), 2), csm_power(a, 2)",
		"SELECT csm_power(2, 1 + random())":                                         "SELECT csm_once__csm_power(2, 1 + random())",
		"SELECT csm_power(csm_power(Random(), 2), b)":                               "SELECT csm_once__first__csm_power(csm_once__first__csm_power(Random(), 2), b)",
		"SELECT csm_lpad(csm_text(nextval('s')), 5, 'random()')":                    "SELECT csm_once__first__csm_lpad(csm_once__first__csm_text(nextval('s')), 5, 'random()')",
		"SELECT csm_btrim(csm_text(nextval('s')), 'random()')":                      "SELECT csm_btrim(csm_once__first__csm_text(nextval('s')), 'random()')",
		"SELECT 5 % csm_divisor(nextval('s')), csm_mod(random(), a)":                "SELECT 5 % csm_once__first__csm_divisor(nextval('s')), csm_mod(random(), a)",
		"SELECT NULLIF(random(), 1), nullif(a, random())":                           "SELECT csm_once__first__csm_nullif(random(), 1), nullif(a, random())",
		"SELECT random(), t.random, power FROM t":                                   "SELECT random(), t.random, power FROM t",
		"SELECT CASE WHEN random() < 1 THEN 2 END, CASE a WHEN 1 THEN random() END": "SELECT CASE WHEN random() < 1 THEN 2 END, CASE a WHEN 1 THEN random() END",
	} {
		got, made, err := computeOnce(sql)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, want == sql, made == nil)
		again, made, err := computeOnce(got)
		require.NoError(t, err)
		require.Equal(t, got, again)
		require.Nil(t, made)
	}
	for _, sql := range []string{
		"SELECT CASE (random() * 3)::int WHEN 1 THEN 2 END", "SELECT CASE CASE WHEN a THEN nextval('s') END WHEN 1 THEN 2 END",
		"SELECT csm_sum__interval(random() * INTERVAL '1 day')",
	} {
		_, _, err := computeOnce(sql)
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, "0A000", e.State)
		require.NotEmpty(t, e.HintText)
	}
}
