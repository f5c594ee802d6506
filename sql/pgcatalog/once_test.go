package pgcatalog_test

import (
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// How often a macro reads its arguments is counted through the macros that it calls; a type is not a value.
func TestReads(t *testing.T) {
	for _, c := range []struct {
		name  string
		count int
		given []int
		want  bool
	}{
		{"csm_power", 2, []int{0}, false},
		{"csm_power", 2, []int{1}, false},
		{"csm_pow", 2, []int{0}, false}, // power reads it
		{"csm_lpad", 2, []int{0, 1}, true},
		{"csm_mod", 2, []int{0}, true},
		{"csm_mod", 2, []int{1}, false}, // csm_divisor reads it
		{"csm_mod", 3, []int{1}, true},  // there is none
		{"csm_divisor", 1, []int{0}, false},
		{"csm_extract__month", 1, []int{0}, true},
		{"csm_extract__year", 1, []int{0}, false},
		{"csm_regexp_split_to_table", 2, []int{0}, false},
		{"csm_text", 1, []int{0}, false},
		{"quote_literal", 1, []int{0}, false},
		{"char_number", 2, []int{0}, true}, // no name of users'
		{"initcap", 1, []int{0}, false},    // DuckDB's array_to_string reads it
		{"csm_json_key", 1, []int{0}, false},
		{"csm_sum__interval", 1, []int{0}, false},
		{"csm_avg__interval", 1, []int{0}, false},
		{"csm_once__csm_power", 2, []int{0, 1}, true},
		{"random", 0, nil, true},
	} {
		once, twin := pgcatalog.Reads(c.name, c.count, c.given)
		require.Equal(t, c.want, once, "%s %d %v", c.name, c.count, c.given)
		want := ""
		if !once && !strings.HasSuffix(c.name, "__interval") {
			want = pgcatalog.OncePrefix + c.name
			if c.given[0] == 0 {
				want = pgcatalog.FirstPrefix + c.name
			}
		}
		require.Equal(t, want, twin)
	}
}

// What DuckDB shows of a macro has each parameter as often as it is read: all of those with one that is read twice, but
// for aggregates, are known to be that, ours and DuckDB's.
func TestMacrosThatReadTwice(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	c, err := db.Connect(nil)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	attach(t, c, pgcatalog.Functions)
	types := regexp.MustCompile(`typeof\(\w+\)|"?\w+"? :=|[.]"?\w+"?`)
	aggregates := regexp.MustCompile(`\b(sum|count|string_agg|bool_and)\(`)
	twice := 0
	out, err := ask(c, `SELECT hex(concat_ws(chr(1), schema_name, function_name, array_to_string(parameters, ' '), macro_definition))
		FROM duckdb_functions()
		WHERE function_type = 'macro' AND (schema_name = 'pg_session' OR schema_name = 'main' AND internal)
		AND regexp_matches(function_name, '^[a-z]') AND function_name NOT IN ('format', 'in_search_path', 'map_to_pg_oid')
		AND len(parameters) > 0`)
	require.NoError(t, err)
	for _, line := range strings.Split(out, "\n")[1:] {
		text, err := hex.DecodeString(line)
		require.NoError(t, err)
		m := strings.Split(string(text), "\x01")
		if len(m) < 4 {
			continue
		}
		schema, name, parameters, body := m[0], m[1], strings.Fields(m[2]), types.ReplaceAllString(m[3], "")
		for i, parameter := range parameters {
			count := len(regexp.MustCompile(`\b`+regexp.QuoteMeta(parameter)+`\b`).FindAllString(body, -1))
			if count < 2 || strings.HasPrefix(name, pgcatalog.OncePrefix) || aggregates.MatchString(body) {
				continue
			}
			twice++
			if schema == "pg_session" {
				once, twin := pgcatalog.Reads(name, len(parameters), []int{i})
				require.False(t, once, "%s reads %s: %s", name, parameter, m[3])
				require.NotEmpty(t, twin)
			} else {
				require.True(t, pgcatalog.DuckDBReadsTwice(name), "%s reads %s: %s", name, parameter, m[3])
			}
		}
	}
	require.Greater(t, twice, 50)
}

// DuckDB plans an argument as often as a macro reads it, and calls within calls multiply: a macro that computes a part
// from its arguments hands it on as one value, in a lambda or a sub-query. (to_char of numbers read its number 144 times
// and took 0.3 s to plan.) Lower a number when it can be lower.
func TestMacrosReadTheirArgumentsSeldom(t *testing.T) {
	const others = 73
	most := map[string]int{"pg_compat.char_zone": 167, "pg_compat.char_date": 159} // given a variable of a lambda
	found := 0
	for name, n := range pgcatalog.MostReads() {
		if limit, ok := most[name]; ok {
			require.Equal(t, limit, n, name)
			continue
		}
		require.LessOrEqual(t, n, others, "%s reads an argument %d times", name, n)
		found = max(found, n)
	}
	require.Equal(t, others, found)
}
