package bench

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/csmsql/csmsql/engine"
)

// readerMemory is what a reader's DuckDB may use.
const readerMemory = 512 << 20

// readerRole attaches to a node and scans when it is asked to.
func readerRole(ctx context.Context, args []string, talk *conversation) (err error) {
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	e, err := engine.AttachWith(ctx, args[0], engine.Config{Threads: threads, MemoryBytes: readerMemory})
	if answered := talk.answer(struct{}{}, err); err != nil || answered != nil {
		return errors.Join(err, answered)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	var session *engine.Session
	defer func() {
		if session != nil {
			err = errors.Join(err, session.Close())
		}
	}()
	for range talk.requests {
		if session == nil {
			if session, err = e.Session(engine.SessionOptions{}); err != nil {
				return errors.Join(talk.answer(nil, err), err)
			}
		}
		got, err := scan(ctx, session)
		if err := talk.answer(got, err); err != nil {
			return err
		}
	}
	return nil
}

// scan adds up all columns, in a transaction that stays open and keeps the snapshot.
func scan(ctx context.Context, session *engine.Session) (s sums, err error) {
	if _, err := session.Exec(ctx, "BEGIN"); err != nil {
		return s, err
	}
	r, err := session.Query(ctx, "SELECT count(*), sum(a), sum(b), sum(c) FROM t")
	if err != nil {
		return s, err
	}
	defer r.Release()
	into := []*int64{&s.Rows, &s.A, &s.B, &s.C}
	for r.Next() {
		for i, column := range r.RecordBatch().Columns() {
			if *into[i], err = modulo64(column.ValueStr(0)); err != nil {
				return s, err
			}
		}
	}
	return s, r.Err()
}

// modulo64 is an integer of any size as int64 arithmetic would have it.
func modulo64(text string) (int64, error) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return 0, fmt.Errorf("a sum is %q", text)
	}
	mask := new(big.Int).SetUint64(1<<64 - 1)
	return int64(new(big.Int).And(n, mask).Uint64()), nil
}
