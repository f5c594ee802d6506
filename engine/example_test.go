package engine_test

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine"
)

// An embedded node: tables lie once in lent memory, queries come back as Arrow record batches.
func Example() {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Config{}) // a Directory would make it come back with its tables
	if err != nil {
		panic(err)
	}
	defer e.Close()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	if _, err := s.Exec(ctx, "CREATE TABLE t AS SELECT i, i * i AS square FROM range(10) r(i)"); err != nil {
		panic(err)
	}
	rows, err := s.Query(ctx, "SELECT i, square FROM t WHERE square > $1 ORDER BY i", 50)
	if err != nil {
		panic(err)
	}
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		for r := range int(batch.NumRows()) {
			fmt.Println(batch.Column(0).(*array.Int64).Value(r), batch.Column(1).(*array.Int64).Value(r))
		}
	}
	if err := rows.Err(); err != nil {
		panic(err)
	}
	// Output:
	// 8 64
	// 9 81
}

// Several statements of one block become visible together, or not at all.
func ExampleSession_Exec() {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Config{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	result, err := s.Exec(ctx, `
		BEGIN;
		CREATE TABLE account (name text NOT NULL, balance decimal(12,2) DEFAULT 0);
		INSERT INTO account (name) VALUES ('ann'), ('bob');
		UPDATE account SET balance = 10 WHERE name = 'ann';
		COMMIT`)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Tag)
	// Output: COMMIT
}

// A follower reads each version of a table in place as it is committed, beginning with the present one.
func ExampleEngine_Follow() {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Config{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	if _, err := s.Exec(ctx, "CREATE TABLE orders (amount bigint)"); err != nil {
		panic(err)
	}
	for version, err := range e.Follow(ctx, "orders") {
		if err != nil {
			panic(err)
		}
		if _, err := s.Exec(ctx, "INSERT INTO orders VALUES (10)"); err != nil { // another session, in its own time
			panic(err)
		}
		rows, err := version.Query(ctx, "SELECT count(*) FROM orders")
		if err != nil {
			panic(err)
		}
		rows.Next()
		count := rows.RecordBatch().Column(0).(*array.Int64).Value(0)
		rows.Release()
		fmt.Printf("version %d: %d orders\n", version.Number(), count)
		if count == 2 {
			break
		}
	}
	// Output:
	// version 1: 0 orders
	// version 2: 1 orders
	// version 3: 2 orders
}
