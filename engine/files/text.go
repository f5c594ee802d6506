package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// LineMarks say on which line of the client's stream a row begins: a mark is where rows and lines begin to go apart
// otherwise than before.
type LineMarks []lineMark

type lineMark struct{ row, line int64 }

// Note keeps the line of a row, counted from 0; rows come in order.
func (m *LineMarks) Note(row, line int64) {
	if len(*m) == 0 || m.of(row) != line {
		*m = append(*m, lineMark{row, line})
	}
}

func (m LineMarks) of(row int64) int64 {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].row <= row {
			return m[i].line + row - m[i].row
		}
	}
	return row + 1
}

// TextCulprit turns DuckDB's error about the texts of a batch into one that names the first line, the column and the
// value that it is about, in PostgreSQL's words. DuckDB does not say; so each column is converted by itself, and the
// first bad row found by bisection.
func TextCulprit(ctx context.Context, connect func() (*duckdb.Connection, error), table string, schema *arrow.Schema,
	columns []string,
	batch arrow.RecordBatch, line func(row int64) int64, failed error) error {
	var d *duckdb.Error
	if !errors.As(failed, &d) || !strings.HasPrefix(d.State, "22") {
		return failed
	}
	conn, err := connect() // an error aborts a block's transaction
	if err != nil {
		return failed
	}
	defer conn.Close()
	row, column, found := firstBad(batch.NumRows(), len(columns), func(column int, from, to int64) error {
		piece := batch.NewSlice(from, to)
		defer piece.Release()
		one := duckdb.Project(piece, []int{column})
		defer one.Release()
		return cast.Text(ctx, conn, one, schema, columns[column:column+1], func(arrow.RecordBatch) error { return nil })
	})
	if column < 0 || !errors.As(found, &d) {
		return failed
	}
	e := &sqlerror.Error{State: d.State, Message: dialect.PostgresWords(d.Message), Cause: failed}
	value := dialect.Shortened(batch.Column(column).ValueStr(int(row)))
	e.ContextText = fmt.Sprintf("COPY %s, line %d, column %s: \"%s\"", table, line(row), columns[column], value)
	return e
}
