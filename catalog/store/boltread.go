package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// layer is what some transactions, one after the other, left of the keys that they wrote. It is not changed while
// other goroutines may read it without the lock of Bolt.pending.
type layer struct {
	keys   map[string]entry
	newest Revision
	redos  []Redo // without data; replaced, not changed, by the holder of settler.one
}

// entry is what became of a key.
type entry struct {
	item Item // its value is never written again
	gone bool
}

func newLayer(at Revision) *layer { return &layer{keys: map[string]entry{}, newest: at} }

func (l *layer) add(c Change) {
	for _, key := range c.Deletes {
		l.keys[key] = entry{gone: true}
	}
	for _, put := range c.Puts {
		l.keys[put.Key] = entry{item: put}
	}
	l.newest = c.Revision
}

// wrote remembers what is to be synced elsewhere before the layer is settled.
func (l *layer) wrote(redos []Redo) {
	for _, r := range redos {
		r.Data = nil
		l.redos = append(l.redos, r)
	}
}

// find finds a key as it is by what is pending. Requires: pending is locked.
func (b *Bolt) find(key string) (entry, bool) {
	for _, l := range []*layer{b.pending.active, b.pending.settling} {
		if l == nil {
			continue
		}
		if e, ok := l.keys[key]; ok {
			return e, true
		}
	}
	return entry{}, false
}

// below lists what is pending of keys below a prefix, in key order. Requires: pending is locked.
func (b *Bolt) below(prefix string) (keys []string, entries map[string]entry) {
	for _, l := range []*layer{b.pending.settling, b.pending.active} {
		if l == nil {
			continue
		}
		for key, e := range l.keys {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if entries == nil {
				entries = map[string]entry{}
			}
			if _, seen := entries[key]; !seen {
				keys = append(keys, key)
			}
			entries[key] = e
		}
	}
	slices.Sort(keys)
	return keys, entries
}

// Get implements Store.
func (b *Bolt) Get(ctx context.Context, key string) (item Item, ok bool, err error) {
	if err := over(ctx, b.closed); err != nil {
		return Item{}, false, err
	}
	b.pending.RLock()
	defer b.pending.RUnlock()
	if b.pending.doubtful[key] { // S8
		return Item{}, false, fmt.Errorf("%w: %q", ErrUnknown, key)
	}
	if e, found := b.find(key); found {
		e.item.Value = bytes.Clone(e.item.Value)
		return e.item, !e.gone, nil
	}
	err = b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			stored := tx.Bucket(itemsBucket).Get([]byte(key))
			if stored == nil {
				return nil
			}
			item, err = b.item(tx, []byte(key), stored)
			item.Value, ok = bytes.Clone(item.Value), err == nil
			return err
		})
	})
	return item, ok, err
}

// Scan implements Store.
func (b *Bolt) Scan(ctx context.Context, prefixes []string, visit func(Item) error) (revision Revision, err error) {
	if err := over(ctx, b.closed); err != nil {
		return 0, err
	}
	err = b.guard(func() error {
		merged := make([]merge, len(prefixes))
		b.pending.RLock() // until the file's revision is fixed, which what is pending goes on from
		tx, err := b.db.Begin(false)
		if err == nil {
			for i, prefix := range prefixes {
				merged[i].prefix = prefix
				merged[i].keys, merged[i].entries = b.below(prefix)
			}
			revision = b.pending.active.newest
		}
		b.pending.RUnlock()
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // of a transaction that only reads
		for _, m := range merged {
			if err := m.scan(ctx, b, tx, visit); err != nil {
				return err
			}
		}
		return nil
	})
	return revision, err
}

// merge merges the items below a prefix of the file with the pending ones.
type merge struct {
	prefix  string
	keys    []string // of entries, those that were not visited yet
	entries map[string]entry
}

func (m *merge) scan(ctx context.Context, b *Bolt, tx *bbolt.Tx, visit func(Item) error) error {
	cursor, prefix := tx.Bucket(itemsBucket).Cursor(), []byte(m.prefix)
	for key, stored := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, stored = cursor.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.visit(func(pending string) bool { return pending < string(key) }, visit); err != nil {
			return err
		}
		if _, written := m.entries[string(key)]; written {
			continue
		}
		item, err := b.item(tx, key, stored)
		if err != nil {
			return err
		}
		if err := visit(item); err != nil {
			return err
		}
	}
	return m.visit(func(string) bool { return true }, visit)
}

// visit shows what is pending as far as it comes before what is next in the file.
func (m *merge) visit(before func(string) bool, visit func(Item) error) error {
	for len(m.keys) > 0 && before(m.keys[0]) {
		e := m.entries[m.keys[0]]
		m.keys = m.keys[1:]
		if e.gone {
			continue
		}
		if err := visit(e.item); err != nil {
			return err
		}
	}
	return nil
}
