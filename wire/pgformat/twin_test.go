package pgformat_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// Fast formatting against slow twins made of the standard library, on random values and on those where digits change.

var pool = memory.DefaultAllocator

func TestIntegerTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := rapid.Int64().Draw(r, "v")
		require.Equal(r, strconv.FormatInt(v, 10), string(encode(t, build(array.NewInt64Builder(pool), v), pgformat.TextFormat, nil)))
		require.Equal(r, strconv.FormatUint(uint64(v), 10), string(encode(t, build(array.NewUint64Builder(pool), uint64(v)), pgformat.TextFormat, nil)))
	})
	for power := uint64(1); power < 1e19; power *= 10 {
		for _, v := range []uint64{power - 1, power, power + 1} {
			require.Equal(t, strconv.FormatUint(v, 10), string(encode(t, build(array.NewUint64Builder(pool), v), pgformat.TextFormat, nil)))
		}
	}
}

// slowFloat is PostgreSQL's rule: the shortest digits, positional for exponents from -4 to 14 (5 in single precision).
func slowFloat(v float64, bits, digits int) string {
	scientific := strconv.FormatFloat(v, 'e', -1, bits)
	at := strings.IndexByte(scientific, 'e')
	if at < 0 {
		return strings.Replace(strings.TrimPrefix(scientific, "+"), "Inf", "Infinity", 1)
	}
	if exponent, _ := strconv.Atoi(scientific[at+1:]); v != 0 && (exponent < -4 || exponent >= digits) {
		return scientific
	}
	return strconv.FormatFloat(v, 'f', -1, bits)
}

func TestFloatTwin(t *testing.T) {
	check := func(r require.TestingT, v float64) {
		require.Equal(r, slowFloat(v, 64, 15), string(encode(t, build(array.NewFloat64Builder(pool), v), pgformat.TextFormat, nil)))
		single := float32(v)
		require.Equal(r, slowFloat(float64(single), 32, 6), string(encode(t, build(array.NewFloat32Builder(pool), single), pgformat.TextFormat, nil)))
	}
	rapid.Check(t, func(r *rapid.T) {
		check(r, math.Float64frombits(rapid.Uint64().Draw(r, "bits")))
		// Few decimals: where the fast path is taken, or narrowly missed.
		check(r, float64(rapid.Int64Range(-1e15, 1e15).Draw(r, "n"))/math.Pow10(rapid.IntRange(0, 8).Draw(r, "decimals")))
		// The neighbours of such numbers must not be taken for them.
		near := float64(rapid.Int64Range(-1e12, 1e12).Draw(r, "near")) / 1e4
		check(r, math.Nextafter(near, math.Inf(rapid.SampledFrom([]int{-1, 1}).Draw(r, "side"))))
	})
	// Beyond 15 digits four decimals are no longer what makes a number: evenly spread, since rapid prefers small ones.
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		check(t, float64(random.Int64N(2e17)-1e17)/1e4)
	}
}

func slowDecimal(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	if scale > 0 {
		digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if unscaled.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// Decimals: the text against big.Int's, and the binary form by reading it back.
func TestDecimalTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		high := rapid.Int64().Draw(r, "high") >> rapid.IntRange(0, 63).Draw(r, "shift")
		number := decimal128.New(high, rapid.Uint64().Draw(r, "low"))
		scale := rapid.IntRange(0, 38).Draw(r, "scale")
		values := build(array.NewDecimal128Builder(pool, &arrow.Decimal128Type{Precision: 38, Scale: int32(scale)}), number)
		want := slowDecimal(number.BigInt(), scale)
		require.Equal(r, want, string(encode(t, values, pgformat.TextFormat, nil)))
		back, err := pgformat.Decode(pgformat.NumericOID, pgformat.BinaryFormat, encode(t, values, pgformat.BinaryFormat, nil), nil)
		require.NoError(r, err)
		require.Equal(r, pgformat.Numeric(want), back)
	})
}

// Dates and timestamps against time.Time, over all years that it and PostgreSQL share, in zones with odd offsets.
func TestTimeTwin(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"}
	rapid.Check(t, func(r *rapid.T) {
		micros := rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999).Draw(r, "micros") // years 1 to 9999
		zone, err := pgformat.LoadZone(rapid.SampledFrom(zones).Draw(r, "zone"))
		require.NoError(r, err)
		at := time.UnixMicro(micros)
		plain := build(array.NewTimestampBuilder(pool, &arrow.TimestampType{Unit: arrow.Microsecond}), arrow.Timestamp(micros))
		require.Equal(r, at.UTC().Format("2006-01-02 15:04:05.999999"), string(encode(t, plain, pgformat.TextFormat, nil)))
		days := at.Unix() / 86400
		date := build(array.NewDate32Builder(pool), arrow.Date32(days))
		require.Equal(r, time.Unix(days*86400, 0).UTC().Format(time.DateOnly), string(encode(t, date, pgformat.TextFormat, nil)))
		if local := at.In(zone); local.Year() >= 1 && local.Year() <= 9999 {
			zoned := build(array.NewTimestampBuilder(pool, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}), arrow.Timestamp(micros))
			text := string(encode(t, zoned, pgformat.TextFormat, zone))
			require.True(r, strings.HasPrefix(text, local.Format("2006-01-02 15:04:05.999999")), text)
			back, err := pgformat.Decode(pgformat.TimestampTZ, pgformat.TextFormat, []byte(text), zone)
			require.NoError(r, err)
			require.Equal(r, pgformat.Timestamp(micros), back, text)
		}
	})
}

// One encoder prints many instants: what it remembers of the zone must not outlive the period it holds for.
func TestInstantsAcrossTransitions(t *testing.T) {
	zone, err := pgformat.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	builder := array.NewTimestampBuilder(pool, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"})
	var instants []time.Time
	for hour := range 3 * 365 * 4 { // three years in steps of six hours, then back in larger ones
		instants = append(instants, time.Unix(1_600_000_000+int64(hour)*6*3600, 0))
	}
	for hour := range 100 {
		instants = append(instants, time.Unix(1_690_000_000-int64(hour)*123*3600, 0))
	}
	for _, at := range instants {
		builder.Append(arrow.Timestamp(at.UnixMicro()))
	}
	field := arrow.Field{Name: "v", Type: builder.Type()}
	columns, err := pgformat.NewColumns([]pgformat.Type{pgformat.TypeOf(field)}, nil, zone)
	require.NoError(t, err)
	values := builder.NewArray()
	require.NoError(t, columns.Bind(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{values}, int64(values.Len()))))
	for row, at := range instants {
		require.Equal(t, at.In(zone).Format("2006-01-02 15:04:05-07"), string(columns.AppendValue(nil, 0, row)))
	}
}

// One encoder sees many dictionaries: what it remembers of one must not be taken for the next.
func TestDictionariesChange(t *testing.T) {
	data := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	field := arrow.Field{Name: "v", Type: data}
	columns, err := pgformat.NewColumns([]pgformat.Type{pgformat.TypeOf(field)}, nil, nil)
	require.NoError(t, err)
	for _, word := range []string{"first", "second", "third"} {
		values := fromJSON(t, data, strconv.Quote(word))
		require.NoError(t, columns.Bind(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{values}, 1)))
		require.Equal(t, word, string(columns.AppendValue(nil, 0, 0)))
	}
}

// PF2: rows cost no allocation, in either format.
func TestRowsAllocateNothing(t *testing.T) {
	batch := randomBatch(mixedFields(), 500)
	for _, format := range []pgformat.Format{pgformat.TextFormat, pgformat.BinaryFormat} {
		types, formats := make([]pgformat.Type, batch.NumCols()), make([]pgformat.Format, batch.NumCols())
		for i, field := range batch.Schema().Fields() {
			types[i], formats[i] = pgformat.TypeOf(field), format
		}
		columns, err := pgformat.NewColumns(types, formats, nil)
		require.NoError(t, err)
		require.NoError(t, columns.Bind(batch))
		buffer := make([]byte, 0, 1<<20)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			if _, _, err := columns.AppendDataRows(buffer, 0, 500, math.MaxInt); err != nil {
				panic(err)
			}
		}))
	}
}

// Every DataRow can be taken apart again, and has as many values as columns.
func TestFraming(t *testing.T) {
	batch := randomBatch(mixedFields(), 300)
	types := make([]pgformat.Type, batch.NumCols())
	for i, field := range batch.Schema().Fields() {
		types[i] = pgformat.TypeOf(field)
	}
	columns, err := pgformat.NewColumns(types, nil, nil)
	require.NoError(t, err)
	require.NoError(t, columns.Bind(batch))
	out, _, err := columns.AppendDataRows(nil, 0, 300, math.MaxInt)
	require.NoError(t, err)
	rows := 0
	for ; len(out) > 0; rows++ {
		require.Equal(t, byte('D'), out[0])
		size := binary.BigEndian.Uint32(out[1:])
		body := out[5 : 1+size]
		require.EqualValues(t, len(types), binary.BigEndian.Uint16(body))
		body = body[2:]
		for range types {
			length := int32(binary.BigEndian.Uint32(body))
			body = body[4+max(0, length):]
		}
		require.Empty(t, body)
		out = out[1+size:]
	}
	require.Equal(t, 300, rows)
}
