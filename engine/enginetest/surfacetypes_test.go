package enginetest

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// valueType is a column's type with what is drawn from it. Values of one family can be compared, joined and combined without a cast
// that may fail; types whose extremes do not fit into their neighbours' are families of their own.
type valueType struct {
	name   string
	family string
	pool   []string // literals, each a value of the type when it is cast to it
	args   []any    // what a client passes for it
	many   string   // an expression over i, for many rows
	words  string   // the same with few distinct values, for dictionaries
	key    bool     // equal often enough to be joined on
	parts  []part   // what is inside
}

// part is a way into a nested value.
type part struct {
	path string // with %s for the value
	of   string // name of a type
}

// typesOf are the types that tables have, by name.
var typesOf = map[string]*valueType{}

var valueTypes = []*valueType{
	{name: "TINYINT", family: "int", key: true, pool: ints(-2, 6, "127", "-128"), args: []any{int64(3), int16(-1), nil}, many: "i % 100", words: "i % 5"},
	{name: "SMALLINT", family: "int", key: true, pool: ints(-2, 8, "32767", "-32768"), args: []any{int16(4), int64(0), nil}, many: "i % 9000", words: "i % 7"},
	{name: "INTEGER", family: "int", key: true, pool: ints(-2, 12, "2147483647", "-2147483648", "16777216", "16777217"), args: []any{int32(5), int64(-2), "7", nil}, many: "i * 7 % 5003", words: "i % 11"},
	{name: "BIGINT", family: "int", key: true, pool: ints(-2, 12, "9223372036854775807", "-9223372036854775808", "9007199254740992", "9007199254740993", "9223372036854775806", "9000000000000000000", "4611686018427387904"), args: []any{int64(2), int64(9007199254740993), "1", nil},
		many: "9007199254740000 + i", words: "9007199254740990 + i % 9"},
	{name: "UTINYINT", family: "int", key: true, pool: ints(0, 6, "255"), args: []any{int64(3), uint8(255), nil}, many: "i % 250", words: "i % 3"},
	{name: "USMALLINT", family: "int", key: true, pool: ints(0, 6, "65535"), args: []any{int64(3), uint16(1)}, many: "i % 60000", words: "i % 4"},
	{name: "UINTEGER", family: "int", key: true, pool: ints(0, 6, "4294967295"), args: []any{int64(3), uint32(2)}, many: "i", words: "i % 6"},
	{name: "UBIGINT", family: "int", key: true, pool: ints(0, 6, "18446744073709551615"), args: []any{int64(3), uint64(1 << 63)}, many: "i", words: "i % 8"},
	{name: "FLOAT", family: "float", key: true, pool: floats("FLOAT", "16777216", "3.4e38", "1e-45"), args: []any{float32(0.5), 1.25, int64(2)}, many: "i / 4.0", words: "CASE WHEN i % 6 = 5 THEN 'nan' ELSE (i % 6) / 4.0 END"},
	{name: "DOUBLE", family: "float", key: true, pool: floats("DOUBLE", "9007199254740992", "1.7e308", "5e-324"), args: []any{0.5, int64(2), "1.5", nil}, many: "i / 8.0", words: "CASE WHEN i % 5 = 4 THEN 'nan' ELSE (i % 5) / 8.0 END"},
	{name: "DECIMAL(4,2)", family: "decimal", pool: strings.Fields("-99.99 -1.50 0.00 0.05 0.06 1.50 2.00 99.99"), args: []any{"0.05", 1.5, int64(2), nil}, many: "(i % 9000) / 100", words: "(i % 8) / 4"},
	{name: "DECIMAL(9,0)", family: "decimal", key: true, pool: ints(-2, 6, "999999999", "-999999999"), args: []any{int64(3), "4"}, many: "i", words: "i % 4"},
	{name: "DECIMAL(12,3)", family: "decimal", pool: strings.Fields("-999999999.999 -1.500 0.000 0.050 1.500 2.000 999999999.999"), args: []any{"1.5", int64(2)}, many: "i / 8", words: "(i % 9) / 8"},
	{name: "DECIMAL(18,6)", family: "decimal", pool: strings.Fields("-999999999999.999999 0.000001 0.000000 1.500000 2.000000 999999999999.999999"), args: []any{"1.5", int64(2)}, many: "i / 16", words: "(i % 5) / 2"},
	{name: "DECIMAL(25,2)", family: "decimal", pool: strings.Fields("-1.50 0.00 1.50 2.00 12345678901234567890123.45"), args: []any{"1.5", int64(2), nil}, many: "i / 4", words: "(i % 5) / 2"},
	{name: "DECIMAL(38,0)", family: "DECIMAL(38,0)", key: true, pool: ints(-2, 6, strings.Repeat("9", 38), "-"+strings.Repeat("9", 38)), args: []any{int64(3), big.NewInt(4)}, many: "i", words: "i % 6"},
	{name: "DECIMAL(38,10)", family: "DECIMAL(38,10)", pool: strings.Fields("0 1.5 -0.0000000001 9999999999999999999999999999.9999999999"), args: []any{"1.5", int64(2)}, many: "i / 4", words: "(i % 6) / 4"},
	{name: "VARCHAR", family: "text", key: true, pool: quoted("", " ", "A", "AIR", "a", "ab", "a', 'b", "a%", "a_", `a\`, "b", "it's", "z", "ä", "Ä", "ß", "日本語", "🦆", "e\u0301", "null", "10", "2", "2020-01-01", "true", "a string that is longer than twelve"),
		args: []any{"A", "", "ä", "🦆", nil}, many: "'w' || i", words: "CASE i % 5 WHEN 0 THEN '' WHEN 1 THEN 'A' WHEN 2 THEN 'a string of more than twelve' WHEN 3 THEN 'ä' ELSE 'b' END"},
	{name: "VARCHAR", family: "text", key: true, pool: quoted("AIR", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"), args: []any{"AIR", "nowhere", nil}, many: "'w' || (i % 700)", words: "CASE i % 4 WHEN 0 THEN 'AIR' WHEN 1 THEN 'RAIL' WHEN 2 THEN 'MAIL' ELSE 'TRUCK' END"},
	{name: "BLOB", family: "blob", pool: []string{"''::BLOB", `'\x00'::BLOB`, `'\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C'::BLOB`, "'a'::BLOB", "'ab'::BLOB", `'\xFF'::BLOB`}, args: []any{[]byte("a"), []byte{0}, nil},
		many: "encode('b' || i)", words: "encode('b' || (i % 3))"},
	{name: "BOOLEAN", family: "bool", pool: []string{"true", "false"}, args: []any{true, false, nil}, many: "i % 3 = 0", words: "i % 2 = 0"},
	{name: "DATE", family: "date", key: true, pool: append(days(8), "'0044-03-15 (BC)'", "'9999-12-31'", "'infinity'", "'-infinity'"), args: []any{duckdb.Date(18264), "2020-01-04", nil}, many: "DATE '1992-01-01' + CAST(i % 2500 AS INTEGER)", words: "DATE '2020-01-01' + CAST(i % 8 AS INTEGER)"},
	{name: "TIMESTAMP", family: "stamp", pool: append(stamps(6), "'1969-12-31 23:59:59.999999'", "'infinity'", "'-infinity'", "'0044-03-15 (BC) 01:02:03'"), args: []any{time.Date(2020, 1, 4, 0, 0, 0, 0, time.UTC), "2020-01-04 12:00:00", nil}, many: "TIMESTAMP '2020-01-01' + to_seconds(i * 77)", words: "TIMESTAMP '2020-01-01' + to_hours(i % 9)"},
	{name: "TIMESTAMP_S", family: "stamp", pool: stamps(5), args: []any{"2020-01-03"}, many: "TIMESTAMP '2020-01-01' + to_seconds(i)", words: "TIMESTAMP '2020-01-01' + to_hours(i % 5)"},
	{name: "TIMESTAMP_MS", family: "stamp", pool: append(stamps(4), "'1969-12-31 23:59:59.999'"), args: []any{"2020-01-03"}, many: "TIMESTAMP '2020-01-01' + to_milliseconds(i)", words: "TIMESTAMP '2020-01-01' + to_hours(i % 5)"},
	{name: "TIMESTAMP_NS", family: "nanos", pool: append(stamps(4), "'1969-12-31 23:59:59.999999999'", "'2020-01-01 00:00:00.000000001'"), args: []any{"2020-01-03"}, many: "make_timestamp_ns(i * 1001)", words: "make_timestamp_ns(i % 7)"},
	{name: "TIMESTAMPTZ", family: "zoned", pool: []string{"'2020-01-03 00:00:00+00'", "'2020-01-02 12:00:00-08'", "'2020-01-03 02:00:00+02'", "'1969-12-31 23:59:59.999999+00'", "'infinity'"}, args: []any{"2020-01-03 00:00:00+00", duckdb.TimestampTZ(time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC))},
		many: "make_timestamptz(i * 1000003)", words: "make_timestamptz((i % 4) * 3600000000)"},
	{name: "TIME", family: "clock", pool: quoted("00:00:00", "01:00:00", "12:30:00", "23:59:59.999999"), args: []any{"12:30:00", duckdb.TimeOfDay(3600_000_000)}, many: "TIME '00:00:00' + to_seconds(i % 80000)", words: "TIME '00:00:00' + to_hours(i % 5)"},
	{name: "INTERVAL", family: "span", pool: quoted("-1 second", "1 day", "2 days", "1 month", "1 year 2 months 3 days 4 seconds"), args: []any{arrow.MonthDayNanoInterval{Days: 2}}, many: "to_days(CAST(i % 20 AS INTEGER))", words: "to_days(CAST(i % 3 AS INTEGER))"},
	{name: "UUID", family: "uuid", key: true, pool: quoted("00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001", "7f47ac10-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d479"), args: []any{"f47ac10b-58cc-4372-a567-0e02b2c3d479", nil},
		many: "CAST(md5(CAST(i AS VARCHAR)) AS UUID)", words: "CAST(md5(CAST(i % 3 AS VARCHAR)) AS UUID)"},
	{name: "JSON", family: "json", pool: quoted(`{"a": 1, "b": [1, null]}`, `{"a": "x"}`, "null", "[]", "[3, 2]", `"text"`, "1.5"), many: `'{"a": ' || (i % 50) || '}'`, words: `'{"a": ' || (i % 3) || '}'`},
	{name: "INTEGER[]", family: "ints", pool: []string{"[]", "[1]", "[1, NULL, 3]", "[3, 1, 2]", "[2147483647]"}, many: "[i % 50, NULL, 2]", words: "[i % 3]", parts: []part{{"%s[1]", "INTEGER"}, {"%s[-1]", "INTEGER"}}},
	{name: "BIGINT[]", family: "ints", pool: []string{"[]", "[9223372036854775807]", "[1, 2]", "[NULL]"}, many: "range(i % 4)", words: "range(i % 3)", parts: []part{{"list_extract(%s, 2)", "BIGINT"}}},
	{name: "VARCHAR[]", family: "texts", pool: []string{"[]", "['a']", "['b', NULL, 'a string of more than twelve bytes']", "['', 'ä']"}, many: "['w' || i, 'x']", words: "['w' || (i % 3)]", parts: []part{{"%s[1]", "VARCHAR"}}},
	{name: "DOUBLE[]", family: "floats", pool: []string{"[]", "[1.5, NULL]", "['nan'::DOUBLE]", "['inf'::DOUBLE, -0.0]"}, many: "[i / 4.0]", words: "[(i % 3) / 4.0]", parts: []part{{"%s[1]", "DOUBLE"}}},
	{name: "DECIMAL(12,3)[]", family: "DECIMAL(12,3)[]", pool: []string{"[]", "[1.5, NULL]", "[999999999.999]"}, many: "[i / 8]", words: "[(i % 3) / 8]", parts: []part{{"%s[1]", "DECIMAL(12,3)"}}},
	{name: "BOOLEAN[]", family: "BOOLEAN[]", pool: []string{"[]", "[true, NULL, false]"}, many: "[i % 2 = 0]", words: "[i % 2 = 0]", parts: []part{{"%s[1]", "BOOLEAN"}}},
	{name: "DATE[]", family: "DATE[]", pool: []string{"[]", "['2020-01-01'::DATE, NULL]", "['infinity'::DATE]"}, many: "[DATE '2020-01-01' + CAST(i % 9 AS INTEGER)]", words: "[DATE '2020-01-01']", parts: []part{{"%s[1]", "DATE"}}},
	{name: "UUID[]", family: "UUID[]", pool: []string{"[]", "['f47ac10b-58cc-4372-a567-0e02b2c3d479'::UUID, NULL]"}, many: "[CAST(md5(CAST(i AS VARCHAR)) AS UUID)]", words: "[NULL]", parts: []part{{"%s[1]", "UUID"}}},
	{name: "INTEGER[][]", family: "INTEGER[][]", pool: []string{"[]", "[[1], NULL, []]", "[[2, 3]]"}, many: "[[i % 9], []]", words: "[[i % 3]]", parts: []part{{"%s[1]", "INTEGER[]"}}},
	{name: "INTEGER[3]", family: "INTEGER[3]", pool: []string{"[1, 2, 3]", "[4, NULL, 6]"}, many: "[i % 9, NULL, 1]", words: "[i % 2, 1, 2]", parts: []part{{"%s[2]", "INTEGER"}}},
	{name: "DOUBLE[2]", family: "DOUBLE[2]", pool: []string{"[1.5, 2]", "[0, -0.5]"}, many: "[i / 4.0, 1]", words: "[i % 2, 1]", parts: []part{{"%s[1]", "DOUBLE"}}},
	{name: "STRUCT(a INTEGER, b VARCHAR)", family: "STRUCT(a INTEGER, b VARCHAR)", pool: []string{"{'a': 1, 'b': 'x'}", "{'a': NULL, 'b': 'a string of more than twelve bytes'}", "{'a': 2, 'b': ''}"}, many: "{'a': i % 99, 'b': 'w' || i}", words: "{'a': i % 2, 'b': 'w'}",
		parts: []part{{"(%s).a", "INTEGER"}, {"struct_extract(%s, 'b')", "VARCHAR"}, {"%s['b']", "VARCHAR"}}},
	{name: "STRUCT(a STRUCT(b INTEGER[3], c VARCHAR), d DATE)", family: "STRUCT(a STRUCT(b INTEGER[3], c VARCHAR), d DATE)", pool: []string{"{'a': {'b': [1, 2, 3], 'c': 'x'}, 'd': '2020-01-01'}", "{'a': NULL, 'd': NULL}"},
		many: "{'a': {'b': [i % 9, 2, 3], 'c': 'w' || i}, 'd': DATE '2020-01-01'}", words: "{'a': {'b': [1, 2, 3], 'c': 'w'}, 'd': NULL}", parts: []part{{"((%s).a).c", "VARCHAR"}, {"(%s).d", "DATE"}, {"((%s).a).b", "INTEGER[3]"}}},
	{name: "STRUCT(x DOUBLE)[]", family: "STRUCT(x DOUBLE)[]", pool: []string{"[]", "[{'x': 1.5}, NULL]", "[{'x': 'nan'}]"}, many: "[{'x': i / 2.0}]", words: "[{'x': i % 2}]", parts: []part{{"(%s[1]).x", "DOUBLE"}}},
	{name: "MAP(VARCHAR, INTEGER)", family: "MAP(VARCHAR, INTEGER)", pool: []string{"MAP {'a': 1, 'a key of more than twelve bytes': NULL}", "MAP {}", "MAP {'b': 2}"}, many: "MAP {'a': i % 40, 'k' || (i % 9): 1}", words: "MAP {'a': i % 2}", parts: []part{{"%s['a']", "INTEGER"}, {"map_keys(%s)", "VARCHAR[]"}, {"map_values(%s)", "INTEGER[]"}}},
	{name: "MAP(INTEGER, VARCHAR[])", family: "MAP(INTEGER, VARCHAR[])", pool: []string{"MAP {1: ['x', NULL], 2: NULL}", "MAP {}"}, many: "MAP {i % 9: ['w' || i]}", words: "MAP {1: ['w']}", parts: []part{{"%s[1]", "VARCHAR[]"}}},
}

// edges are keys where types of numbers end to tell neighbours apart: equality is transitive only within one type.
var edges = [][]*valueType{{
	{name: "BIGINT", family: "int", pool: around54, args: []any{int64(1<<54 + 1)}, many: "18014398509481980 + i % 13", words: "18014398509481982 + i % 5"},
	{name: "DOUBLE", family: "float", pool: around54, args: []any{float64(1 << 54)}, many: "18014398509481980 + i % 13", words: "18014398509481982 + i % 5"},
	{name: "UBIGINT", family: "int", pool: around54, args: []any{int64(1<<54 + 1)}, many: "18014398509481980 + i % 13", words: "18014398509481982 + i % 5"},
	{name: "DECIMAL(25,2)", family: "decimal", pool: around54, args: []any{"18014398509481985.5"}, many: "18014398509481980.5 + i % 13", words: "18014398509481982 + i % 5"},
}, {
	{name: "INTEGER", family: "int", pool: around25, args: []any{int64(1<<25 + 1)}, many: "33554430 + i % 13", words: "33554430 + i % 5"},
	{name: "FLOAT", family: "float", pool: around25, args: []any{float32(1 << 25)}, many: "33554430 + i % 13", words: "33554430 + i % 5"},
	{name: "DOUBLE", family: "float", pool: around25, args: []any{1<<25 + 0.5}, many: "33554430 + i % 13 + 0.5", words: "33554430 + i % 5"},
	{name: "DECIMAL(9,0)", family: "decimal", pool: around25, args: []any{"33554433"}, many: "33554430 + i % 13", words: "33554430 + i % 5"},
}, {
	{name: "DATE", family: "date", pool: []string{"'2020-01-01'", "'2020-01-02'", "'2020-01-03'"}, many: "DATE '2020-01-01' + CAST(i % 4 AS INTEGER)", words: "DATE '2020-01-01' + CAST(i % 2 AS INTEGER)"},
	{name: "TIMESTAMP", family: "stamp", pool: aroundMidnight, many: "TIMESTAMP '2020-01-01' + to_hours(i % 60)", words: "TIMESTAMP '2020-01-01' + to_hours(12 * (i % 5))"},
	{name: "TIMESTAMP_S", family: "stamp", pool: aroundMidnight, many: "TIMESTAMP '2020-01-01' + to_hours(i % 60)", words: "TIMESTAMP '2020-01-01' + to_hours(12 * (i % 5))"},
}}

var (
	around54       = ints(0, 0, "18014398509481983", "18014398509481984", "18014398509481985", "18014398509481986", "18014398509481987", "18014398509481988")
	around25       = ints(0, 0, "33554431", "33554432", "33554433", "33554434", "33554435", "33554436")
	aroundMidnight = []string{"'2020-01-01'", "'2020-01-01 12:00:00'", "'2020-01-02'", "'2020-01-02 00:00:01'", "'2020-01-03'"}
)

func init() {
	for _, t := range valueTypes {
		if typesOf[t.name] == nil {
			typesOf[t.name] = t
		}
	}
}

// floats have what order and equality are special for.
func floats(name string, more ...string) []string {
	out := strings.Fields("0.0 -1.5 0.25 0.5 0.1 0.05 1.5 2.0 3.0")
	out = append(out, fmt.Sprintf("'nan'::%s", name), fmt.Sprintf("'inf'::%s", name), fmt.Sprintf("'-inf'::%s", name), fmt.Sprintf("'-0.0'::%s", name))
	return append(out, more...)
}
