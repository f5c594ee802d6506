// Package mixed is a table of every common type, whose rows are the same for everyone who asks for as many.
//
//	Write ─ rows in COPY's text format ─► a file, or COPY mixed FROM STDIN ─► the table (Definition) of a side
//
// # Locks
//
// It has none.
//
// # What it does not do
//
// It connects to nothing, and measures nothing.
package mixed

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// columns are what a business keeps.
var columns = []struct {
	name, kind string
	// value appends the text of row i's value, \N for NULL.
	value func(text []byte, i int64, r *rand.Rand) []byte
}{
	{"id", "bigint", func(t []byte, i int64, _ *rand.Rand) []byte { return strconv.AppendInt(t, i, 10) }},
	{"customer", "integer", func(t []byte, _ int64, r *rand.Rand) []byte { return strconv.AppendInt(t, int64(r.IntN(150_000)), 10) }},
	{"line", "smallint", func(t []byte, _ int64, r *rand.Rand) []byte { return strconv.AppendInt(t, int64(r.IntN(7))-3, 10) }},
	{"paid", "boolean", func(t []byte, _ int64, r *rand.Rand) []byte { return append(t, "tf"[r.IntN(2)]) }},
	{"price", "numeric(12,2)", func(t []byte, _ int64, r *rand.Rand) []byte { return cents(t, r.Int64N(20_000_000)-1_000_000, 2) }},
	{"discount", "numeric(6,4)", func(t []byte, _ int64, r *rand.Rand) []byte { return cents(t, r.Int64N(10_000), 4) }},
	{"score", "double precision", func(t []byte, _ int64, r *rand.Rand) []byte {
		return strconv.AppendFloat(t, r.NormFloat64()*1000, 'g', -1, 64)
	}},
	{"weight", "real", func(t []byte, _ int64, r *rand.Rand) []byte {
		return strconv.AppendFloat(t, r.ExpFloat64()*10, 'g', -1, 32)
	}},
	{"ordered", "date", func(t []byte, _ int64, r *rand.Rand) []byte { return moment(r).AppendFormat(t, time.DateOnly) }},
	{"shipped", "timestamp", func(t []byte, _ int64, r *rand.Rand) []byte {
		return moment(r).AppendFormat(t, "2006-01-02 15:04:05.999999")
	}},
	{"changed", "timestamptz", func(t []byte, _ int64, r *rand.Rand) []byte {
		return append(moment(r).AppendFormat(t, time.DateTime), "+00"...)
	}},
	{"status", "text", func(t []byte, _ int64, r *rand.Rand) []byte { return append(t, statuses[r.IntN(len(statuses))]...) }},
	{"mode", "varchar(10)", func(t []byte, _ int64, r *rand.Rand) []byte { return append(t, modes[r.IntN(len(modes))]...) }},
	{"name", "text", func(t []byte, _ int64, r *rand.Rand) []byte {
		return fmt.Appendf(t, "Customer#%09d", r.IntN(1_000_000))
	}},
	{"remark", "text", func(t []byte, _ int64, r *rand.Rand) []byte {
		if r.IntN(10) == 0 {
			return append(t, `\N`...)
		}
		return sentence(t, r)
	}},
	{"referrer", "integer", func(t []byte, _ int64, r *rand.Rand) []byte {
		if r.IntN(3) == 0 {
			return append(t, `\N`...)
		}
		return strconv.AppendInt(t, int64(r.IntN(1_000_000)), 10)
	}},
}

var (
	statuses = []string{"new", "paid", "packed", "shipped", "returned"}
	modes    = []string{"AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR"}
	words    = []string{"carefully", "final", "deposits", "détente", "sleep", "quickly", "ironic", "packages", "above", "the", "regular", "accounts"}
)

// cents writes a decimal number with scale digits behind the point.
func cents(t []byte, v int64, scale int) []byte {
	if v < 0 {
		t, v = append(t, '-'), -v
	}
	digits := fmt.Sprintf("%0*d", scale+1, v)
	return append(append(append(t, digits[:len(digits)-scale]...), '.'), digits[len(digits)-scale:]...)
}

func moment(r *rand.Rand) time.Time {
	return time.UnixMicro(r.Int64N(1_600_000_000_000_000)).UTC()
}

func sentence(t []byte, r *rand.Rand) []byte {
	for i := range 3 + r.IntN(5) {
		if i > 0 {
			t = append(t, ' ')
		}
		t = append(t, words[r.IntN(len(words))]...)
	}
	return t
}

// Write writes so many rows in COPY's text format. Their ids, the first column, are from 0 on.
func Write(w io.Writer, rows int64) error {
	r := rand.New(rand.NewPCG(16, 1_000_000))
	buffered := bufio.NewWriterSize(w, 1<<18)
	var line []byte
	for i := range rows {
		line = line[:0]
		for k, c := range columns {
			if k > 0 {
				line = append(line, '\t')
			}
			line = c.value(line, i, r)
		}
		if _, err := buffered.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// Definition makes the table.
func Definition() string {
	definitions := make([]string, len(columns))
	for i, c := range columns {
		definitions[i] = c.name + " " + c.kind
	}
	return "CREATE TABLE mixed (" + strings.Join(definitions, ", ") + ")"
}

// Columns is how many the table has.
func Columns() int { return len(columns) }
