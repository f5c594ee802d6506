package growing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
)

// KeyedRows are those of the table that is asked by its key.
const KeyedRows = 1000

// Repeated is what a prepared statement took, each time, and its answers: values with bars between.
type Repeated struct {
	Took    []time.Duration
	Answers []string
}

// Repeat prepares a statement, and one to go before it (empty: none does), and runs them with one list of parameters
// after the other.
func Repeat(ctx context.Context, s *engine.Session, sql, first string, all [][]int64) (done Repeated, err error) {
	run, err := prepared(ctx, s, sql)
	if err != nil {
		return done, err
	}
	before, err := prepared(ctx, s, first)
	if err != nil {
		return done, err
	}
	for _, parameters := range all {
		var args []any
		for _, p := range parameters {
			args = append(args, p)
		}
		if _, err := before(args); err != nil {
			return done, err
		}
		began := time.Now()
		answer, err := run(args)
		if err != nil {
			return done, err
		}
		done.Took = append(done.Took, time.Since(began))
		done.Answers = append(done.Answers, answer)
	}
	return done, nil
}

// prepared is how to run a statement, which goes with its session; several in one text are not prepared.
func prepared(ctx context.Context, s *engine.Session, sql string) (func(args []any) (string, error), error) {
	switch {
	case sql == "":
		return func([]any) (string, error) { return "", nil }, nil
	case strings.Contains(sql, ";"):
		return func([]any) (string, error) {
			_, err := s.Exec(ctx, sql)
			return "", err
		}, nil
	}
	st, err := s.Prepare(ctx, sql)
	return func(args []any) (string, error) { return answerTo(ctx, st, args) }, err
}

func answerTo(ctx context.Context, st *engine.Statement, args []any) (string, error) {
	reader, err := st.Query(ctx, args...)
	if err != nil {
		return "", err
	}
	defer reader.Release()
	var answer strings.Builder
	for reader.Next() {
		batch := reader.RecordBatch()
		for i := range int(batch.NumRows()) {
			for c := range int(batch.NumCols()) {
				if answer.Len() > 0 {
					answer.WriteByte('|')
				}
				answer.WriteString(batch.Column(c).ValueStr(i))
			}
		}
	}
	return answer.String(), reader.Err()
}

// Wanted is what there is to be: other tables, or chunks of one with so many rows.
type Wanted struct {
	Tables, Chunks, Rows int64
	// Skew falsifies each value that is asked for by its key.
	Skew bool
}

// Make makes the tables that are asked, and the others. It times those.
func Make(ctx context.Context, e *engine.Engine, s *engine.Session, w Wanted) (took time.Duration, err error) {
	skew := 0
	if w.Skew {
		skew = 1
	}
	made := fmt.Sprintf(`CREATE TABLE keyed (id bigint PRIMARY KEY, v bigint);
		CREATE TABLE elsewhere (a bigint, b bigint);
		INSERT INTO keyed SELECT i, 7 * i + %d FROM range(%d) r(i)`, skew, KeyedRows)
	if _, err := s.Exec(ctx, made); err != nil {
		return 0, err
	}
	began := time.Now()
	if w.Chunks > 0 {
		err = makeChunks(ctx, e, w.Chunks, w.Rows)
	}
	if err == nil && w.Tables > 0 {
		err = makeTables(ctx, s, w.Tables)
	}
	return time.Since(began), err
}

// makeTables makes them in one transaction.
func makeTables(ctx context.Context, s *engine.Session, tables int64) error {
	if _, err := s.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for i := range tables {
		if _, err := s.Exec(ctx, fmt.Sprintf("CREATE TABLE t%d (a bigint, b text)", i)); err != nil {
			return err
		}
	}
	_, err := s.Exec(ctx, "COMMIT")
	return err
}

// makeChunks makes a table of so many rows in so many chunks.
func makeChunks(ctx context.Context, e *engine.Engine, chunks, rows int64) (err error) {
	integer := arrow.PrimitiveTypes.Int64
	columns := []arrow.Field{{Name: "a", Type: integer}, {Name: "b", Type: integer}}
	a, err := e.Assemble(ctx, engine.AssembleOptions{
		Table: catalog.TableName{Schema: "public", Name: "many"}, Columns: arrow.NewSchema(columns, nil),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Abort()) }()
	part, err := a.Part(ctx, "", 0)
	if err != nil {
		return err
	}
	builder := array.NewRecordBuilder(part.Allocator(), a.Schema())
	defer builder.Release()
	for i := range chunks {
		for v := rows * i / chunks; v < rows*(i+1)/chunks; v++ {
			builder.Field(0).(*array.Int64Builder).Append(v)
			builder.Field(1).(*array.Int64Builder).Append(7 * v)
		}
		batch := builder.NewRecordBatch()
		err := part.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return a.Commit(ctx)
}
