// Package notes keeps rows of tables on record that are in no chunk yet.
//
//	table/<number>           the table's record
//	table/<number>/<note>    rows that it has beside: Put … Restore, after the process has died … removed by the commit
//	                         that makes them a chunk
//
// # Invariants
//
//   - NO1: notes come back in the order in which they were put, each of them.
//   - NO2: what Put has not put on record for certain is no note of the book; ErrUnknown says that it may be one.
//
// # Lock order
//
// None: it is used in turn with commits.
//
// # What it does not do
//
// It does not know what rows are, and removes nothing.
package notes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// Book is the notes of a store that no other node uses.
type Book struct {
	Store store.Store
	// Boot is the boot of the machine that rows end with; empty: none.
	Boot string
	// Keys are where the notes are, in order.
	Keys []string
	// Restored says that those are all: Restore was called, or nothing was left to it.
	Restored bool

	last uint64
}

// Rows are what a table gets.
type Rows struct {
	Table hugetable.TableID
	Rows  []byte
}

// Put puts rows on record, all or none of them. They are durable then, or, if they end with a boot, survive the process.
func (b *Book) Put(ctx context.Context, list []Rows) error {
	if len(list) == 0 {
		return nil
	}
	t := store.Transaction{Lazy: b.Boot != ""}
	var names []string
	for _, r := range list {
		b.last++
		n := record.Note{Boot: b.Boot, Rows: r.Rows}
		names = append(names, keys.Note(r.Table, b.last))
		t.Puts = append(t.Puts, store.Item{Key: keys.Note(r.Table, b.last), Value: n.Encode()})
	}
	_, err := b.Store.Commit(ctx, t)
	if errors.Is(err, store.ErrUnknown) {
		_, there, unknown := b.Store.Get(ctx, names[0])
		switch {
		case unknown != nil:
			return errors.Join(err, unknown)
		case !there:
			return settled{err}
		}
		err = nil
	}
	if err == nil {
		b.Keys = append(b.Keys, names...)
	}
	return err
}

// settled is an error of a transaction that was found not to have happened.
type settled struct{ error }

// Cause is what went wrong when notes were found not to have been put; nil: err is no such error.
func Cause(err error) error {
	if s, ok := err.(settled); ok { //nolint:errorlint // it is not wrapped
		return s.error
	}
	return nil
}

// Restore gives the rows that a former process has put on record. Those of another boot went where their tables' did.
func (b *Book) Restore(ctx context.Context, each func(Rows) error) error {
	if b.Restored {
		return nil
	}
	var list []store.Item
	if _, err := b.Store.Scan(ctx, []string{keys.TablePrefix}, func(item store.Item) error {
		if _, _, is := keys.ParseNote(item.Key); is {
			list = append(list, item)
		}
		return nil
	}); err != nil {
		return err
	}
	slices.SortFunc(list, func(x, y store.Item) int { return strings.Compare(x.Key, y.Key) })
	for _, item := range list {
		n, err := record.DecodeNote(item.Value)
		if id, _, _ := keys.ParseNote(item.Key); err == nil && (n.Boot == "" || n.Boot == b.Boot) {
			err = each(Rows{id, n.Rows})
		}
		if err != nil {
			return fmt.Errorf("note %q: %w", item.Key, err)
		}
	}
	for _, item := range list { // which are there until they are sealed: no other may come in their place
		_, number, _ := keys.ParseNote(item.Key)
		b.Keys, b.last = append(b.Keys, item.Key), max(b.last, number)
	}
	b.Restored = true
	return nil
}
