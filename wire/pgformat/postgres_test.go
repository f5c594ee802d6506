package pgformat_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// postgresCase is a line of testdata/postgres15.txt: a value and what PostgreSQL 15 printed for it.
type postgresCase struct {
	kind, argument, text string
	binary               []byte
}

func postgresCases(t testing.TB) (cases []postgresCase) {
	file, err := os.Open("testdata/postgres15.txt")
	require.NoError(t, err)
	defer file.Close()
	unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "|")
		require.Len(t, fields, 4, lines.Text())
		bytes, err := hex.DecodeString(fields[3])
		require.NoError(t, err)
		cases = append(cases, postgresCase{fields[0], fields[1], unescape.Replace(fields[2]), bytes})
	}
	require.Greater(t, len(cases), 1000)
	return cases
}

func mustInt(t testing.TB, text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return number
}

func mustBig(t testing.TB, text string) *big.Int {
	number, ok := new(big.Int).SetString(text, 10)
	require.True(t, ok, text)
	return number
}

// arrays makes the arrays of one value that stand for a case: several layouts may.
func (c postgresCase) arrays(t testing.TB) []arrow.Array {
	kind, zone, _ := strings.Cut(c.kind, ":")
	pool := memory.DefaultAllocator
	if element, ok := strings.CutSuffix(kind, "[]"); ok {
		return []arrow.Array{jsonArray(t, element, c.argument)}
	}
	switch kind {
	case "int2":
		return []arrow.Array{build(array.NewInt16Builder(pool), int16(mustInt(t, c.argument)))}
	case "int4":
		return []arrow.Array{build(array.NewInt32Builder(pool), int32(mustInt(t, c.argument)))}
	case "int8":
		return []arrow.Array{build(array.NewInt64Builder(pool), mustInt(t, c.argument))}
	case "uint64":
		number, err := strconv.ParseUint(c.argument, 10, 64)
		require.NoError(t, err)
		return []arrow.Array{build(array.NewUint64Builder(pool), number)}
	case "float8", "float4":
		bits, err := strconv.ParseUint(c.argument, 16, 64)
		require.NoError(t, err)
		if kind == "float4" {
			return []arrow.Array{build(array.NewFloat32Builder(pool), math.Float32frombits(uint32(bits)))}
		}
		return []arrow.Array{build(array.NewFloat64Builder(pool), math.Float64frombits(bits))}
	case "decimal128", "decimal256":
		return decimalArrays(t, kind, c.argument)
	case "date":
		return dateArrays(mustInt(t, c.argument))
	case "timestamp", "timestamptz":
		return timestampArrays(mustInt(t, c.argument), kind, zone)
	case "time":
		micros := mustInt(t, c.argument)
		return []arrow.Array{
			build(array.NewTime64Builder(pool, &arrow.Time64Type{Unit: arrow.Microsecond}), arrow.Time64(micros)),
			build(array.NewTime64Builder(pool, &arrow.Time64Type{Unit: arrow.Nanosecond}), arrow.Time64(micros*1000)),
		}
	case "interval":
		return intervalArrays(t, c.argument)
	case "bool":
		return []arrow.Array{build(array.NewBooleanBuilder(pool), c.argument == "true")}
	case "bytea":
		bytes, err := hex.DecodeString(c.argument)
		require.NoError(t, err)
		return []arrow.Array{
			build(array.NewBinaryBuilder(pool, arrow.BinaryTypes.Binary), bytes),
			build(array.NewBinaryBuilder(pool, arrow.BinaryTypes.LargeBinary), bytes),
			build(array.NewBinaryViewBuilder(pool), bytes),
		}
	case "uuid":
		bytes, err := hex.DecodeString(c.argument)
		require.NoError(t, err)
		stored := build(array.NewFixedSizeBinaryBuilder(pool, &arrow.FixedSizeBinaryType{ByteWidth: 16}), bytes)
		return []arrow.Array{array.NewExtensionArrayWithStorage(extensions.NewUUIDType(), stored)}
	}
	t.Fatalf("unknown kind %q", kind)
	return nil
}

// build makes an array of [null, value, value sliced away] and slices it to the value: offsets are part of every case.
func build[T any, B interface {
	array.Builder
	Append(T)
}](builder B, value T) arrow.Array {
	defer builder.Release()
	builder.AppendNull()
	builder.Append(value)
	builder.Append(value)
	return array.NewSlice(builder.NewArray(), 1, 2)
}

func decimalArrays(t testing.TB, kind, argument string) (arrays []arrow.Array) {
	digits, scaleText, _ := strings.Cut(argument, ",")
	number, scale := mustBig(t, digits), int32(mustInt(t, scaleText))
	pool := memory.DefaultAllocator
	if number.IsInt64() && scale >= 0 {
		arrays = append(arrays, build(array.NewDecimal64Builder(pool, &arrow.Decimal64Type{Precision: 18, Scale: scale}), decimal.Decimal64(number.Int64())))
	}
	if number.IsInt64() && number.Int64() == int64(int32(number.Int64())) && scale >= 0 {
		arrays = append(arrays, build(array.NewDecimal32Builder(pool, &arrow.Decimal32Type{Precision: 9, Scale: scale}), decimal.Decimal32(number.Int64())))
	}
	if lowest := new(big.Int).Lsh(big.NewInt(-1), 127); number.Cmp(lowest) == 0 {
		arrays = append(arrays, build(array.NewDecimal128Builder(pool, &arrow.Decimal128Type{Precision: 38, Scale: scale}), decimal128.New(math.MinInt64, 0)))
	} else if kind == "decimal128" {
		arrays = append(arrays, build(array.NewDecimal128Builder(pool, &arrow.Decimal128Type{Precision: 38, Scale: scale}), decimal128.FromBigInt(number)))
	}
	if lowest := new(big.Int).Lsh(big.NewInt(-1), 255); number.Cmp(lowest) == 0 {
		return append(arrays, build(array.NewDecimal256Builder(pool, &arrow.Decimal256Type{Precision: 76, Scale: scale}), decimal256.New(1<<63, 0, 0, 0)))
	}
	return append(arrays, build(array.NewDecimal256Builder(pool, &arrow.Decimal256Type{Precision: 76, Scale: scale}), decimal256.FromBigInt(number)))
}

func dateArrays(days int64) (arrays []arrow.Array) {
	arrays = append(arrays, build(array.NewDate32Builder(memory.DefaultAllocator), arrow.Date32(days)))
	if days == math.MinInt32 { // DuckDB's negative infinity
		arrays = append(arrays, build(array.NewDate32Builder(memory.DefaultAllocator), arrow.Date32(days+1)))
	}
	if days > math.MinInt32 && days < math.MaxInt32 {
		arrays = append(arrays, build(array.NewDate64Builder(memory.DefaultAllocator), arrow.Date64(days*86_400_000)))
	}
	return arrays
}

func timestampArrays(micros int64, kind, zone string) (arrays []arrow.Array) {
	add := func(unit arrow.TimeUnit, value int64) {
		data := &arrow.TimestampType{Unit: unit}
		if kind == "timestamptz" {
			data.TimeZone = "UTC"
		}
		arrays = append(arrays, build(array.NewTimestampBuilder(memory.DefaultAllocator, data), arrow.Timestamp(value)))
	}
	add(arrow.Microsecond, micros)
	switch infinite := micros == math.MaxInt64 || micros == math.MinInt64; {
	case infinite:
		add(arrow.Nanosecond, micros)
		add(arrow.Second, micros)
		if micros < 0 {
			add(arrow.Microsecond, micros+1) // DuckDB's
		}
	case micros%1_000_000 == 0:
		add(arrow.Second, micros/1_000_000)
		add(arrow.Millisecond, micros/1_000)
	case micros < math.MaxInt64/1000 && micros > math.MinInt64/1000:
		add(arrow.Nanosecond, micros*1000)
	}
	return arrays
}

func intervalArrays(t testing.TB, argument string) (arrays []arrow.Array) {
	parts := strings.Split(argument, ",")
	months, days, micros := mustInt(t, parts[0]), mustInt(t, parts[1]), mustInt(t, parts[2])
	pool := memory.DefaultAllocator
	if micros < math.MaxInt64/1000 && micros > math.MinInt64/1000 {
		arrays = append(arrays, build(array.NewMonthDayNanoIntervalBuilder(pool),
			arrow.MonthDayNanoInterval{Months: int32(months), Days: int32(days), Nanoseconds: micros * 1000}))
	}
	if days == 0 && micros == 0 {
		arrays = append(arrays, build(array.NewMonthIntervalBuilder(pool), arrow.MonthInterval(months)))
	}
	if millis := micros / 1000; months == 0 && millis*1000 == micros && millis == int64(int32(millis)) {
		arrays = append(arrays, build(array.NewDayTimeIntervalBuilder(pool), arrow.DayTimeInterval{Days: int32(days), Milliseconds: int32(millis)}))
	}
	if months == 0 && days == 0 {
		arrays = append(arrays, build(array.NewDurationBuilder(pool, &arrow.DurationType{Unit: arrow.Microsecond}), arrow.Duration(micros)))
	}
	return arrays
}

// jsonArray makes a list array from JSON, lists nested as deep as its brackets are.
func jsonArray(t testing.TB, element, text string) arrow.Array {
	var list []any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&list))
	data := map[string]arrow.DataType{
		"int8": arrow.PrimitiveTypes.Int64, "text": arrow.BinaryTypes.String, "float8": arrow.PrimitiveTypes.Float64,
		"date": arrow.FixedWidthTypes.Date32, "timestamp": &arrow.TimestampType{Unit: arrow.Microsecond},
	}[element]
	require.NotNil(t, data)
	depth := strings.IndexFunc(text, func(r rune) bool { return r != '[' })
	if text == "[]" {
		depth = 1
	}
	for range depth {
		data = arrow.ListOf(data)
	}
	builder := array.NewBuilder(memory.DefaultAllocator, data)
	defer builder.Release()
	for range 2 { // a row in front, so that offsets are not zero
		appendJSON(t, builder, list)
	}
	return array.NewSlice(builder.NewArray(), 1, 2)
}

func appendJSON(t testing.TB, builder array.Builder, value any) {
	if value == nil {
		builder.AppendNull()
		return
	}
	if list, ok := builder.(*array.ListBuilder); ok {
		list.Append(true)
		for _, item := range value.([]any) {
			appendJSON(t, list.ValueBuilder(), item)
		}
		return
	}
	text := fmt.Sprint(value)
	switch builder := builder.(type) {
	case *array.Date32Builder:
		builder.Append(arrow.Date32(mustInt(t, text)))
	case *array.TimestampBuilder:
		builder.Append(arrow.Timestamp(mustInt(t, text)))
	default:
		require.NoError(t, builder.AppendValueFromString(text))
	}
}

// encode runs one value through Columns and returns its bytes in a DataRow.
func encode(t testing.TB, values arrow.Array, format pgformat.Format, zone *time.Location) []byte {
	field := arrow.Field{Name: "v", Type: values.DataType(), Nullable: true}
	columns, err := pgformat.NewColumns([]pgformat.Type{pgformat.TypeOf(field)}, []pgformat.Format{format}, zone)
	require.NoError(t, err)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{values}, int64(values.Len()))
	require.NoError(t, columns.Bind(batch))
	out, next, err := columns.AppendDataRows(nil, 0, 1, math.MaxInt)
	require.NoError(t, err)
	require.Equal(t, 1, next)
	require.Equal(t, byte('D'), out[0])
	require.Equal(t, len(out)-11, int(uint32(out[7])<<24|uint32(out[8])<<16|uint32(out[9])<<8|uint32(out[10])))
	return out[11:]
}

func (c postgresCase) zone(t testing.TB) *time.Location {
	_, name, _ := strings.Cut(c.kind, ":")
	if name == "" {
		return time.UTC
	}
	zone, err := pgformat.LoadZone(name)
	require.NoError(t, err)
	return zone
}

// Every value leaves in the bytes in which PostgreSQL sends it (PF4).
func TestEncodesAsPostgreSQLDoes(t *testing.T) {
	for _, c := range postgresCases(t) {
		for _, values := range c.arrays(t) {
			name := fmt.Sprintf("%s %s as %s", c.kind, c.argument, values.DataType())
			require.Equal(t, c.text, string(encode(t, values, pgformat.TextFormat, c.zone(t))), name)
			require.Equal(t, hex.EncodeToString(c.binary), hex.EncodeToString(encode(t, values, pgformat.BinaryFormat, c.zone(t))), name)
		}
	}
}

func (c postgresCase) oid(t testing.TB) uint32 {
	kind, _, _ := strings.Cut(c.kind, ":")
	oid, ok := map[string]uint32{
		"int2": pgformat.Int2, "int4": pgformat.Int4, "int8": pgformat.Int8, "uint64": pgformat.NumericOID,
		"decimal128": pgformat.NumericOID, "decimal256": pgformat.NumericOID, "float4": pgformat.Float4, "float8": pgformat.Float8,
		"date": pgformat.DateOID, "time": pgformat.Time, "timestamp": pgformat.TimestampNT, "timestamptz": pgformat.TimestampTZ,
		"interval": pgformat.IntervalOID, "bool": pgformat.Bool, "bytea": pgformat.Bytea, "uuid": pgformat.UUIDOID,
		"int8[]": pgformat.Int8Array, "text[]": pgformat.TextArray, "float8[]": pgformat.Float8Array,
		"date[]": pgformat.DateArray, "timestamp[]": pgformat.TimestampArray,
	}[kind]
	require.True(t, ok, kind)
	return oid
}

// A parameter means the same in both formats (PF5), and what PostgreSQL printed is understood.
func TestDecodesWhatPostgreSQLPrinted(t *testing.T) {
	for _, c := range postgresCases(t) {
		oid := c.oid(t)
		name := fmt.Sprintf("%s %s", c.kind, c.argument)
		fromBinary, err := pgformat.Decode(oid, pgformat.BinaryFormat, c.binary, c.zone(t))
		require.NoError(t, err, name)
		fromText, err := pgformat.Decode(oid, pgformat.TextFormat, []byte(c.text), c.zone(t))
		require.NoError(t, err, name)
		if _, left := fromText.(string); left {
			require.True(t, oid == pgformat.IntervalOID || oid == pgformat.TimestampTZ && strings.HasSuffix(c.text, "BC"), name)
			continue
		}
		if number, ok := fromText.(float64); ok && math.IsNaN(number) {
			require.True(t, math.IsNaN(fromBinary.(float64)), name)
			continue
		}
		if list, ok := fromText.([]any); ok && len(list) > 0 && strings.Contains(c.text, "BC") {
			continue
		}
		require.Equal(t, fromText, fromBinary, name)
	}
}
