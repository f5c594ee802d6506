package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/csmsql/csmsql/catalog/store/commitlog"
)

// directBytes is from how many bytes on a transaction goes into the file at once, with all that is pending: to have it
// in the log, too, would cost more than the sync that this saves.
const directBytes = commitlog.HalfBytes / 4

// Commit implements Store. It costs one sync of the log; none if the transaction is Lazy.
func (b *Bolt) Commit(ctx context.Context, t Transaction) (Revision, error) {
	if err := t.Validate(Limits{}); err != nil {
		return 0, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if err := over(ctx, b.closed); err != nil {
		return 0, err
	}
	if err := b.log.Failed(); err != nil {
		return 0, err // of this one it is known: nothing happened
	}
	done, err := b.change(t)
	if err != nil || done.empty() {
		return b.newest, err
	}
	if err := b.keep(done, t); err != nil {
		return 0, err
	}
	b.newest = done.Revision
	b.history.add(done)
	return done.Revision, nil
}

// change is what a transaction does, if its conditions hold. Requires: writing.
func (b *Bolt) change(t Transaction) (done Change, err error) {
	b.pending.RLock()
	defer b.pending.RUnlock()
	err = b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			for _, c := range t.Compares {
				if err := b.holds(tx, c); err != nil {
					return err
				}
			}
			for _, key := range t.Deletes {
				if e, ok := b.find(key); ok && !e.gone || !ok && tx.Bucket(itemsBucket).Get([]byte(key)) != nil {
					done.Deletes = append(done.Deletes, key)
				}
			}
			return nil
		})
	})
	if err != nil {
		return Change{}, err
	}
	done.Revision = b.newest + 1
	for _, put := range t.Puts {
		done.Puts = append(done.Puts, Item{Key: put.Key, Value: bytes.Clone(put.Value), Revision: done.Revision, Ephemeral: put.Ephemeral})
	}
	return done, nil
}

// holds requires that pending is locked.
func (b *Bolt) holds(tx *bbolt.Tx, c Compare) error {
	if c.Prefix {
		return b.nothingNewer(tx, c)
	}
	e, pending := b.find(c.Key)
	if !pending {
		if stored := tx.Bucket(itemsBucket).Get([]byte(c.Key)); stored != nil {
			item, err := b.item(tx, []byte(c.Key), stored)
			if err != nil {
				return err
			}
			e.item = item
		}
	}
	revision := e.item.Revision // 0 if it is gone, too
	if c.Present && revision == 0 || !c.Present && revision != c.Revision {
		return &Conflict{c}
	}
	return nil
}

func (b *Bolt) nothingNewer(tx *bbolt.Tx, c Compare) error {
	_, pending := b.below(c.Key)
	for _, e := range pending {
		if e.item.Revision > c.Revision {
			return &Conflict{c}
		}
	}
	cursor, prefix := tx.Bucket(itemsBucket).Cursor(), []byte(c.Key)
	for key, stored := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, stored = cursor.Next() {
		if _, written := pending[string(key)]; written {
			continue
		}
		if item, err := b.item(tx, key, stored); err != nil || item.Revision > c.Revision {
			return errors.Join(err, &Conflict{c})
		}
	}
	return nil
}

// keep makes a change last, and then seen. Requires: writing.
func (b *Bolt) keep(done Change, t Transaction) error {
	payload := encodeRecord(b.record, done, t.Redo)
	if len(payload) > directBytes {
		return b.keepDirectly(done, t.Redo)
	}
	b.record = payload
	if !b.log.Fits(len(payload)) {
		if err := b.turn(); err != nil {
			return err
		}
	}
	err := b.log.Append(payload)
	if err == nil && !t.Lazy {
		err = b.log.Sync()
	}
	switch {
	case errors.Is(err, commitlog.ErrUnknown):
		b.doubt(done)
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case err != nil: // it did not happen: a later Get or Scan shows that (S8)
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	b.pending.Lock()
	b.pending.active.add(done)
	b.pending.active.wrote(t.Redo)
	b.pending.Unlock()
	if t.Lazy {
		wake(b.settler.lazy)
	}
	return nil
}

// doubt makes reads of what may have happened fail, so that it does not look as if it did not.
func (b *Bolt) doubt(done Change) {
	b.pending.Lock()
	defer b.pending.Unlock()
	b.pending.doubtful = map[string]bool{}
	for _, put := range done.Puts {
		b.pending.doubtful[put.Key] = true
	}
	for _, key := range done.Deletes {
		b.pending.doubtful[key] = true
	}
}
