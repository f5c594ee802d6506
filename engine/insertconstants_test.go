package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// constantColumns are types of columns with values that mean something there, most of them certain.
var constantColumns = []struct {
	name   string
	values []string
	args   []any
}{
	{"BOOLEAN", []string{"true", "FALSE", "'t'", "'no'", "1", "(true)"}, []any{true, false, "yes", int64(1)}},
	{"TINYINT", []string{"127", "-128", "128", "-129", "'7'", "1.5"}, []any{int8(-128), int64(127), int64(128), 1.5}},
	{"SMALLINT", []string{"32767", "-32768", "32768", "+5", "- 5", "007"}, []any{int16(5), 70000, "12", uint16(65535)}},
	{"INTEGER", []string{"2147483647", "-2147483648", "2147483648", "(4)", "1e3", "0x1F", "1_000"}, []any{int32(9), int64(math.MaxInt64), uint32(5)}},
	{"BIGINT", []string{"9223372036854775807", "-9223372036854775808", "9223372036854775808", "999999999999999999"},
		[]any{int64(math.MinInt64), big.NewInt(7), uint64(math.MaxUint64)}},
	{"UTINYINT", []string{"255", "256", "-1", "0"}, []any{uint8(255), int64(-1)}},
	{"USMALLINT", []string{"65535", "65536"}, []any{uint16(65535), int64(65536)}},
	{"UINTEGER", []string{"4294967295", "4294967296", "-0"}, []any{uint32(math.MaxUint32), int64(-5)}},
	{"DECIMAL(5,2)", []string{"999.99", "1000", "-999.99", "1.005", "12", ".5", "5.", "-0.01", "00012.5"},
		[]any{duckdb.Decimal("12.34"), duckdb.Decimal("1.239"), duckdb.Decimal("1000.00"), int64(7), 2.5}},
	{"DECIMAL(18,0)", []string{"999999999999999999", "-999999999999999999", "1000000000000000000", "0.4"}, []any{duckdb.Decimal("-5")}},
	{"DECIMAL(38,10)", []string{"1.0000000001", "12345678.5", "99999999999999999999999999.5", "-7"},
		[]any{duckdb.Decimal("1.5"), duckdb.Decimal("-0.0000000001")}},
	{"REAL", []string{"16777217", "9999999", "-1", "0.1", "1e10"}, []any{float32(0.1), 0.1, float32(math.Inf(1))}},
	{"DOUBLE", []string{"0.1", "-0.0", "123456789.123456", "999999999999999", "9999999999999999", "1e308", "1e309", "-2.5e-3", "0e0", ".25", "3."},
		[]any{0.1, math.Inf(-1), math.NaN(), int64(5), math.Copysign(0, -1)}},
	{"VARCHAR", []string{"'a'", "''", "'it''s'", "'ü€😀'", "42", "'" + strings.Repeat("long ", 20) + "'", "E'a\\nb'", "true"}, []any{"text", "", "ß", int64(4), "a\x00b"}},
	{"VARCHAR(4)", []string{"'abcd'", "'abcde'", "'ab   '", "'üüüü'", "'äöüß!'"}, []any{"abcd", "abcdef", "ab    "}},
	{"CHAR(3)", []string{"'ab'", "'ab '", "'abcd'", "'abc  '"}, []any{"a  ", "abc"}},
	{"BLOB", []string{"'abc'", `'\xDE41'`, `'\\'`}, []any{[]byte{0, 255}, []byte{}, "abc"}},
	{"DATE", []string{"'2024-02-29'", "'2023-02-29'", "'0001-01-01'", "'9999-12-31'", "'1969-12-31'", "'0000-01-01'", "'2024-1-5'", "'infinity'", "'44 BC'", "DATE '2020-01-01'"},
		[]any{duckdb.Date(0), duckdb.Date(-719162), "2024-05-17", duckdb.Date(math.MaxInt32)}},
	{"TIMESTAMP", []string{"'2024-05-17 08:09:10'", "'1969-12-31 23:59:59.999999'", "'2024-05-17 24:00:00'", "'2024-05-17T08:09:10'", "'2024-05-17 08:09:10.1234567'", "'2024-05-17'", "'2024-05-17 08:09:10.5'", "'2024-05-17 08:09:60'", "'2024-05-17 08:09:10,5'", "'2024-05-17 08:09:10.'"},
		[]any{time.Unix(1, 500).UTC(), time.Date(-500, 1, 1, 0, 0, 0, 1000, time.UTC), "2024-05-17 00:00:00"}},
	{"TIMESTAMPTZ", []string{"'2024-05-17 08:09:10'", "'2024-05-17 08:09:10+02'"}, []any{time.Unix(5, 0), duckdb.TimestampTZ(time.Unix(-5, 0))}},
	{"TIME", []string{"'08:09:10'"}, []any{duckdb.TimeOfDay(5)}},
	{"UBIGINT", []string{"18446744073709551615", "-1"}, []any{uint64(math.MaxUint64)}},
	{"UUID", []string{"'00000000-0000-0000-0000-000000000001'", "'x'"}, []any{"00000000-0000-0000-0000-00000000000a"}},
	{"JSON", []string{`'{"a": 1}'`, "'{'"}, []any{`[1]`}},
	{"INTEGER[]", []string{"'{1,2}'", "ARRAY[1]"}, []any{nil}},
}

// constantsCase is a table with random columns, and statements that insert into it.
type constantsCase struct {
	random *rand.Rand
	kinds  []int
	args   []any
}

func newConstantsCase(random *rand.Rand) *constantsCase {
	c := &constantsCase{random: random}
	for range 1 + random.IntN(3) {
		kind := random.IntN(len(constantColumns))
		if kind > 18 && random.IntN(3) > 0 { // of those DuckDB makes everything
			kind = random.IntN(18)
		}
		c.kinds = append(c.kinds, kind)
	}
	return c
}

func (c *constantsCase) columns() string {
	var list []string
	for i, kind := range c.kinds {
		column := fmt.Sprintf("c%d %s", i, constantColumns[kind].name)
		if c.random.IntN(4) == 0 {
			column += " DEFAULT " + constantColumns[kind].values[0]
		}
		if c.random.IntN(4) == 0 {
			column += " NOT NULL"
		}
		if c.random.IntN(12) == 0 {
			column += fmt.Sprintf(" CHECK (c%d IS NOT NULL)", i)
		}
		list = append(list, column)
	}
	if c.random.IntN(4) == 0 {
		list = append(list, "UNIQUE (c0)")
	}
	return strings.Join(list, ", ")
}

// insert is a statement into a table, which stands for %s.
func (c *constantsCase) insert() string {
	c.args = nil
	order := c.random.Perm(len(c.kinds))
	into := "%s"
	if c.random.IntN(3) > 0 {
		order = order[:1+c.random.IntN(len(order))]
		var names []string
		for _, i := range order {
			names = append(names, fmt.Sprintf("c%d", i))
		}
		into += " (" + strings.Join(names, ", ") + ")"
	} else {
		for i := range order {
			order[i] = i
		}
	}
	var rows []string
	for range 1 + c.random.IntN(3) {
		var values []string
		for _, i := range order {
			values = append(values, c.value(c.kinds[i]))
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	sql := "INSERT INTO " + into + " VALUES " + strings.Join(rows, ", ")
	if c.random.IntN(20) == 0 {
		sql += " RETURNING *"
	}
	return sql
}

func (c *constantsCase) value(kind int) string {
	if c.random.IntN(30) == 0 { // some other type's
		kind = c.random.IntN(len(constantColumns))
	}
	of := constantColumns[kind]
	switch c.random.IntN(10) {
	case 0:
		return "NULL"
	case 1:
		return "DEFAULT"
	case 2, 3, 4:
		if len(c.args) > 0 && c.random.IntN(8) == 0 {
			return fmt.Sprintf("$%d", 1+c.random.IntN(len(c.args)))
		}
		var arg any
		if c.random.IntN(10) > 0 {
			arg = of.args[c.first(len(of.args))]
		}
		c.args = append(c.args, arg)
		return fmt.Sprintf("$%d", len(c.args))
	}
	return of.values[c.first(len(of.values))]
}

// first is mostly the first one, which every column of the type takes: one wrong value makes a statement fail.
func (c *constantsCase) first(of int) int {
	if c.random.IntN(3) > 0 {
		return 0
	}
	return c.random.IntN(of)
}

// said is an error as clients see it.
func said(err error) string {
	var e *sqlerror.Error
	if errors.As(err, &e) {
		return fmt.Sprintf("%s at %d: %s / %s / %s", e.State, e.At, e.Message, e.DetailText, e.HintText)
	}
	return fmt.Sprint(err)
}

// CR1: whatever the values are, the rows, their types, and the errors are those of DuckDB's way. The two tables are
// called alike, because errors name them.
func TestConstantsAreWhatDuckDBMakesOfThem(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{engine.DialectPostgres, engine.DialectDuckDB} {
		t.Run(dialect, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			random := rand.New(rand.NewPCG(seed, 1))
			e := open(t, func(c *engine.Config) { c.Dialect = dialect })
			direct, duck := session(t, e), session(t, e)
			exec(t, direct, "CREATE SCHEMA a; CREATE SCHEMA b; SET search_path = a")
			exec(t, duck, "SET search_path = b; SET csm.disable = 'constants'")
			const taken = 50 // of the way that is tested: by chance most values of a few tables in a row are wrong
			for round := 0; round < 20*testsuite.Effort() || e.InsertsGathered() <= taken && round < 200; round++ {
				c := newConstantsCase(random)
				create := "CREATE TABLE t (" + c.columns() + ")"
				_, err := direct.Exec(context.Background(), create)
				_, other := duck.Exec(context.Background(), create)
				require.Equal(t, said(other), said(err), "seed %d: %s", seed, create)
				if err != nil {
					continue
				}
				for range 20 {
					compareInserts(t, direct, duck, c, fmt.Sprintf("seed %d: %s", seed, create))
				}
				const all = "SELECT * FROM t"
				require.Equal(t, rows(t, duck, all), rows(t, direct, all), "seed %d: %s", seed, create)
				exec(t, direct, "DROP TABLE t")
				exec(t, duck, "DROP TABLE t")
			}
			require.Greater(t, e.InsertsGathered(), int64(taken), "seed %d: the way that is tested was hardly taken", seed)
		})
	}
}

func compareInserts(t *testing.T, direct, duck *engine.Session, c *constantsCase, of string) {
	t.Helper()
	sql := fmt.Sprintf(c.insert(), "t")
	describe := func(s *engine.Session) (out string) {
		st, err := s.Prepare(context.Background(), sql)
		if err != nil {
			return said(err)
		}
		defer st.Close()
		return fmt.Sprint(st.Parameters(), st.Schema())
	}
	require.Equal(t, describe(duck), describe(direct), "%s; %s", of, sql)
	got, err := direct.Exec(context.Background(), sql, c.args...)
	want, other := duck.Exec(context.Background(), sql, c.args...)
	require.Equal(t, said(other), said(err), "%s; %s; %#v", of, sql, c.args)
	require.Equal(t, want, got, "%s; %s", of, sql)
}

// A table with other columns, another table of the name, or a temporary one: what the values mean is determined again.
func TestConstantsFollowTheirTable(t *testing.T) {
	ctx := context.Background()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int, b text)")
	st, err := s.Prepare(ctx, "INSERT INTO t VALUES ($1, $2)")
	require.NoError(t, err)
	defer st.Close()
	insert := func(args ...any) error {
		_, err := st.Exec(ctx, args...)
		return err
	}
	require.NoError(t, insert(1, "one"))
	require.Equal(t, int64(1), e.InsertsGathered())
	exec(t, other, "DROP TABLE t; CREATE TABLE t (a smallint, b varchar(3) NOT NULL)")
	require.NoError(t, insert(2, "two"))
	require.Equal(t, "22001", sqlState(insert(3, "three")))
	require.Equal(t, "23502", sqlState(insert(3, nil)))
	require.Equal(t, "22003", sqlState(insert(70000, "x")))
	exec(t, other, "ALTER TABLE t ADD CHECK (a < 10)")
	require.Equal(t, "23514", sqlState(insert(12, "x")))
	require.NoError(t, insert(4, "4"))
	require.Equal(t, []string{"2|two", "4|4"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	exec(t, other, "DROP TABLE t")
	require.Equal(t, "42P01", sqlState(insert(5, "5")))
	exec(t, s, "CREATE TEMP TABLE t (a int, b text)")
	exec(t, other, "CREATE TABLE t (a int, b text)")
	before := e.InsertsGathered()
	exec(t, s, "INSERT INTO t VALUES (6, 'temporary')")
	require.Equal(t, before, e.InsertsGathered())
	require.Empty(t, rows(t, other, "SELECT * FROM t"))
}

// What waits for the end of a message is seen by its other statements, and goes with it.
func TestRowsThatWaitAreSeen(t *testing.T) {
	ctx := context.Background()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int); CREATE TABLE u (a int)")
	count := func(s *engine.Session) string { return rows(t, s, "SELECT count(*) FROM t")[0] }
	s.BeginImplicit()
	exec(t, s, "INSERT INTO t VALUES (1)")
	exec(t, s, "INSERT INTO t VALUES (2), (3)")
	require.Equal(t, "0", count(other))
	require.Equal(t, "3", count(s))
	exec(t, s, "INSERT INTO t VALUES (4)")
	exec(t, s, "INSERT INTO u VALUES (5)")
	require.Equal(t, "4", count(s))
	require.NoError(t, s.EndImplicit(ctx, false))
	require.Equal(t, "4", count(other))
	require.Equal(t, []string{"5"}, rows(t, other, "SELECT * FROM u"))
	require.Zero(t, e.InsertsGathered())

	s.BeginImplicit()
	exec(t, s, "INSERT INTO t VALUES (10)")
	require.NoError(t, s.EndImplicit(ctx, true))
	require.Equal(t, "4", count(other))
	s.BeginImplicit()
	exec(t, s, "INSERT INTO t VALUES (11)")
	exec(t, s, "BEGIN")
	exec(t, s, "SAVEPOINT x")
	exec(t, s, "INSERT INTO t VALUES (12)")
	exec(t, s, "ROLLBACK TO x")
	require.Equal(t, "5", count(s))
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"1", "2", "3", "4", "11"}, rows(t, other, "SELECT * FROM t ORDER BY a"))
	require.Zero(t, e.InsertsGathered())
	s.BeginImplicit()
	exec(t, s, "INSERT INTO t VALUES (13)")
	exec(t, s, "INSERT INTO t VALUES (14)")
	require.NoError(t, s.EndImplicit(ctx, false))
	require.Equal(t, int64(1), e.InsertsGathered())
	require.Equal(t, "7", count(other))
}

// GA1: every session's rows are there once, in few commits and chunks, beside a session that drops and makes tables.
func TestInsertsOfManySessionsMeet(t *testing.T) {
	const sessions, each = 16, 40
	e := open(t)
	exec(t, session(t, e), "CREATE TABLE t (a int, b text); CREATE TABLE other (a int)")
	var working sync.WaitGroup
	for i := range sessions {
		s := session(t, e)
		working.Go(func() {
			for k := range each {
				if _, err := s.Exec(context.Background(), "INSERT INTO t VALUES ($1, 'x')", i*each+k); err != nil {
					t.Error(err)
				}
			}
		})
	}
	s := session(t, e)
	for i := range 10 {
		exec(t, s, fmt.Sprintf("CREATE TABLE n%d (a int); INSERT INTO other VALUES (%d); UPDATE other SET a = a + 1", i, i))
	}
	working.Wait()
	require.Equal(t, []string{"640|640|204480"}, rows(t, s, "SELECT count(*), count(DISTINCT a), sum(a) FROM t"))
	require.Equal(t, int64(sessions*each+10), e.InsertsGathered())
	require.Less(t, e.InsertCommits(), int64(sessions*each/2), "they hardly met")
}

// What a connection does itself must not keep it from its client: rows that DuckDB makes, or that are compared with
// keys or a CHECK, may take their time.
func TestConstantRowsArePrompt(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE plain (a bigint, b text)")
	exec(t, s, "CREATE TABLE keyed (a bigint PRIMARY KEY)")
	exec(t, s, "CREATE TABLE checked (a text CHECK (levenshtein(a, a) = 0))")
	for text, prompt := range map[string]bool{
		"INSERT INTO plain VALUES ($1, $2)":            true,
		"INSERT INTO plain VALUES (1, 'x'), (2, 'y')":  true,
		"INSERT INTO plain VALUES (1, repeat('x', 9))": false,
		"INSERT INTO plain VALUES (1) RETURNING a":     false,
		"INSERT INTO plain SELECT 1, 'x'":              false,
		"INSERT INTO keyed VALUES ($1)":                false,
		"INSERT INTO checked VALUES ($1)":              false,
	} {
		st, err := s.Prepare(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, prompt, st.Prompt(), text)
		require.NoError(t, st.Close())
	}
	st, err := s.Prepare(t.Context(), "INSERT INTO plain VALUES ($1, 'x')")
	require.NoError(t, err)
	rows, err := st.Execute(t.Context(), []any{"7"}) // DuckDB says what a text is as a number
	require.NoError(t, err)
	require.NoError(t, rows.Close())
	require.False(t, st.Prompt(), "it is DuckDB's by now")
	require.NoError(t, st.Close())
}
