package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// kind is a type with its pool.
type kind struct {
	name   string
	family string   // values of one family can be compared
	pool   []string // SQL literals, in ascending order where that has a meaning
	beside []string // further literals to compare it with: other types, values between, edges
	values []any    // arguments to compare it with
	key    bool     // equal often enough to be joined on
}

var kinds = []*kind{
	{name: "INTEGER", family: "number", key: true, pool: ints(-2, 12, "2147483647", "-2147483648"), beside: numbers("3.5", "2.0", "1e0", "2.5e0", "'4'", "99999999999", "1 + 2", "-3", "7.50", "0x3", "0b11", "1_0", "5::SMALLINT"), values: []any{int64(3), int32(5), int16(1), "4", nil, int64(7)}},
	{name: "BIGINT", family: "number", key: true, pool: ints(-2, 12, "9223372036854775807", "-9223372036854775808"), beside: numbers("3.5", "2.00", "1e0", "'4'", "9223372036854775807", "-9223372036854775808", "1e19", "5::BIGINT"), values: []any{int64(3), int32(5), "4", nil}},
	{name: "SMALLINT", family: "number", key: true, pool: ints(-2, 12, "32767", "-32768"), beside: numbers("3.5", "40000", "'4'", "1e0"), values: []any{int64(3), int16(5), nil}},
	{name: "TINYINT", family: "number", key: true, pool: ints(-2, 12, "127", "-128"), beside: numbers("3.5", "300", "'4'"), values: []any{int64(3), nil}},
	{name: "UTINYINT", family: "number", key: true, pool: ints(0, 12, "255"), beside: numbers("-1", "3.5", "300"), values: []any{int64(3), nil}},
	{name: "USMALLINT", family: "number", key: true, pool: ints(0, 12, "65535"), beside: numbers("-1", "3.5"), values: []any{int64(3)}},
	{name: "UINTEGER", family: "number", key: true, pool: ints(0, 12, "4294967295"), beside: numbers("-1", "3.5", "4294967295"), values: []any{int64(3)}},
	{name: "UBIGINT", family: "number", key: true, pool: ints(0, 12, "18446744073709551615"), beside: numbers("3.5", "18446744073709551615"), values: []any{int64(3)}},
	{name: "DECIMAL(38,0)", family: "number", key: true, pool: ints(-2, 12, "99999999999999999999999999"), beside: numbers("3.5", "'4'"), values: []any{int64(3)}},
	{name: "DOUBLE", family: "number", pool: doubles("DOUBLE"), beside: numbers("1.25", "'1.5'", "'NaN'::DOUBLE", "'inf'", "'-inf'::DOUBLE", "0.1", "1e0", "2.50", "'nan'", "0.1e0", "'0.25'"), values: []any{1.25, int64(2), "1.5", "NaN", nil, "inf"}},
	{name: "FLOAT", family: "number", pool: doubles("FLOAT"), beside: numbers("1.25", "'1.5'", "'NaN'::FLOAT", "0.1", "0.1e0", "'inf'", "16777217", "0.1::FLOAT"), values: []any{1.25, int64(2), float32(0.1)}},
	{name: "DECIMAL(4,2)", family: "number", pool: strings.Fields("-99.99 -1.50 -0.01 0.00 0.05 0.06 0.07 1.50 2.00 3.00 99.99"), beside: numbers("0.055", "0.05", "5e-2", "'0.06'", "1.5", "2e0", "0.0600", "100.5", "0.06 - 0.01", "0.06 + 0.01"), values: []any{"0.05", 0.05, int64(2), nil, "0.055"}},
	{name: "DECIMAL(12,3)", family: "number", pool: strings.Fields("-999999999.999 -1.500 0.000 0.050 1.000 1.500 2.000 3.000 999999999.999"), beside: numbers("0.05", "5e-2", "'1.5'", "1.5", "2e0", "1.5005"), values: []any{"1.5", 1.5, int64(2), "1.50049"}},
	{name: "DECIMAL(18,0)", family: "number", pool: ints(-1, 5, "999999999999999999"), beside: numbers("0.5", "'2'", "2e0", "999999999999999999.5"), values: []any{int64(2), "2"}},
	{name: "DECIMAL(25,2)", family: "number", pool: strings.Fields("-1.50 0.00 1.00 1.50 2.00 12345678901234567890123.45"), beside: numbers("1.5", "'1.5'", "2e0", "1.505"), values: []any{int64(2), "1.5"}},
	{name: "VARCHAR", family: "text", pool: quoted("", "A", "AIR", "B", "MAIL", "RAIL", "a", "a', 'b", "ab", "b", "it's", "z", "ä", "a string that is longer than twelve"), beside: quoted("A", "a", "AIR%", "zz", "", "B", "a', 'b", "nowhere"), values: []any{"A", "b", "", nil, "AIR", "nowhere"}},
	{name: "VARCHAR", family: "text", pool: quoted("10", "2", "3", "2020-01-01", "true", "x", "x_", "x%", `x\`, "xé", "xyz", "y"), beside: quoted("2", "x", "x%", "3", "y"), values: []any{"2", "x", "x%", nil}},
	{name: "BOOLEAN", family: "truth", pool: []string{"false", "true"}, beside: []string{"true", "false", "'true'", "NULL"}, values: []any{true, false, nil}},
	{name: "DATE", family: "time", key: true, pool: days(8), beside: times(), values: []any{duckdb.Date(18264), "2020-01-04", nil, "2020-01-05"}},
	{name: "TIMESTAMP", family: "time", pool: stamps(8), beside: times(), values: []any{time.Date(2020, 1, 4, 0, 0, 0, 0, time.UTC), "2020-01-04 12:00:00", "2020-01-04", nil, duckdb.Date(18264)}},
	{name: "TIMESTAMP_S", family: "time", pool: stamps(5), beside: times(), values: []any{"2020-01-03"}},
	{name: "TIMESTAMP_MS", family: "time", pool: stamps(5), beside: times(), values: []any{"2020-01-03"}},
	{name: "TIMESTAMP_NS", family: "time", pool: stamps(5), beside: times(), values: []any{"2020-01-03"}},
	{name: "TIMESTAMPTZ", family: "zoned", pool: stamps(5), beside: []string{"'2020-01-03 00:00:00+00'", "'2020-01-02'::DATE", "TIMESTAMPTZ '2020-01-03 02:00:00+02'"}, values: []any{"2020-01-03"}},
	{name: "TIME", family: "clock", pool: quoted("00:00:00", "01:00:00", "12:30:00", "23:59:59.999999"), beside: quoted("01:00:00", "12:30"), values: []any{"12:30:00"}},
	{name: "UUID", family: "uuid", pool: quoted("00000000-0000-0000-0000-000000000001", "7f47ac10-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d479"), beside: quoted("f47ac10b-58cc-4372-a567-0e02b2c3d479"), values: []any{"f47ac10b-58cc-4372-a567-0e02b2c3d479"}},
	{name: "BLOB", family: "bytes", pool: quoted("", `\x00`, "a", "ab", `\xFF`), beside: quoted("a", `\x00`)},
	{name: "INTERVAL", family: "span", pool: quoted("-1 second", "1 day", "2 days", "1 month"), beside: []string{"INTERVAL '1 day'", "INTERVAL 1 MONTH"}},
}

func ints(from, to int, edges ...string) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return append(out, edges...)
}

func numbers(more ...string) []string {
	return append([]string{"0", "1", "2", "3", "5", "8", "-1", "NULL"}, more...)
}

func doubles(t string) []string {
	var out []string
	for _, v := range []string{"-inf", "-2.5", "-0.0", "0", "0.25", "1", "1.25", "1.5", "2", "3", "inf", "nan"} {
		out = append(out, "'"+v+"'::"+t)
	}
	return out
}

func quoted(values ...string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = duckdb.QuoteLiteral(v)
	}
	return out
}

func days(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("'2020-01-%02d'", i+1))
	}
	return append(out, "'1969-12-31'", "'2199-12-31'")
}

func stamps(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("'2020-01-%02d 00:00:00'", i+1), fmt.Sprintf("'2020-01-%02d 12:00:00'", i+1))
	}
	return append(out, "'1969-12-31 23:59:59'")
}

func times() []string {
	return []string{
		"'2020-01-03'", "DATE '2020-01-03'", "TIMESTAMP '2020-01-03 12:00:00'", "'2020-01-04 00:00:00'", "DATE '2020-01-01' + INTERVAL '3' DAY",
		"DATE '2020-01-31' - INTERVAL '1 month'", "DATE '2020-01-01' + 4", "CAST('2020-01-05' AS DATE)", "TIMESTAMP '2020-01-03 00:00:00'",
		"'2020-01-03'::TIMESTAMP", "NULL", "DATE '1969-12-31'", "TIMESTAMP '2020-01-02 12:00:00' + INTERVAL '1' DAY", "'2020-01-03 12:00:00'::TIMESTAMP",
	}
}

type column struct {
	name    string
	kind    *kind
	notNull bool
	allNull bool
	spread  bool // values of each chunk lie close together, so that chunks are pruned
}

// table is made by one CREATE TABLE and filled by INSERTs, each of which makes chunks of its own.
type table struct {
	name    string
	columns []*column
	inserts []*insert
}

type insert struct {
	rows [][]string
	from string // instead of rows: a query that gives many, by column
}

func (t *table) create() string {
	var columns []string
	for _, c := range t.columns {
		d := c.name + " " + c.kind.name
		if c.notNull {
			d += " NOT NULL"
		}
		columns = append(columns, d)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s)", t.name, strings.Join(columns, ", "))
}

func (t *table) statement(in *insert) string {
	if in.from != "" {
		return "INSERT INTO " + t.name + " " + in.from
	}
	rows := make([]string, len(in.rows))
	for i, r := range in.rows {
		rows[i] = "(" + strings.Join(r, ", ") + ")"
	}
	return "INSERT INTO " + t.name + " VALUES " + strings.Join(rows, ", ")
}

func (t *table) script() []string {
	out := []string{t.create()}
	for _, in := range t.inserts {
		if in.from != "" || len(in.rows) > 0 {
			out = append(out, t.statement(in))
		}
	}
	return out
}

// world is a set of tables and views.
type world struct {
	tables []*table
	views  []*view
}

type view struct {
	name    string
	columns []*column
	sql     string
}

func (w *world) script() (out []string) {
	for _, t := range w.tables {
		out = append(out, t.script()...)
	}
	for _, v := range w.views {
		out = append(out, "CREATE VIEW "+v.name+" AS "+v.sql)
	}
	return out
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// newWorld makes three or four tables whose columns meet: each has keys.
func newWorld(r *rand.Rand) *world {
	w := &world{}
	names := []string{"t", "u", "s", `"Odd Name"`}
	shared := pick(r, kinds[:2])
	for _, name := range names[:3+r.IntN(2)] {
		t := &table{name: name}
		t.columns = append(t.columns, &column{name: "k", kind: shared, spread: chance(r, 50), notNull: chance(r, 20)})
		for i := range 3 + r.IntN(4) {
			c := &column{name: fmt.Sprintf("%c%d", 'a'+rune(r.IntN(3)), i), kind: pick(r, kinds), spread: chance(r, 40), notNull: chance(r, 10)}
			switch {
			case chance(r, 30):
				c.kind = kinds[15] // words: dictionaries are where ENUM may go wrong
			case chance(r, 30):
				c.kind = shared
			}
			c.allNull = !c.notNull && chance(r, 4)
			t.columns = append(t.columns, c)
		}
		t.fill(r)
		w.tables = append(w.tables, t)
	}
	return w
}

// fill makes between no and nine INSERTs of a few rows, now and then one of many.
func (t *table) fill(r *rand.Rand) {
	inserts := r.IntN(8)
	for range inserts {
		t.inserts = append(t.inserts, t.someRows(r, 1+r.IntN(6)))
	}
	if chance(r, 12) {
		t.inserts = append(t.inserts, t.manyRows(r, 260+r.IntN(60)))
	}
}

func (t *table) someRows(r *rand.Rand, n int) *insert {
	in := &insert{rows: make([][]string, n)}
	for i := range in.rows {
		in.rows[i] = make([]string, len(t.columns))
	}
	for c, col := range t.columns {
		pool := col.kind.pool
		if col.spread && len(pool) > 3 {
			from := r.IntN(len(pool) - 2)
			pool = pool[from : from+2]
		}
		nulls := 20
		if chance(r, 5) {
			nulls = 100
		}
		for i := range in.rows {
			in.rows[i][c] = pick(r, pool)
			if !col.notNull && (col.allNull || chance(r, nulls)) {
				in.rows[i][c] = "NULL"
			}
		}
	}
	return in
}

// many: a third power of its rows would be too many.
func (t *table) many() bool {
	return slices.ContainsFunc(t.inserts, func(in *insert) bool { return in.from != "" })
}

// manyRows has so many distinct words that the chunk holds them as views and not as a dictionary.
func (t *table) manyRows(r *rand.Rand, n int) *insert {
	var list []string
	for _, c := range t.columns {
		low := r.IntN(3)
		var value string
		switch c.kind.family {
		case "number":
			value = fmt.Sprintf("((i * %d) %% 9)", 1+low)
		case "text":
			value = "'w' || i"
		case "time", "zoned":
			value = fmt.Sprintf("DATE '2020-01-01' + CAST(i %% %d AS INTEGER)", 2+low)
		case "truth":
			value = "i % 3 = 0"
		default:
			value = pick(r, c.kind.pool)
		}
		if !c.notNull {
			value = fmt.Sprintf("CASE WHEN i %% %d > 0 THEN %s END", 5+low, value)
		}
		if c.allNull {
			value = "NULL"
		}
		list = append(list, fmt.Sprintf("CAST(%s AS %s)", value, c.kind.name))
	}
	return &insert{from: fmt.Sprintf("SELECT %s FROM range(%d) AS g(i)", strings.Join(list, ", "), n)}
}
