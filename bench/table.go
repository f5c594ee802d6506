package bench

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// The table of the thesis' section 5.5: three columns of int64, int8 and uint16, 11 bytes a row.
const (
	fullRows   = 150 << 20 // 157,286,400: 1.73 GB
	bytesOfRow = 8 + 1 + 2
)

// createTable is the statement that makes it. skew falsifies the last row.
func createTable(rows int64, skew bool) string {
	last := int64(-1)
	if skew {
		last = rows - 1
	}
	return fmt.Sprintf(`CREATE TABLE t AS SELECT (i * 1000003 - 77)::BIGINT AS a, (i * 7 %% 251 - 125)::TINYINT AS b,
		(i * 40503 %% 65521 + (i = %d)::INT)::USMALLINT AS c FROM range(%d) r(i)`, last, rows)
}

// sums is the answer that every side is checked with: column sums, a's modulo 2^64.
type sums struct {
	Rows, A, B, C int64
}

// expectedSums computes them from the formula, without any of the machinery that is measured.
func expectedSums(rows int64) sums {
	s := sums{Rows: rows}
	for i := range rows {
		v := valuesOf(i)
		s.A, s.B, s.C = s.A+v.A, s.B+v.B, s.C+v.C
	}
	return s
}

// valuesOf is row i.
func valuesOf(i int64) sums { return sums{1, i*1000003 - 77, i*7%251 - 125, i * 40503 % 65521} }

// sumsOf adds up record batches.
func sumsOf(batches []arrow.RecordBatch) (s sums, err error) {
	for _, batch := range batches {
		if batch.NumCols() != 3 {
			return s, fmt.Errorf("a batch has %d columns", batch.NumCols())
		}
		a, okA := batch.Column(0).(*array.Int64)
		b, okB := batch.Column(1).(*array.Int8)
		c, okC := batch.Column(2).(*array.Uint16)
		if !okA || !okB || !okC {
			return s, fmt.Errorf("a batch has the columns %v", batch.Schema())
		}
		s.Rows += batch.NumRows()
		s.A += total(a.Int64Values())
		s.B += total(b.Int8Values())
		s.C += total(c.Uint16Values())
	}
	return s, nil
}

func total[T int64 | int8 | uint16](values []T) (sum int64) {
	for _, v := range values {
		sum += int64(v)
	}
	return sum
}

// firstValues reads the first value of every column of the first and the last batch: what a reader can do now it could
// not do before.
func firstValues(batches []arrow.RecordBatch) error {
	if len(batches) == 0 {
		return nil
	}
	for _, batch := range []arrow.RecordBatch{batches[0], batches[len(batches)-1]} {
		one := batch.NewSlice(0, 1)
		_, err := sumsOf([]arrow.RecordBatch{one})
		one.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares a side's answer with the right one (B1).
func (s sums) check(side string, want sums) error {
	if s != want {
		return fmt.Errorf("%s gives a wrong answer: rows and sums %+v, right is %+v", side, s, want)
	}
	return nil
}
