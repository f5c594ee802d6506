package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/setting"
)

// meanings are values of DuckDB's settings and queries whose answers they change. Each answers with one column.
var meanings = []struct{ name, value, query string }{
	{"default_null_order", "nulls_first", "SELECT coalesce(a::VARCHAR, '-') FROM t ORDER BY t.a LIMIT 3"},
	{"default_null_order", "nulls_first", "SELECT string_agg(coalesce(a::VARCHAR, '-'), ',' ORDER BY a) FROM t WHERE k < 40"},
	{"default_null_order", "nulls_first", "SELECT max(n)::VARCHAR FROM (SELECT a, row_number() OVER (ORDER BY a) AS n FROM t) WHERE a IS NULL"},
	{"default_null_order", "nulls_first_on_asc_last_on_desc", "SELECT coalesce(x::VARCHAR, '-') FROM (SELECT k % 10 + a AS x FROM t GROUP BY ALL ORDER BY x LIMIT 2)"},
	{"default_null_order", "nulls_last_on_asc_first_on_desc", "SELECT coalesce(a::VARCHAR, '-') FROM t ORDER BY t.a DESC LIMIT 3"},
	{"default_null_order", "nulls_last_on_asc_first_on_desc", "SELECT coalesce(a::VARCHAR, '-') FROM t JOIN u USING (k) GROUP BY a ORDER BY t.a DESC LIMIT 3"},
	{"default_order", "desc", "SELECT k::VARCHAR FROM t ORDER BY k LIMIT 3"},
	{"default_order", "desc", "SELECT max(k)::VARCHAR AS m FROM t GROUP BY a ORDER BY m LIMIT 3"},
	{"integer_division", "true", "SELECT sum(k / 4)::VARCHAR FROM t"},
	{"integer_division", "true", "SELECT count(*)::VARCHAR FROM t WHERE k / 2 = 7"},
	{"integer_division", "true", "SELECT (count(*) / 7)::VARCHAR FROM t"},
	{"ieee_floating_point_ops", "false", "SELECT count(k::DOUBLE / 0)::VARCHAR FROM t WHERE k > 0"},
	{"scalar_subquery_error_on_multiple_rows", "false", "SELECT count(*)::VARCHAR FROM t WHERE k >= (SELECT k FROM u ORDER BY k DESC)"},
	{"order_by_non_integer_literal", "true", "SELECT k::VARCHAR FROM u WHERE k = 3 ORDER BY 'x'"},
	{"lambda_syntax", "disable_single_arrow", "SELECT list_transform([k], x -> x + 1)::VARCHAR FROM u ORDER BY k LIMIT 1"},
	{"calendar", "buddhist", "SELECT max(CAST(extract(year FROM TIMESTAMPTZ '2024-01-01 12:00:00+00' + to_days(k::INTEGER)) AS INTEGER))::VARCHAR FROM u"},
	{"disable_timestamptz_casts", "true", "SELECT min((TIMESTAMPTZ '2024-01-01 12:00:00+00' + to_days(k::INTEGER))::TIMESTAMP)::VARCHAR FROM u"},
	{"timezone", "Asia/Kolkata", "SELECT max((TIMESTAMPTZ '2024-01-01 12:00:00+00' + to_days(k::INTEGER))::TIMESTAMP)::VARCHAR FROM u"},
}

const (
	meaningTables = "CREATE TABLE t (k BIGINT, a INTEGER); CREATE TABLE u (k BIGINT)"
	meaningOfT    = "INSERT INTO t SELECT i, CASE WHEN i % 10 > 0 THEN i % 1000 END FROM range(%d, %d) r(i)"
	meaningOfU    = "INSERT INTO u SELECT i FROM range(0, 50) r(i)"
)

// A setting of DuckDB that says what a text means has the effect that it has in DuckDB over its own tables: on one node,
// where there are workers, in a process that is attached and where nodes share the work, whatever was planned before.
func TestSettingsThatAreMeaning(t *testing.T) {
	t.Parallel()
	db, err := duckdb.Open(duckdb.Options{Threads: 2})
	require.NoError(t, err)
	defer db.Close()
	native, err := db.Connect(nil)
	require.NoError(t, err)
	defer native.Close()
	fill := strings.NewReplacer("%d, %d", "0, 3000").Replace(meaningOfT)
	require.NoError(t, native.Exec("SET TimeZone = 'Etc/UTC'; "+meaningTables+";"+fill+";"+meaningOfU))

	tried := map[string]bool{}
	type answers struct{ usual, other string }
	var right []answers
	ask := func(sql string) string {
		lines, err := native.Texts(context.Background(), sql)
		if err != nil {
			return "error"
		}
		return strings.Join(lines, ";")
	}
	for _, m := range meanings {
		a := answers{usual: ask(m.query)}
		require.NoError(t, native.Exec("SET SESSION "+m.name+" = '"+m.value+"'"))
		a.other = ask(m.query)
		require.NoError(t, native.Exec("RESET SESSION "+m.name+"; SET TimeZone = 'Etc/UTC'"))
		require.NotEqual(t, a.usual, a.other, "%s has no effect on %s", m.name, m.query)
		right, tried[m.name] = append(right, a), true
	}
	for _, known := range setting.All() {
		require.True(t, known.Category != "DuckDB" || tried[known.Name], known.Name)
	}

	hold := func(t *testing.T, s *engine.Session) {
		given := func(sql string) string {
			lines, err := tryRows(s, sql)
			if err != nil {
				return "error"
			}
			return strings.Join(lines, ";")
		}
		for i, m := range meanings {
			usual, other := right[i].usual, right[i].other
			set := "SET " + m.name + " = '" + m.value + "'"
			prepared, failed := s.Prepare(t.Context(), m.query)
			again := func() string {
				if failed != nil {
					return given(m.query)
				}
				r, err := prepared.Query(t.Context())
				if err != nil {
					return "error"
				}
				lines, err := linesOf(r)
				if err != nil {
					return "error"
				}
				return strings.Join(lines, ";")
			}
			is := func(want string, after string) {
				t.Helper()
				require.Equal(t, want, given(m.query), "%s, %s", after, m.query)
				if got := again(); got != "error" { // of another type than it was prepared for
					require.Equal(t, want, got, "prepared, %s, %s", after, m.query)
				}
			}
			is(usual, "at first")
			is(usual, "once more")
			exec(t, s, set)
			is(other, set)
			is(other, set+", once more")
			exec(t, s, "RESET "+m.name)
			is(usual, "after RESET")
			exec(t, s, "BEGIN; "+strings.Replace(set, "SET", "SET LOCAL", 1))
			require.Equal(t, other == "error", given(m.query) == "error")
			exec(t, s, "ROLLBACK; BEGIN; "+strings.Replace(set, "SET", "SET LOCAL", 1))
			if other != "error" {
				is(other, "SET LOCAL")
			}
			exec(t, s, "COMMIT")
			is(usual, "after SET LOCAL")
			exec(t, s, "BEGIN; SAVEPOINT a; "+set+"; ROLLBACK TO a; COMMIT")
			is(usual, "after ROLLBACK TO")
			exec(t, s, "BEGIN; "+set+"; ROLLBACK")
			is(usual, "after ROLLBACK")
			if failed == nil {
				require.NoError(t, prepared.Close())
			}
		}
	}
	t.Run("node", func(t *testing.T) {
		e := open(t)
		s := session(t, e)
		exec(t, s, meaningTables+";"+fill+";"+meaningOfU)
		hold(t, s)
		exec(t, s, "SET csm.backend = compute; SET integer_division = on")
		_, err := tryRows(s, "SELECT k FROM t")
		require.ErrorContains(t, err, "integer_division is not what it is by default")
	})
	t.Run("workers", func(t *testing.T) {
		s := session(t, openWithWorkers(t, 1))
		exec(t, s, meaningTables+";"+fill+";"+meaningOfU)
		hold(t, s)
	})
	t.Run("cluster", func(t *testing.T) {
		c := newCluster(t, 3)
		exec(t, c.session(0), meaningTables)
		for i := range 3 {
			bounds := []string{"0, 1000", "1000, 2000", "2000, 3000"}[i]
			exec(t, c.session(i), strings.ReplaceAll(meaningOfT, "%d, %d", bounds))
		}
		exec(t, c.session(1), meaningOfU)
		s := c.session(0)
		exec(t, s, "SET csm.distribute = always; SET csm.shuffle = always")
		hold(t, s)
		exec(t, s, "SET default_null_order = nulls_first")
		split := slices.DeleteFunc(slices.Clone(meanings), func(m struct{ name, value, query string }) bool {
			return m.name != "default_null_order" || !strings.Contains(explain(t, s, m.query), "on n2")
		})
		require.NotEmpty(t, split, "no query is split")
		borrower, err := engine.AttachWith(t.Context(), filepath.Join(c.dir, "n1", "csmsql.sock"), engine.Config{Dialect: engine.DialectDuckDB, MemoryBytes: 256 << 20})
		require.NoError(t, err)
		defer func() { require.NoError(t, borrower.Close()) }()
		hold(t, session(t, borrower))
	})
}
