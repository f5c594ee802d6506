package textblock

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// types are those of which some texts are plain, with texts that are, or look as if they were.
var types = []struct {
	name   string
	kind   arrow.DataType
	pieces []string // what texts are put together of
}{
	{"TINYINT", arrow.PrimitiveTypes.Int8, []string{"-", "1", "2", "7", "8", "0", " ", "e", "."}},
	{"SMALLINT", arrow.PrimitiveTypes.Int16, []string{"-", "32", "7", "6", "8", "0", "+"}},
	{"INTEGER", arrow.PrimitiveTypes.Int32, []string{"-", "2147", "4836", "47", "48", "0", "_"}},
	{"BIGINT", arrow.PrimitiveTypes.Int64, []string{"-", "92233720368", "5477", "5807", "5808", "0", "1"}},
	{"FLOAT", arrow.PrimitiveTypes.Float32, []string{"-", "1", ".", "0000", "33333", "9999999", "16777217", "e", "E+", "5", "38", "-45", "308"}},
	{"DOUBLE", arrow.PrimitiveTypes.Float64, []string{"-", "1", ".", "0000", "33333", "9999999", "16777217", "e", "E+", "5", "38", "-45", "308"}},
	{"DECIMAL(5,2)", &arrow.Decimal64Type{Precision: 5, Scale: 2}, []string{"-", "0", "1", "99", "999", ".", "00", "5", "e", " "}},
	{"DECIMAL(2,2)", &arrow.Decimal64Type{Precision: 2, Scale: 2}, []string{"-", "0.1", "0.05", "0", "5", "."}},
	{"DECIMAL(18,0)", &arrow.Decimal64Type{Precision: 18}, []string{"-", "0", "123456789", ".", "9"}},
	{"DECIMAL(30,4)", &arrow.Decimal128Type{Precision: 30, Scale: 4}, []string{"-", "0", "12345678", ".", "9", "00"}},
	{"DATE", arrow.FixedWidthTypes.Date32, []string{"2024", "-", "02", "29", "1900", "0000", "0001", "12", "31", "1", "9999"}},
	{"TIMESTAMP", &arrow.TimestampType{Unit: arrow.Microsecond}, []string{
		"2024-02-29", "1969-12-31", " ", " ", ":", "23", "59", "60", "00", ".", "123", "4567", "+01", "23:59:59", "00:00:00"}},
	{"TIMESTAMPTZ", arrow.FixedWidthTypes.Timestamp_us, []string{
		"2024-02-29", "1969-12-31", " ", " ", ":", "23", "00", ".", "123", "+01", "-05:30", "+00", "-14", "+15", ":60", "23:59:59", "00:00:00"}},
	{"BOOLEAN", arrow.FixedWidthTypes.Boolean, []string{"t", "rue", "f", "alse", "T", "1", "yes"}},
	{"VARCHAR", arrow.BinaryTypes.String, []string{"a", "ü", " ", "", "NULL", "\x00"}},
}

// of has cells of texts, with a column before and behind.
func of(texts []*string) *cells {
	c := &cells{text: []byte{}, stride: 6, rows: len(texts)}
	for _, text := range texts {
		from, to := int32(len(c.text)), int32(-1)
		if text == nil {
			from = -1
		} else {
			c.text = append(c.text, *text...)
			to = int32(len(c.text))
		}
		c.fields = append(c.fields, from, to, 0, 0, -1, -1)
	}
	return c
}

// TB2: what is plain has the value that DuckDB's cast gives, and only what DuckDB takes is plain.
func TestPlainTextsAreWhatDuckDBReads(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{PostgresText: true})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Connect(nil)
	require.NoError(t, err)
	defer conn.Close()
	plain := map[string]int{}
	for _, of := range types {
		t.Run(of.name, func(t *testing.T) {
			texts := map[string]bool{}
			for _, text := range of.pieces {
				texts[text] = true
			}
			rapid.Check(t, func(t *rapid.T) {
				texts[strings.Join(rapid.SliceOfN(rapid.SampledFrom(of.pieces), 0, 8).Draw(t, "text"), "")] = true
			})
			if of.name == "DATE" || strings.HasPrefix(of.name, "TIMESTAMP") {
				for year := 1; year < 10000; year += 7 {
					text := fmt.Sprintf("%04d-%02d-%02d", year, 1+year%13, 1+year%32)
					if of.name != "DATE" {
						text += fmt.Sprintf(" %02d:%02d:%02d.%0*d", year%25, year%61, (year/2)%61, 1+year%6, year%10)
					}
					if of.name == "TIMESTAMPTZ" {
						text += fmt.Sprintf("%c%02d", "+-"[year%2], year%16)
						if year%3 == 0 {
							text += fmt.Sprintf(":%02d", year%61)
						}
					}
					texts[text] = true
				}
			}
			if of.name == "DOUBLE" || of.name == "FLOAT" {
				r := rand.New(rand.NewPCG(5, 6))
				for range 20_000 {
					text := strconv.FormatFloat(r.NormFloat64()*math.Pow(10, float64(r.IntN(30)-15)), "gfe"[r.IntN(3)], r.IntN(20)-1, 64)
					texts[text] = true
				}
			}
			plain[of.name] = comparePlain(t, conn, of.name, of.kind, texts)
		})
	}
	for name, n := range plain {
		require.Greater(t, n, 1, "hardly any text of type %s is plain", name)
	}
}

// comparePlain has DuckDB cast the texts that are plain, and says how many those are.
func comparePlain(t *testing.T, conn *duckdb.Connection, name string, kind arrow.DataType, texts map[string]bool) int {
	f := arrow.Field{Name: "c", Type: kind}
	convert := converterOf(f)
	require.NotNil(t, convert)
	list := []*string{nil}
	for text := range texts {
		if one := convert(of([]*string{&text})); one != nil {
			one.Release()
			list = append(list, &text)
		}
	}
	ours := convert(of(list))
	defer ours.Release()
	require.Equal(t, len(list), ours.Len())
	require.True(t, ours.IsNull(0))
	require.Equal(t, 1, ours.NullN())
	text := textsOf(of(list), nil)
	defer text.Release()
	require.True(t, arrow.TypeEqual(kind, ours.DataType()))
	both := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{
		{Name: "ours", Type: ours.DataType(), Nullable: true}, {Name: "text", Type: text.DataType(), Nullable: true},
	}, nil), []arrow.Array{ours, text}, int64(len(list)))
	defer both.Release()
	call, forget := conn.RegisterBatch(both.Schema(), both)
	defer forget()
	st, err := conn.Prepare("SELECT text, CAST(ours AS VARCHAR), CAST(CAST(text AS " + name + ") AS VARCHAR) FROM " + call +
		" WHERE ours IS DISTINCT FROM CAST(text AS " + name + ") OR CAST(ours AS VARCHAR) IS DISTINCT FROM CAST(CAST(text AS " + name + ") AS VARCHAR)")
	require.NoError(t, err)
	defer st.Close()
	rows, err := st.Execute(t.Context())
	require.NoError(t, err)
	defer rows.Close()
	batch, err := rows.Next()
	if !errors.Is(err, io.EOF) {
		require.NoError(t, err)
		defer batch.Release()
		require.Zero(t, batch.NumRows(), "%v", batch)
	}
	return len(list) - 1
}

// What is only stored as another type is never plain.
func TestMarkedTypesAreNotPlain(t *testing.T) {
	json := arrow.MetadataFrom(map[string]string{"ARROW:extension:name": "arrow.json"})
	require.Nil(t, converterOf(arrow.Field{Type: arrow.BinaryTypes.String, Metadata: json}))
	require.NotNil(t, converterOf(arrow.Field{Type: arrow.BinaryTypes.String}))
	require.Nil(t, converterOf(arrow.Field{Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}}))
	require.Nil(t, converterOf(arrow.Field{Type: arrow.FixedWidthTypes.Timestamp_s}))
}

// FuzzPlain: no text makes a converter panic.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"", "-", "1.5", "2020-01-31", "2020-01-31 10:20:30.5", "-0.00", "1e-400", "2020-01-31 10:20:30+01:30", "t", "99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range types {
			if a := converterOf(arrow.Field{Type: k.kind})(of([]*string{&text, nil})); a != nil {
				a.Release()
			}
		}
	})
}
