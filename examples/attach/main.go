// Command attach borrows the memory of a running node: it reads the node's tables in place, in this process, with its
// own processors.
//
//	csmsql serve --data DIRECTORY &
//	go run ./examples/attach DIRECTORY/csmsql.sock "SELECT count(*) FROM t"
//
// A borrower reads. What it writes it asks the node to write, over SQL.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/csmsql/csmsql/engine"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: attach SOCKET QUERY")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, socket, query string) error {
	e, err := engine.Attach(ctx, socket)
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := s.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		for i := range int(batch.NumRows()) {
			for c, column := range batch.Columns() {
				if c > 0 {
					fmt.Fprint(out, "|")
				}
				fmt.Fprint(out, column.ValueStr(i))
			}
			fmt.Fprintln(out)
		}
	}
	return rows.Err()
}
