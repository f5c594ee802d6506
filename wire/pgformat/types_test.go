package pgformat_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// fromJSON makes an array of one row, sliced out of three, from arrow's JSON.
func fromJSON(t testing.TB, data arrow.DataType, row string) arrow.Array {
	t.Helper()
	all, _, err := array.FromJSON(memory.DefaultAllocator, data, strings.NewReader("["+row+","+row+","+row+"]"))
	require.NoError(t, err, "%s: %s", data, row)
	return array.NewSlice(all, 1, 2)
}

func structOf(fields ...arrow.Field) arrow.DataType { return arrow.StructOf(fields...) }

func named(name string, data arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: data, Nullable: true}
}

var (
	int64Type  = arrow.PrimitiveTypes.Int64
	stringType = arrow.BinaryTypes.String
)

// Layouts that PostgreSQL has no twin of: the type that is reported to the client, and their text. Their binary form is
// their text, too, unless given.
func TestTypesWithoutTwin(t *testing.T) {
	point := structOf(named("x", int64Type), named(`a"b`, stringType))
	for _, c := range []struct {
		data   arrow.DataType
		row    string
		oid    uint32
		text   string
		binary string // hex; empty: the text
	}{
		{point, `{"x":1,"a\"b":"q\"\n"}`, pgformat.JSON, `{"x":1,"a\"b":"q\"\n"}`, ""},
		{point, `{"x":null,"a\"b":null}`, pgformat.JSON, `{"x":null,"a\"b":null}`, ""},
		{structOf(named("d", arrow.FixedWidthTypes.Date32), named("b", arrow.FixedWidthTypes.Boolean), named("f", arrow.PrimitiveTypes.Float64)),
			`{"d":"2024-02-29","b":true,"f":1.5}`, pgformat.JSON, `{"d":"2024-02-29","b":true,"f":1.5}`, ""},
		{arrow.MapOf(stringType, int64Type), `[{"key":"a","value":1},{"key":"b","value":null}]`, pgformat.JSON, `{"a":1,"b":null}`, ""},
		{arrow.MapOf(int64Type, stringType), `[{"key":7,"value":"x"}]`, pgformat.JSON, `{"7":"x"}`, ""},
		{arrow.ListOf(point), `[{"x":1,"a\"b":"b"},null]`, pgformat.JSON, `[{"x":1,"a\"b":"b"},null]`, ""},
		{arrow.ListOf(arrow.ListOf(point)), `[[{"x":1,"a\"b":"b"}],[]]`, pgformat.JSON, `[[{"x":1,"a\"b":"b"}],[]]`, ""},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Int32), `[1,null]`, pgformat.Int4Array, `{1,NULL}`,
			"00000001000000010000001700000002000000010000000400000001ffffffff"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), `[1,2]`, pgformat.Int2Array, `{1,2}`,
			"000000010000000000000015000000020000000100000002000100000002" + "0002"},
		{arrow.ListOf(arrow.PrimitiveTypes.Uint64), `[18446744073709551615]`, pgformat.NumericArray, `{18446744073709551615}`, "-"},
		{arrow.ListOf(arrow.FixedWidthTypes.Boolean), `[true,false]`, pgformat.BoolArray, `{t,f}`, "-"},
		{arrow.PrimitiveTypes.Int8, `-5`, pgformat.Int2, `-5`, "fffb"},
		{arrow.PrimitiveTypes.Uint8, `200`, pgformat.Int2, `200`, "00c8"},
		{arrow.PrimitiveTypes.Uint16, `65535`, pgformat.Int4, `65535`, "0000ffff"},
		{arrow.PrimitiveTypes.Uint32, `4294967295`, pgformat.Int8, `4294967295`, "00000000ffffffff"},
		{arrow.FixedWidthTypes.Float16, `1.5`, pgformat.Float4, `1.5`, "3fc00000"},
		{arrow.BinaryTypes.LargeString, `"ü"`, pgformat.Text, `ü`, ""},
		{arrow.BinaryTypes.StringView, `"longer than twelve bytes"`, pgformat.Text, `longer than twelve bytes`, ""},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `"AAE="`, pgformat.Bytea, `\x0001`, "0001"},
		{extensions.NewBool8Type(), `true`, pgformat.Bool, `t`, "01"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: stringType}, `"rail"`, pgformat.Text, `rail`, ""},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: int64Type}, `7`, pgformat.Int8, `7`, "0000000000000007"},
		{arrow.ListOf(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: stringType}), `["a b",null]`, pgformat.TextArray, `{"a b",NULL}`, "-"},
		{&arrow.Time32Type{Unit: arrow.Second}, `"12:34:56"`, pgformat.Time, `12:34:56`, "0000000a8bda1c00"},
		{&arrow.Time32Type{Unit: arrow.Millisecond}, `"00:00:00.500"`, pgformat.Time, `00:00:00.5`, "000000000007a120"},
	} {
		values := fromJSON(t, c.data, c.row)
		require.Equal(t, c.oid, pgformat.TypeOf(arrow.Field{Type: c.data}).OID, c.data)
		require.Equal(t, c.text, string(encode(t, values, pgformat.TextFormat, time.UTC)), c.data)
		binary := encode(t, values, pgformat.BinaryFormat, time.UTC)
		switch c.binary {
		case "":
			require.Equal(t, c.text, string(binary), c.data)
		case "-":
			require.NotEmpty(t, binary)
		default:
			require.Equal(t, c.binary, hex.EncodeToString(binary), c.data)
		}
	}
}

// marked is a field of an Arrow extension type that the process has not registered: its name is in the metadata.
func marked(name string, data arrow.DataType, extension string) arrow.Field {
	f := named(name, data)
	f.Metadata = arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{extension})
	return f
}

// What a field is marked as holds at every depth: DuckDB's UUID and JSON come as marked bytes and texts.
func TestMarkedFields(t *testing.T) {
	id := marked("u", &arrow.FixedSizeBinaryType{ByteWidth: 16}, "arrow.uuid")
	doc := marked("j", stringType, "arrow.json")
	key := marked("key", id.Type, "arrow.uuid")
	key.Nullable = false
	const row, uuid = `"Ej5FZ+ibEtOkVkJmFBdAAA=="`, "123e4567-e89b-12d3-a456-426614174000"
	for _, c := range []struct {
		field arrow.Field
		row   string
		oid   uint32
		text  string
	}{
		{id, row, pgformat.UUIDOID, uuid},
		{doc, `"{\"a\":1}"`, pgformat.JSON, `{"a":1}`},
		{named("l", arrow.ListOfField(id)), `[` + row + `,null]`, pgformat.UUIDArray, `{` + uuid + `,NULL}`},
		{named("l", arrow.ListOfField(named("l", arrow.ListOfField(id)))), `[[` + row + `]]`, pgformat.UUIDArray, `{{` + uuid + `}}`},
		{named("l", arrow.ListOfField(doc)), `["{\"a\":1}"]`, pgformat.JSONArray, `{"{\"a\":1}"}`},
		{named("s", arrow.StructOf(id, doc)), `{"u":` + row + `,"j":"[1]"}`, pgformat.JSON, `{"u":"` + uuid + `","j":[1]}`},
		{named("s", arrow.StructOf(named("l", arrow.ListOfField(id)))), `{"l":[` + row + `]}`, pgformat.JSON, `{"l":["` + uuid + `"]}`},
		{named("m", arrow.MapOfFields(key, marked("value", stringType, "arrow.json"))),
			`[{"key":` + row + `,"value":"null"}]`, pgformat.JSON, `{"` + uuid + `":null}`},
	} {
		values := fromJSON(t, c.field.Type, c.row)
		require.Equal(t, c.oid, pgformat.TypeOf(c.field).OID, c.text)
		columns, err := pgformat.NewColumns([]pgformat.Type{pgformat.TypeOf(c.field)}, nil, nil)
		require.NoError(t, err)
		require.NoError(t, columns.Bind(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{c.field}, nil), []arrow.Array{values}, 1)))
		require.Equal(t, c.text, string(columns.AppendValue(nil, 0, 0)))
	}
}

// The fields of row(1, 2) have no names: as one JSON object they would be one.
func TestFieldsWithoutNames(t *testing.T) {
	number, _, err := array.FromJSON(memory.DefaultAllocator, int64Type, strings.NewReader(`[1]`))
	require.NoError(t, err)
	row, err := array.NewStructArrayWithFields([]arrow.Array{number, number}, []arrow.Field{named("", int64Type), named("", int64Type)})
	require.NoError(t, err)
	columns := columnsOf(t, row, pgformat.TextFormat)
	require.Equal(t, `{"f1":1,"f2":1}`, string(columns.AppendValue(nil, 0, 0)))
}

// Nulls are found wherever a layout keeps them: bitmap, dictionary, union child, run, or nowhere.
func TestNulls(t *testing.T) {
	pool := memory.DefaultAllocator
	dictionary := func() arrow.Array { // the null is in the dictionary, not in the indices
		values, _, err := array.FromJSON(pool, stringType, strings.NewReader(`["a",null]`))
		require.NoError(t, err)
		indices, _, err := array.FromJSON(pool, arrow.PrimitiveTypes.Uint8, strings.NewReader(`[0,1,0]`))
		require.NoError(t, err)
		return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: stringType}, indices, values)
	}
	runs := func() arrow.Array {
		values, _, err := array.FromJSON(pool, stringType, strings.NewReader(`["a",null,"a"]`))
		require.NoError(t, err)
		ends, _, err := array.FromJSON(pool, arrow.PrimitiveTypes.Int32, strings.NewReader(`[1,2,3]`))
		require.NoError(t, err)
		return array.NewRunEndEncodedArray(ends, values, 3, 0)
	}
	for name, values := range map[string]arrow.Array{"dictionary": dictionary(), "run end": runs()} {
		columns := columnsOf(t, values, pgformat.TextFormat)
		require.False(t, columns.Null(0, 0), name)
		require.True(t, columns.Null(0, 1), name)
		require.Equal(t, "a", string(columns.AppendValue(nil, 0, 2)), name)
	}
	columns := columnsOf(t, array.NewNull(2), pgformat.BinaryFormat)
	out, _, err := columns.AppendDataRows(nil, 0, 1, math.MaxInt)
	require.NoError(t, err)
	require.Equal(t, "D\x00\x00\x00\x0a\x00\x01\xff\xff\xff\xff", string(out))
}

func columnsOf(t testing.TB, values arrow.Array, format pgformat.Format) *pgformat.Columns {
	field := arrow.Field{Name: "v", Type: values.DataType(), Nullable: true}
	columns, err := pgformat.NewColumns([]pgformat.Type{pgformat.TypeOf(field)}, []pgformat.Format{format}, nil)
	require.NoError(t, err)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{values}, int64(values.Len()))
	require.NoError(t, columns.Bind(batch))
	return columns
}

// Unions show the value of the chosen child.
func TestUnion(t *testing.T) {
	kinds, _, err := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int8, strings.NewReader(`[0,1,1]`))
	require.NoError(t, err)
	numbers, _, err := array.FromJSON(memory.DefaultAllocator, int64Type, strings.NewReader(`[7,null,null]`))
	require.NoError(t, err)
	words, _, err := array.FromJSON(memory.DefaultAllocator, stringType, strings.NewReader(`[null,"x",null]`))
	require.NoError(t, err)
	union, err := array.NewSparseUnionFromArrays(kinds, []arrow.Array{numbers, words})
	require.NoError(t, err)
	columns := columnsOf(t, union, pgformat.TextFormat)
	require.Equal(t, "7", string(columns.AppendValue(nil, 0, 0)))
	require.Equal(t, `"x"`, string(columns.AppendValue(nil, 0, 1)))
	require.True(t, columns.Null(0, 2))
}

// A ragged array has a text, but no binary form: that is an error and not wrong data, and the rows before it stand.
func TestRaggedArray(t *testing.T) {
	nested := arrow.ListOf(arrow.ListOf(int64Type))
	for row, text := range map[string]string{`[[1,2],[3]]`: `{{1,2},{3}}`, `[[1],null]`: `{{1},NULL}`, `[[],[1]]`: `{{},{1}}`} {
		require.Equal(t, text, string(encode(t, fromJSON(t, nested, row), pgformat.TextFormat, nil)))
		columns := columnsOf(t, fromJSON(t, nested, row), pgformat.BinaryFormat)
		out, next, err := columns.AppendDataRows([]byte("before"), 0, 1, math.MaxInt)
		var state *pgformat.ValueError
		require.ErrorAs(t, err, &state)
		require.Equal(t, "2202E", state.SQLState())
		require.Equal(t, "before", string(out))
		require.Zero(t, next)
		require.NoError(t, columns.Failure(), "reported once")
	}
	require.Equal(t, "000000000000000000000014", hex.EncodeToString(encode(t, fromJSON(t, nested, `[[],[]]`), pgformat.BinaryFormat, nil)))
}

// Points in time that PostgreSQL cannot hold are errors.
func TestTimeOutOfRange(t *testing.T) {
	seconds := build(array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Second}), arrow.Timestamp(math.MaxInt64-1))
	clock := build(array.NewTime64Builder(memory.DefaultAllocator, &arrow.Time64Type{Unit: arrow.Microsecond}), arrow.Time64(-1))
	for _, values := range []arrow.Array{seconds, clock} {
		_, _, err := columnsOf(t, values, pgformat.TextFormat).AppendDataRows(nil, 0, 1, math.MaxInt)
		var state *pgformat.ValueError
		require.ErrorAs(t, err, &state)
		require.Equal(t, "22008", state.SQLState())
	}
}

// What the schema promised decides the form, whatever the layout: dictionary or view instead of plain strings, narrow
// integers instead of wide ones; and what cannot be is an error of the program.
func TestPromisedType(t *testing.T) {
	for _, c := range []struct {
		oid    uint32
		values arrow.Array
		binary string
	}{
		{pgformat.Int8, fromJSON(t, arrow.PrimitiveTypes.Int16, `5`), "0000000000000005"},
		{pgformat.NumericOID, fromJSON(t, int64Type, `5`), "00010000000000000005"},
		{pgformat.OID, fromJSON(t, int64Type, `4294967295`), "ffffffff"},
		{pgformat.Varchar, fromJSON(t, arrow.BinaryTypes.StringView, `"v"`), "76"},
		{pgformat.JSONB, fromJSON(t, stringType, `"{}"`), "017b7d"},
		{pgformat.UUIDOID, fromJSON(t, stringType, `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`), "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
	} {
		columns, err := pgformat.NewColumns([]pgformat.Type{{OID: c.oid}}, []pgformat.Format{pgformat.BinaryFormat}, nil)
		require.NoError(t, err)
		schema := arrow.NewSchema([]arrow.Field{named("v", c.values.DataType())}, nil)
		require.NoError(t, columns.Bind(array.NewRecordBatch(schema, []arrow.Array{c.values}, 1)))
		require.Equal(t, c.binary, hex.EncodeToString(columns.AppendValue(nil, 0, 0)))
	}
	columns, err := pgformat.NewColumns([]pgformat.Type{{OID: pgformat.DateOID}}, []pgformat.Format{pgformat.BinaryFormat}, nil)
	require.NoError(t, err)
	values := fromJSON(t, stringType, `"x"`)
	schema := arrow.NewSchema([]arrow.Field{named("v", stringType)}, nil)
	require.ErrorContains(t, columns.Bind(array.NewRecordBatch(schema, []arrow.Array{values}, 1)), "cannot send Arrow utf8")
}

// Metadata overrides what a column is shown as.
func TestMetadata(t *testing.T) {
	field := arrow.Field{Type: stringType, Metadata: arrow.MetadataFrom(map[string]string{
		pgformat.MetadataOID: "1043", pgformat.MetadataTypmod: "24", pgformat.MetadataTableOID: "16384", pgformat.MetadataTableColumn: "3",
	})}
	require.Equal(t, pgformat.Type{OID: pgformat.Varchar, Typmod: 24}, pgformat.TypeOf(field))
	table, column := pgformat.OriginOf(field)
	require.EqualValues(t, 16384, table)
	require.EqualValues(t, 3, column)
	require.Equal(t, pgformat.Type{OID: pgformat.NumericOID, Typmod: 15<<16 + 2 + 4}, pgformat.TypeOf(arrow.Field{Type: &arrow.Decimal64Type{Precision: 15, Scale: 2}}))
}

// A limit stops after the row with which it is reached, and the next call goes on with the next row.
func TestLimit(t *testing.T) {
	columns := columnsOf(t, randomBatch(mixedFields()[:1], 100).Column(0), pgformat.TextFormat)
	var whole, pieces []byte
	whole, _, err := columns.AppendDataRows(nil, 0, 100, math.MaxInt)
	require.NoError(t, err)
	for row := 0; row < 100; {
		var piece []byte
		from := row
		piece, row, err = columns.AppendDataRows(nil, row, 100, 1)
		require.NoError(t, err)
		require.Equal(t, from+1, row)
		pieces = append(pieces, piece...)
	}
	require.Equal(t, whole, pieces)
}

// Zones by name, by offset and by POSIX offset, whose sign is the other way round.
func TestLoadZone(t *testing.T) {
	for name, east := range map[string]int{"UTC": 0, "Asia/Tokyo": 9 * 3600, "+05:30": 19800, "-3": -3 * 3600, "UTC+3": -3 * 3600, "'GMT-2'": 7200, "5.5": 19800} {
		zone, err := pgformat.LoadZone(name)
		require.NoError(t, err, name)
		_, seconds := time.Unix(1e9, 0).In(zone).Zone()
		require.Equal(t, east, seconds, name)
	}
	for _, name := range []string{"", "Local", "Mars/Olympus", "../../etc/passwd", "+99999999999", "UTC+x", "+1:99"} {
		_, err := pgformat.LoadZone(name)
		require.Error(t, err, name)
	}
}

// Bad parameters say what is wrong, in PostgreSQL's classes.
func TestBadParameters(t *testing.T) {
	for _, c := range []struct {
		oid         uint32
		text, state string
	}{
		{pgformat.Int2, "70000", "22003"}, {pgformat.Int4, "1.5", "22P02"}, {pgformat.Int8, "", "22P02"}, {pgformat.Bool, "o", "22P02"},
		{pgformat.Float8, "0x1p4", "22P02"}, {pgformat.Float8, "1e999", "22003"}, {pgformat.NumericOID, "1e", "22P02"},
		{pgformat.NumericOID, "-+1", "22P02"}, {pgformat.NumericOID, "1e999999", "22003"}, {pgformat.Bytea, `\x0`, "22P02"},
		{pgformat.Bytea, `\9`, "22P02"}, {pgformat.UUIDOID, "a0", "22P02"}, {pgformat.Text, "a\x00b", "22021"}, {pgformat.Text, "\xc3", "22021"},
		{pgformat.Int4Array, "{1", "22P02"}, {pgformat.Int4Array, "{1}}", "22P02"}, {pgformat.Int4Array, "{{1},{2,3}}", "22P02"},
		{pgformat.Int4Array, "{1,{2}}", "22P02"}, {pgformat.Int4Array, "{,}", "22P02"},
	} {
		_, err := pgformat.Decode(c.oid, pgformat.TextFormat, []byte(c.text), time.UTC)
		var state *pgformat.ValueError
		require.ErrorAs(t, err, &state, c.text)
		require.Equal(t, c.state, state.SQLState(), c.text)
	}
	_, err := pgformat.Decode(603, pgformat.BinaryFormat, []byte("box"), nil)
	require.ErrorContains(t, err, "not supported in binary")
}

// encodeBinary is the error of sending one value in binary.
func encodeBinary(t *testing.T, values arrow.Array) error {
	field := arrow.Field{Name: "v", Type: values.DataType(), Nullable: true}
	columns, err := pgformat.NewColumns([]pgformat.Type{pgformat.TypeOf(field)}, []pgformat.Format{pgformat.BinaryFormat}, nil)
	require.NoError(t, err)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{values}, int64(values.Len()))
	defer batch.Release()
	require.NoError(t, columns.Bind(batch))
	_, _, err = columns.AppendDataRows(nil, 0, 1, math.MaxInt)
	return err
}

// A timestamp of DuckDB's with nanoseconds shows them, or is refused where the format has no place for them.
func TestNanosecondsAreShownOrRefused(t *testing.T) {
	b := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Nanosecond})
	defer b.Release()
	b.AppendValues([]arrow.Timestamp{1709210096123456789, -1, 1709210096123456000, 1709210096000000100, math.MaxInt64}, nil)
	values := b.NewArray()
	defer values.Release()
	for row, want := range []string{"2024-02-29 12:34:56.123456789", "1969-12-31 23:59:59.999999999", "2024-02-29 12:34:56.123456", "2024-02-29 12:34:56.0000001", "infinity"} {
		one := array.NewSlice(values, int64(row), int64(row)+1)
		require.Equal(t, want, string(encode(t, one, pgformat.TextFormat, nil)))
		err := encodeBinary(t, one)
		if row == 2 || row == 4 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "nanoseconds")
		}
		one.Release()
	}
}

// So does a time of day.
func TestNanosecondsOfTheDay(t *testing.T) {
	b := array.NewTime64Builder(memory.DefaultAllocator, &arrow.Time64Type{Unit: arrow.Nanosecond})
	defer b.Release()
	b.AppendValues([]arrow.Time64{45296123456789, 86399999999999, 45296123456000, 100, 86400000000000}, nil)
	values := b.NewArray()
	defer values.Release()
	for row, want := range []string{"12:34:56.123456789", "23:59:59.999999999", "12:34:56.123456", "00:00:00.0000001", "24:00:00"} {
		one := array.NewSlice(values, int64(row), int64(row)+1)
		require.Equal(t, want, string(encode(t, one, pgformat.TextFormat, nil)))
		err := encodeBinary(t, one)
		if row == 2 || row == 4 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "nanoseconds")
		}
		one.Release()
	}
}

// Timestamps without an offset are meant in the session's zone; what is not ISO is left to the database.
func TestTemporalParameters(t *testing.T) {
	berlin, err := pgformat.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	for text, want := range map[string]any{
		"2024-02-29 12:00:00": pgformat.Timestamp(1709204400000000), "2024-02-29T12:00:00Z": pgformat.Timestamp(1709208000000000),
		"2024-02-29": pgformat.Timestamp(1709161200000000), "2024-02-29 12:00+0530": pgformat.Timestamp(1709188200000000),
		"infinity": pgformat.TimestampInfinity, "yesterday": "yesterday", "2023-02-29": "2023-02-29", "0044-03-15 00:00:00 BC": "0044-03-15 00:00:00 BC",
		"0044-03-15 00:00:00Z BC": pgformat.Timestamp(-63517824000000000), "0001-12-31 23:59:59.5+01 BC": pgformat.Timestamp(-62135600400500000),
	} {
		got, err := pgformat.Decode(pgformat.TimestampTZ, pgformat.TextFormat, []byte(text), berlin)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

// Text that is no array, or no date of ours, is not taken for another one.
func TestTextThatIsTakenForNoOther(t *testing.T) {
	_, err := pgformat.Decode(pgformat.Int4Array, pgformat.TextFormat, []byte("{{},NULL}"), time.UTC)
	require.Error(t, err)
	value, err := pgformat.Decode(pgformat.DateOID, pgformat.TextFormat, []byte("5877642-06-25 BC"), time.UTC)
	require.NoError(t, err)
	require.Equal(t, "5877642-06-25 BC", value)
}
