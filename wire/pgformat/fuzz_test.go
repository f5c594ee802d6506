package pgformat_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// FuzzDecode: any bytes as any type are a value or an error, never a panic, and the value does not alias the bytes (PF3).
func FuzzDecode(f *testing.F) {
	for _, c := range postgresCases(f) {
		if len(c.text)%7 == 0 { // a sample of every kind keeps the corpus small
			f.Add(c.oid(f), true, c.binary)
			f.Add(c.oid(f), false, []byte(c.text))
		}
	}
	f.Add(pgformat.NumericOID, false, []byte("-1.5e+10"))
	f.Add(pgformat.NumericOID, false, []byte("1e-140000"))
	f.Add(pgformat.Int4Array, false, []byte("[2:3]={{1},{2}}"))
	f.Add(pgformat.TextArray, false, []byte(`{"a\"b",c\ d,{}}`))
	f.Add(pgformat.TimestampTZ, false, []byte("2024-03-31 02:30:00"))
	f.Fuzz(func(t *testing.T, oid uint32, isBinary bool, bytes []byte) {
		format := pgformat.TextFormat
		if isBinary {
			format = pgformat.BinaryFormat
		}
		first, err := pgformat.Decode(oid, format, bytes, time.UTC)
		if err != nil {
			if state, ok := err.(interface{ SQLState() string }); !ok || len(state.SQLState()) != 5 {
				t.Fatalf("error without SQLSTATE: %v", err)
			}
			return
		}
		again, err := pgformat.Decode(oid, format, append([]byte(nil), bytes...), time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		clear(bytes)
		if number, ok := first.(float64); ok && math.IsNaN(number) {
			return
		}
		if list, ok := first.(*pgformat.Array); ok && (list.ElementOID == pgformat.Float4 || list.ElementOID == pgformat.Float8) {
			return // NaN in arrays compares unequal to itself
		}
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("%v changed to %v with the bytes it was read from", again, first)
		}
	})
}
