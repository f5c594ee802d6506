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
	"github.com/csmsql/csmsql/engine/textblock"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// RowsPerBatch is how many rows of text are gathered at most before DuckDB converts them. Rows that are long are fewer:
// Gathering.
const RowsPerBatch = 65_536

// Gather collects rows of text, in DuckDB's spelling. io.EOF comes with the last ones, an error of the data with the
// rows before it, and any other error without a batch: what there was is freed. note returns the line of the row that
// next gave last, and count counts them.
func Gather(schema *arrow.Schema, forms []literal.Form, held *Gathering, next func() ([][]byte, error),
	note func() int64,
	count *int64) (arrow.RecordBatch, error) {
	b := array.NewRecordBuilder(duckdb.Outside, schema)
	defer b.Release()
	values := make([][]byte, schema.NumFields())
	for n := 0; n < RowsPerBatch && !held.full(); n++ {
		row, err := next()
		if err == nil {
			if err := held.add(row); err != nil {
				return nil, err
			}
			*count++
			err = spellRow(row, values, schema, forms, note(), *count)
		}
		if errors.Is(err, io.EOF) || isOfData(err) {
			return b.NewRecordBatch(), err
		}
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			if value == nil {
				b.Field(i).AppendNull()
			} else {
				b.Field(i).(*array.StringBuilder).BinaryBuilder.Append(value)
			}
		}
	}
	return b.NewRecordBatch(), nil
}

// isOfData reports whether an error is about what a row has: the rows before it may have one, too.
func isOfData(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && strings.HasPrefix(state.SQLState(), "22")
}

// spellRow writes a row's values as DuckDB reads them. The row is the count-th.
func spellRow(row, values [][]byte, schema *arrow.Schema, forms []literal.Form, line, count int64) (err error) {
	if len(row) != len(values) {
		missing := schema.Field(min(len(row), len(values)-1)).Name
		problem := sqlerror.New("22P04", "missing data for column %q", missing)
		if len(row) > len(values) {
			problem = sqlerror.New("22P04", "extra data after last expected column")
		}
		problem.DetailText = fmt.Sprintf("COPY, row %d: %s, %s expected.",
			count, counted.Of(len(row), "value"), counted.Of(len(values), "column"))
		return problem
	}
	for i, value := range row {
		if values[i] = value; value == nil {
			continue
		}
		if values[i], err = spelled(value, forms[i]); err != nil {
			var problem *sqlerror.Error
			if errors.As(err, &problem) {
				shown := dialect.Shortened(string(value))
				problem.ContextText = fmt.Sprintf("line %d, column %s: \"%s\"", line, schema.Field(i).Name, shown)
				err = problem
			}
			return err
		}
	}
	return nil
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

// Account is what charges a session for what is kept for its client.
type Account interface {
	Take(kind string, bytes int64) error      // of the session's goroutine
	TakeAside(kind string, bytes int64) error // of any other
	Give(kind string, bytes int64)
}

// Gathering is the memory of a COPY's rows between the client and DuckDB: bounded by bytes, whatever their number.
type Gathering struct {
	Account     Account
	Kind        string // of the charges
	Most        int64  // bytes, after which there are enough
	used, taken int64
}

// ofBlocks is the same for rows that come in blocks.
func (g *Gathering) ofBlocks() textblock.Memory {
	return textblock.Memory{
		Take:      func(bytes int64) error { return g.Account.Take(g.Kind, bytes) },
		TakeAside: func(bytes int64) error { return g.Account.TakeAside(g.Kind, bytes) },
		Give:      func(bytes int64) { g.Account.Give(g.Kind, bytes) },
		Most:      g.Most,
	}
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
	if err := g.Account.Take(g.Kind, more); err != nil {
		return err
	}
	g.taken += more
	return nil
}

// Clear is for rows that were handed over.
func (g *Gathering) Clear() {
	g.Account.Give(g.Kind, g.taken)
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
