package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/zonemap"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// lookupColumns are those of the table that is looked up in: numbers in order, numbers in none, and types that the
// kernels compute with, carry, or leave to DuckDB.
const lookupColumns = "id INTEGER PRIMARY KEY, other BIGINT UNIQUE, small SMALLINT, n DECIMAL(10,2), x DOUBLE, t VARCHAR, " +
	"v VARCHAR(6), d DATE, at TIMESTAMP, zoned TIMESTAMPTZ, u UUID, j JSON, list INTEGER[], b BOOLEAN, must INTEGER NOT NULL"

// lookupRows makes rows that are the same whenever they are made.
const lookupRows = `SELECT i::INTEGER, (i * 7919) %% 100003, (i %% 300)::SMALLINT, i * 1.25, i / 8.0, 'text ' || i %% 50,
	'v' || i %% 1000, DATE '2020-01-01' + (i %% 900)::INTEGER, TIMESTAMP '2020-01-01' + to_minutes(i), TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_minutes(i),
	('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))::UUID, '{"i": ' || i || '}', [i, NULL], i %% 3 = 0, i FROM range(%d, %d) r(i)`

// lookupStatement is about few rows, mostly. Some are not for the kernels, and some are wrong.
func lookupStatement(rng *rand.Rand, rows int) (sql string, args []any) {
	id := rng.IntN(rows + 10)
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	condition := pick(
		fmt.Sprint("id = ", id), fmt.Sprint("id = ", id), fmt.Sprint(id, " = id"), fmt.Sprintf("id >= %d AND id < %d", id, id+rng.IntN(40)),
		fmt.Sprintf("id IN (%d, %d)", id, rng.IntN(rows)), fmt.Sprintf("other = %d", rng.IntN(100003)), fmt.Sprintf("id = %d AND small > 100", id),
		fmt.Sprintf("d = '2021-05-05' AND id < %d AND id > %d", id, id-2000), fmt.Sprintf("n = %d.25 AND b", id), fmt.Sprintf("id = %d AND t IS NOT NULL", id),
		fmt.Sprintf("at = '2020-01-01 00:%02d:00'", rng.IntN(60)), fmt.Sprintf("id BETWEEN %d AND %d", id, id+3), "id IS NULL", fmt.Sprintf("id = %d.0", id),
		fmt.Sprintf("id = '%d'", id), fmt.Sprintf("x = %d", id/8), fmt.Sprintf("lookup.id = %d", id), fmt.Sprintf("t = 'text 7' AND id < %d", id%500),
		fmt.Sprintf("id = %d OR id = %d", id, id+1), fmt.Sprintf("id = %d AND nothing = 1", id), fmt.Sprintf("id = %d::BIGINT", id), "id = 3000000000")
	if rng.IntN(4) == 0 {
		condition, args = pick("id = $1", "$1 = id", "id = $1 AND small >= 0", "id BETWEEN $1 AND $1 + 1", "x = $1", "t = $1"), []any{lookupArgument(rng, id)}
	}
	if rng.IntN(4) == 0 {
		return "DELETE FROM lookup WHERE " + condition + pick("", "", " RETURNING *", " RETURNING id, t"), args
	}
	var set []string
	for range 1 + rng.IntN(2) {
		set = append(set, pick(
			"other = other + 200000", "other = -other", "small = small + 1", "small = small * 1000", "n = n + 1", "n = 5", "n = n", "x = x * 2", "x = 1",
			"t = 'new'", "t = v", "v = 'short'", "v = 'far too long'", "d = '2022-02-02'", "d = d", "at = '2022-02-02 10:00:00'", "b = NOT b", "b = true",
			"must = must + 1", "must = NULL", "must = must - small", "must = 2147483647 + must", "id = id + 1", "ID = 5", "id = id", "j = '{}'", "j = '{'", "j = t",
			"list = [7]", "list = NULL", "u = '00000000-0000-0000-0000-000000000001'", "zoned = '2022-02-02 10:00:00+00'", "t = NULL", "other = NULL",
			"other = id", "t = upper(t)", "x = random() * 0", "must = 1 - 5", "nothing = 1", "small = id", "other = 7::INTEGER", "t = 5", "must = DEFAULT",
			"x = n", "x = small", "at = d", "b = id = 5", "b = x > 3"))
	}
	if args != nil && rng.IntN(2) == 0 {
		set = append(set, pick("must = must + $2", "small = $2", "other = $2 + other", "t = $2", "n = $2", "must = $2 - 1", "x = x + $2"))
		args = append(args, lookupArgument(rng, rng.IntN(100)))
	}
	return "UPDATE lookup SET " + strings.Join(set, ", ") + " WHERE " + condition + pick("", "", "", " RETURNING *", " RETURNING must, t, u"), args
}

// lookupArgument is a value for a parameter, which is mostly of its type.
func lookupArgument(rng *rand.Rand, i int) any {
	return []any{int64(i), int32(i), fmt.Sprint(i), float64(i), int64(i) + 5_000_000_000, fmt.Sprint(i, ".5"), nil, "text 7", true}[min(rng.IntN(14), 8)]
}

// lookUp gives what a statement returns, or its tag.
func lookUp(s *engine.Session, sql string, args ...any) ([]string, error) {
	if strings.Contains(sql, "RETURNING") {
		return tryRows(s, sql, args...)
	}
	result, err := s.Exec(context.Background(), sql, args...)
	return []string{result.Tag}, err
}

// What the kernels find and compute of few rows of a table is what DuckDB does: the same rows change, to the same
// values, with the same answers and errors, one statement after another.
func TestLookupsAgainstDuckDB(t *testing.T) {
	t.Parallel()
	const size = 40_000 // rows have zones
	steps := 80 * testsuite.Effort()
	e := open(t)
	kernels, duck := session(t, e), session(t, e)
	exec(t, kernels, "CREATE SCHEMA k; CREATE SCHEMA d")
	exec(t, duck, "SET csm.backend = 'duckdb'")
	sessions := map[string]*engine.Session{"k": kernels, "d": duck}
	for schema, s := range sessions {
		exec(t, s, "SET search_path = "+schema)
		exec(t, s, "CREATE TABLE lookup ("+lookupColumns+")")
		exec(t, s, "INSERT INTO lookup "+fmt.Sprintf(lookupRows, 0, size))
		exec(t, s, "INSERT INTO lookup "+fmt.Sprintf(lookupRows, size, size+50))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 11))
	var planned, changed int
	for step := range steps {
		sql, args := lookupStatement(rng, size)
		if ok, err := kernels.PlansLookup(t.Context(), sql); err == nil && ok {
			planned++
		}
		inBlock := rng.IntN(6) == 0
		answers, failed := map[string][]string{}, false
		for schema, s := range sessions {
			if inBlock { // and what the block has changed itself is looked up, too
				exec(t, s, fmt.Sprintf("BEGIN; UPDATE lookup SET must = must + 1 WHERE id = %d; SAVEPOINT a", step))
			}
			out, err := lookUp(s, sql, args...)
			if failed = err != nil; failed {
				out = []string{strings.ReplaceAll(err.Error(), schema+".lookup", "lookup")}
			}
			if inBlock && err != nil {
				exec(t, s, "ROLLBACK TO a")
			}
			if inBlock {
				exec(t, s, []string{"COMMIT", "ROLLBACK"}[step%2])
			}
			answers[schema] = out
		}
		slices.Sort(answers["k"])
		slices.Sort(answers["d"])
		require.Equal(t, answers["d"], answers["k"], "step %d: %s %v", step, sql, args)
		if step%25 == 24 || step == steps-1 {
			differ := rows(t, duck, `SELECT count(*) FROM ((SELECT * FROM k.lookup EXCEPT ALL SELECT * FROM d.lookup) UNION ALL
				(SELECT * FROM d.lookup EXCEPT ALL SELECT * FROM k.lookup))`)
			require.Equal(t, []string{"0"}, differ, "after step %d: %s %v", step, sql, args)
		}
		if !failed && len(answers["k"]) > 0 && !strings.HasSuffix(answers["k"][0], " 0") {
			changed++
		}
	}
	t.Logf("%d of %d statements planned for the kernels, %d changed something", planned, steps, changed)
	require.Greater(t, planned, steps/8, "lookups by the kernels")
	require.Greater(t, changed, steps/4)
}

// A prepared query that the kernels answer by a lookup describes the same parameters as DuckDB, and takes the same
// values.
func TestLookupsWithParameters(t *testing.T) {
	t.Parallel()
	e := open(t)
	kernels, duck := session(t, e), session(t, e)
	exec(t, kernels, "CREATE TABLE lookup ("+lookupColumns+"); INSERT INTO lookup "+fmt.Sprintf(lookupRows, 0, 500))
	exec(t, duck, "SET csm.backend = 'duckdb'")
	rng := rand.New(rand.NewPCG(3, 4))
	byKernels := 0
	for _, sql := range []string{
		"SELECT $1::int", "SELECT $1::smallint", "SELECT $1::bigint", "SELECT $1::int + 1", "SELECT $1::text", "SELECT $1::float8 * 2",
		"SELECT $1::bool", "SELECT $1::date", "SELECT $1::timestamp", "SELECT id FROM lookup WHERE small = $1::smallint",
		"SELECT id FROM lookup WHERE id < $1::int", "SELECT $1 + 1", "SELECT -$1::int", "SELECT $1::int / 2",
	} {
		for range 30 {
			arg := lookupArgument(rng, rng.IntN(500))
			if rng.IntN(3) == 0 {
				arg = []any{int64(70000), int64(3_000_000_000), int64(-3_000_000_000), "3000000000", int64(math.MaxInt64), "2147483648", int32(-5), uint64(math.MaxUint64)}[rng.IntN(8)]
			}
			want, wrong := tryRows(duck, sql, arg)
			got, err := tryRows(kernels, sql, arg)
			require.Equal(t, want, got, "%s %v", sql, arg)
			require.Equal(t, fmt.Sprint(wrong), fmt.Sprint(err), "%s %T %v", sql, arg, arg)
		}
	}
	for _, condition := range []string{
		"id = $1", "id = $1 AND small > $2", "other = $1", "small = $1", "n = $1", "x > $1", "t = $1", "v = $1", "d = $1", "at < $1", "zoned = $1",
		"b = $1", "u = $1", "id BETWEEN $1 AND $2", "id = $2 AND small = $1", "id = $1 AND x = $1", "must IN ($1, $2)", "j = $1",
	} {
		sql := "SELECT id, other, small, n, x, t, v, d, at, zoned, list, b, must FROM lookup WHERE " + condition
		k, err := kernels.Prepare(t.Context(), sql)
		require.NoError(t, err)
		d, err := duck.Prepare(t.Context(), sql)
		require.NoError(t, err)
		require.Equal(t, d.Parameters(), k.Parameters(), sql)
		require.Equal(t, d.Schema().String(), k.Schema().String(), sql)
		if k.ByKernels() {
			byKernels++
		}
		for range 30 {
			args := make([]any, len(d.Parameters()))
			for i := range args {
				args[i] = lookupArgument(rng, rng.IntN(500))
				if rng.IntN(4) == 0 {
					args[i] = []any{"2020-03-04", "2020-03-04 00:05:00", time.Unix(1583280300, 0).UTC(), "true", uint8(7), "abc", big.NewInt(5)}[rng.IntN(7)]
				}
			}
			want, wrong := prepared(d, args)
			got, err := prepared(k, args)
			slices.Sort(want)
			slices.Sort(got)
			require.Equal(t, want, got, "%s %v", sql, args)
			require.Equal(t, fmt.Sprint(wrong), fmt.Sprint(err), "%s %v", sql, args)
		}
		require.NoError(t, k.Close())
		require.NoError(t, d.Close())
	}
	require.Greater(t, byKernels, 3)
}

func prepared(st *engine.Statement, args []any) ([]string, error) {
	r, err := st.Query(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	return linesOf(r)
}

// ZM1: rows at both ends of the runs that zones are of are found as often as they are looked for, and so are NULLs.
func TestLookupsAtTheEndsOfRuns(t *testing.T) {
	t.Parallel()
	const size = 16*zonemap.RunRows + 3
	e := open(t)
	s := session(t, e)
	exec(t, s, fmt.Sprintf(`CREATE TABLE runs AS SELECT i::INTEGER AS id, (%d - i)::BIGINT AS back, i * 7919 %% %d AS mixed,
		DATE '2000-01-01' + (i // 100)::INTEGER AS d, CASE WHEN i // %d = 2 THEN NULL ELSE i END AS n FROM range(%d) r(i)`,
		size, size, zonemap.RunRows, size))
	for round := range 3 {
		for run := 0; run <= size/zonemap.RunRows; run++ {
			for _, id := range []int{run*zonemap.RunRows - 1, run * zonemap.RunRows, run*zonemap.RunRows + 1, size - 1} {
				want := []string{fmt.Sprint(id)}
				if id < 0 || id >= size {
					want = nil
				}
				for _, where := range []string{"id = $1", "back = " + fmt.Sprint(size) + " - $1::BIGINT", "mixed = $1::BIGINT * 7919 % " + fmt.Sprint(size)} {
					if where != "id = $1" { // the kernels compare with constants
						value := rows(t, s, "SELECT "+strings.ReplaceAll(strings.SplitN(where, " = ", 2)[1], "$1", fmt.Sprint(id)))[0]
						where = strings.SplitN(where, " = ", 2)[0] + " = " + value
						require.Equal(t, want, rows(t, s, "SELECT id FROM runs WHERE "+where), "round %d: %s", round, where)
						continue
					}
					require.Equal(t, want, rows(t, s, "SELECT id FROM runs WHERE "+where, int64(id)), "round %d: %s of %d", round, where, id)
				}
				null := id/zonemap.RunRows == 2 && want != nil
				require.Equal(t, null, len(rows(t, s, fmt.Sprintf("SELECT id FROM runs WHERE n IS NULL AND id = %d", id))) == 1, "%d", id)
				require.Equal(t, !null && want != nil, len(rows(t, s, fmt.Sprintf("SELECT id FROM runs WHERE n >= %d AND n <= %d", id, id))) == 1, "%d", id)
			}
			if at := run * zonemap.RunRows; at > 0 && at+5 < size { // in two runs
				require.Len(t, rows(t, s, fmt.Sprintf("SELECT id FROM runs WHERE id >= %d AND id < %d", at-5, at+5)), 10)
			}
			day := fmt.Sprintf("SELECT id FROM runs WHERE d = DATE '2000-01-01' + %d AND id >= 0", run*zonemap.RunRows/100)
			require.NotEmpty(t, rows(t, s, day))
		}
	}
}

// The text that finds rows is kept with a prepared statement for as long as the table has the columns that it is about,
// and is charged.
func TestLookupsFollowTheirTable(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (id INTEGER PRIMARY KEY, a NUMERIC(8,2), b SMALLINT)")
	exec(t, s, "INSERT INTO t SELECT i, i, i FROM range(100) r(i)")
	update, err := s.Prepare(t.Context(), "UPDATE t SET a = a + 1, b = b + 1 WHERE id = $1")
	require.NoError(t, err)
	defer update.Close()
	for _, step := range []struct{ change, want string }{
		{"SELECT 1", "7|8|8"}, {"SELECT 1", "7|9|9"},
		{"ALTER TABLE t ADD COLUMN more TEXT DEFAULT 'kept'", "7|10|10|kept"},
		{"ALTER TABLE t ALTER COLUMN b TYPE BIGINT", "7|11|11|kept"},
		{"ALTER TABLE t RENAME COLUMN more TO other; ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 5", "7|12|12|kept|5"},
		{"ALTER TABLE t DROP COLUMN other", "7|13|13|5"},
		{"ALTER TABLE t RENAME TO was; CREATE TABLE t AS SELECT id, b, a FROM was", "7|14|14"},
	} {
		exec(t, other, step.change)
		_, err := update.Exec(t.Context(), 7)
		require.NoError(t, err, step.change)
		require.Equal(t, []string{step.want}, rows(t, s, "SELECT * FROM t WHERE id = 7"), step.change)
	}
	charged := func(sql string) int64 {
		before := e.Memory().Used
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		defer st.Close()
		return e.Memory().Used - before
	}
	columns := make([]string, 400)
	for i := range columns {
		columns[i] = fmt.Sprintf("a_column_of_a_wide_table_%d INTEGER", i)
	}
	exec(t, s, "CREATE TABLE wide ("+strings.Join(columns, ", ")+")")
	const one = "UPDATE %s SET %s = 5 WHERE %[2]s = 7"
	wide := charged(fmt.Sprintf(one, "wide", "a_column_of_a_wide_table_0"))
	require.Greater(t, wide, charged(fmt.Sprintf(one, "t", "a"))+1<<19, "a tree of 400 columns")
}
