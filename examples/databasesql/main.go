// Command databasesql uses a node through database/sql, as programs do that know no Arrow.
//
//	go run ./examples/databasesql
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"

	_ "github.com/csmsql/csmsql/engine/driver"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	db, err := sql.Open("csmsql", "") // a node that is gone when the DB is closed; with a directory it comes back
	if err != nil {
		return err
	}
	defer func() {
		if failed := db.Close(); err == nil {
			err = failed
		}
	}()
	if _, err := db.ExecContext(ctx, "CREATE TABLE city (name text, people bigint)"); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	for name, people := range map[string]int{"Bergen": 291_940, "Oslo": 717_710, "Voss": 16_000} {
		if _, err := tx.ExecContext(ctx, "INSERT INTO city VALUES ($1, $2)", name, people); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, "SELECT name, people FROM city WHERE people > $1 ORDER BY name", 100_000)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var people int64
		if err := rows.Scan(&name, &people); err != nil {
			return err
		}
		fmt.Fprintln(out, name, people)
	}
	return rows.Err()
}
