// Package format is which catalog a store has, and in which format.
//
//	empty store ──► format 2, a new identity, the first schemas
//	format 1    ──► format 2, the same identity      old pages stay where they are: see package pages
//	format 2    ──► nothing is written
//
// # Words
//
// format: a number that changes when programs of the former one would not find what newer ones store · identity: a
// random name, given once.
//
// # Invariants
//
//   - SF1: a store has one identity for ever, whichever of many nodes began it or brought it to this format.
//
// # What it does not do
//
// It converts nothing that is stored, and does not know what a catalog is.
package format

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// Current is the format that this program writes. In format 1 new pages lay amid what nodes follow.
const Current, before = 2, 1

var (
	// ErrOther: another program wrote the catalog, in a format that is not known.
	ErrOther = errors.New("use the program that wrote it")
	// ErrDamaged: the record of the format cannot be read.
	ErrDamaged = errors.New("record of the format")
)

// Take returns the identity of the store's catalog, which is in the current format from then on. An empty store gets
// one that has the schemas. The error is ErrOther, ErrDamaged or the store's.
func Take(ctx context.Context, s store.Store, now time.Time, schemas []string) (identity string, err error) {
	for {
		item, ok, err := s.Get(ctx, keys.Format)
		if err != nil {
			return "", err
		}
		t := store.Transaction{Compares: []store.Compare{store.Unchanged(keys.Format, item.Revision)}}
		if ok {
			var number uint64
			if number, identity, now, err = record.DecodeFormat(item.Value); err != nil {
				return "", fmt.Errorf("%w: %w", ErrDamaged, err)
			}
			if number == Current {
				return identity, nil
			}
			if number != before {
				return "", fmt.Errorf("format %d, this program knows %d and %d: %w", number, before, Current, ErrOther)
			}
			// Every node sees this revision, as it sees a commit's.
			t.Puts = append(t.Puts, store.Item{Key: keys.Commit, Value: []byte(identity)})
		} else {
			var random [16]byte
			if _, err := rand.Read(random[:]); err != nil {
				return "", err
			}
			identity = hex.EncodeToString(random[:])
			for _, name := range schemas {
				t.Puts = append(t.Puts, store.Item{Key: keys.Schema(name)})
			}
		}
		t.Puts = append(t.Puts, store.Item{Key: keys.Format, Value: record.EncodeFormat(Current, identity, now)})
		if _, err := s.Commit(ctx, t); !errors.Is(err, store.ErrConflict) { // else another node was faster
			return identity, err
		}
	}
}
