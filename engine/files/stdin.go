package files

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// RowsPerBatch is how many rows of text are gathered at most before DuckDB converts them. Rows that are long are fewer:
// Gathering.
const RowsPerBatch = 65_536

// Gather collects rows of text, in DuckDB's spelling. io.EOF comes with the last ones, any other error without a batch:
// what there was is freed. note returns the line of the row that next gave last, and count counts them.
func Gather(schema *arrow.Schema, forms []literal.Form, held *Gathering, next func() ([][]byte, error),
	note func() int64,
	count *int64) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(duckdb.Outside, schema)
	defer b.Release()
	for n := 0; n < RowsPerBatch && !held.full(); n++ {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return b.NewRecordBatch(), err
		}
		if err != nil {
			return nil, err
		}
		if err := held.add(row); err != nil {
			return nil, err
		}
		*count++
		line := note()
		if len(row) != schema.NumFields() {
			missing := schema.Field(min(len(row), schema.NumFields()-1)).Name
			problem := sqlerror.New("22P04", "missing data for column %q", missing)
			if len(row) > schema.NumFields() {
				problem = sqlerror.New("22P04", "extra data after last expected column")
			}
			problem.DetailText = fmt.Sprintf("COPY, row %d: %s, %s expected.",
				*count, counted.Of(len(row), "value"), counted.Of(schema.NumFields(), "column"))
			return nil, problem
		}
		for i, value := range row {
			if value == nil {
				b.Field(i).AppendNull()
				continue
			}
			if value, err = spelled(value, forms[i]); err != nil {
				var problem *sqlerror.Error
				if !errors.As(err, &problem) {
					return nil, err
				}
				shown := dialect.Shortened(string(row[i]))
				problem.ContextText = fmt.Sprintf("line %d, column %s: \"%s\"", line, schema.Field(i).Name, shown)
				return nil, problem
			}
			b.Field(i).(*array.StringBuilder).BinaryBuilder.Append(value)
		}
	}
	return b.NewRecordBatch(), nil
}

// spelled is a value of a form as DuckDB reads it. Most are left in place.
func spelled(value []byte, form literal.Form) ([]byte, error) {
	if !form.Translates() {
		return value, nil
	}
	text, err := form.Translate(string(value))
	return []byte(text), err
}

// Where says where rows are that DuckDB did not take, if it does not say itself: among the last so many up to a row.
func Where(err error, line, rows int64) error {
	d, ok := err.(*duckdb.Error)
	if !ok {
		return err
	}
	e := &sqlerror.Error{State: d.State, Message: d.Message, Cause: err}
	if strings.HasPrefix(d.State, "22") {
		e.DetailText = fmt.Sprintf("COPY, in one of the %d rows up to row %d. Nothing was stored.", rows, line)
	}
	return e
}

const (
	// GatherPart of what clients may have is gathered for one COPY at most.
	GatherPart = 8
	// gatherStep is what a COPY takes at once, so that short rows need not ask one by one.
	gatherStep = 64 << 10
	// valueBytes is what a value takes beside its own bytes.
	valueBytes = 8
)

// Gathering is the memory of a COPY's rows between the client and DuckDB: bounded by bytes, whatever their number.
type Gathering struct {
	// Take and Give charge bytes, and give them back.
	Take        func(bytes int64) error
	Give        func(bytes int64)
	Most        int64 // bytes, after which there are enough
	used, taken int64
}

func (g *Gathering) full() bool { return g.used >= g.Most }

// add charges a row that is to be gathered. What grows doubles, so that a row stands there twice for a moment.
func (g *Gathering) add(row [][]byte) error {
	g.used += int64(len(row)) * valueBytes
	for _, value := range row {
		g.used += int64(len(value))
	}
	more := 2*g.used - g.taken
	if more <= 0 {
		return nil
	}
	more = max(more, gatherStep)
	if err := g.Take(more); err != nil {
		return err
	}
	g.taken += more
	return nil
}

// Clear is for rows that were handed over.
func (g *Gathering) Clear() {
	g.Give(g.taken)
	g.used, g.taken = 0, 0
}

// Columns are the columns that a COPY fills, in its order.
func Columns(schema *arrow.Schema, names []string) ([]string, error) {
	if names == nil {
		return cast.Written(schema), nil
	}
	seen := map[string]bool{}
	for _, n := range names {
		if ingest.Index(schema, n) < 0 {
			return nil, sqlerror.New("42703", "column %q of relation does not exist", n)
		}
		if seen[strings.ToLower(n)] {
			return nil, sqlerror.New("42701", "column %q specified more than once", n)
		}
		if f := schema.Field(ingest.Index(schema, n)); cast.Generated(f) != "" {
			e := sqlerror.New("42P10", "column %q is a generated column", f.Name)
			e.DetailText = "Generated columns cannot be used in COPY."
			return nil, e
		}
		seen[strings.ToLower(n)] = true
	}
	return names, nil
}
