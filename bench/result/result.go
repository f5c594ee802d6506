// Package result reads the results of benchmarks' queries as text, so that they can be compared.
//
//	session, query ─ Of ─► columns, rows of text        record batch ─ Append ─► rows of text
//
// NULL is the empty text, as in package queries, which compares.
//
// Invariants:
//
//   - BA1: rows are copies: they stay what they are when their batch is released.
//
// It holds no locks and compares nothing.
package result

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
)

// Of reads all rows of a query, and gives them as text if they are wanted.
func Of(ctx context.Context, s *engine.Session, sql string,
	wanted bool) (columns []string, rows [][]string, err error) {
	r, err := s.Query(ctx, sql)
	if err != nil {
		return nil, nil, err
	}
	defer r.Release()
	for r.Next() {
		if wanted {
			rows = Append(rows, r.RecordBatch())
		}
	}
	return Names(r.Schema()), rows, r.Err()
}

// Names are those of a schema's columns.
func Names(schema *arrow.Schema) []string {
	out := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		out[i] = f.Name
	}
	return out
}

// Append copies a batch's values as text; NULL is empty.
func Append(rows [][]string, batch arrow.RecordBatch) [][]string {
	for i := range int(batch.NumRows()) {
		row := make([]string, batch.NumCols())
		for c := range row {
			if !batch.Column(c).IsNull(i) {
				row[c] = strings.Clone(batch.Column(c).ValueStr(i))
			}
		}
		rows = append(rows, row)
	}
	return rows
}
