// Command embed is a program with a node of its own: it makes a table, asks it, and reads the answer as Arrow record
// batches.
//
//	go run ./examples/embed [DIRECTORY]
//
// With a directory the table is there again when the program is started again.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine"
)

func main() {
	config := engine.Config{RegionBytes: 256 << 20, MemoryBytes: 256 << 20}
	if len(os.Args) > 1 {
		config.Directory = os.Args[1]
	}
	if err := run(context.Background(), os.Stdout, config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, config engine.Config) (err error) {
	e, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	const make = "CREATE TABLE IF NOT EXISTS squares AS SELECT i, i * i AS square FROM range(1000000) r(i)"
	if _, err := s.Exec(ctx, make); err != nil {
		return err
	}
	const ask = "SELECT i % 3 AS rest, count(*) AS rows FROM squares WHERE square > $1 GROUP BY rest ORDER BY rest"
	rows, err := s.Query(ctx, ask, 1000)
	if err != nil {
		return err
	}
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		rest, count := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Int64)
		for i := range int(batch.NumRows()) {
			fmt.Fprintf(out, "rest %d: %d rows\n", rest.Value(i), count.Value(i))
		}
	}
	return rows.Err()
}
