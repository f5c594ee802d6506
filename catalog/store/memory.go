package store

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
)

// Memory is a Store for tests and for nodes that keep nothing. The zero value is ready.
type Memory struct {
	// Bounds are what Limits returns; tests set them to what etcd has.
	Bounds Limits

	mu       sync.Mutex
	items    map[string]Item // guarded by mu
	revision Revision        // guarded by mu
	closed   bool            // guarded by mu
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, key string) (Item, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return Item{}, false, err
	}
	i, ok := m.items[key]
	i.Value = bytes.Clone(i.Value)
	return i, ok, nil
}

// usable requires mu.
func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// Scan implements Store.
func (m *Memory) Scan(ctx context.Context, prefixes []string, visit func(Item) error) (Revision, error) {
	items, revision, err := m.below(ctx, prefixes)
	if err != nil {
		return 0, err
	}
	for _, i := range items {
		if err := visit(i); err != nil {
			return 0, err
		}
	}
	return revision, nil
}

func (m *Memory) below(ctx context.Context, prefixes []string) ([]Item, Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, 0, err
	}
	var found []Item
	for _, prefix := range prefixes {
		first := len(found)
		for key, i := range m.items {
			if strings.HasPrefix(key, prefix) {
				found = append(found, i)
			}
		}
		slices.SortFunc(found[first:], func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
	}
	return found, m.revision, nil
}

// Commit implements Store.
func (m *Memory) Commit(ctx context.Context, t Transaction) (Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	for _, c := range t.Compares {
		if !m.holds(c) {
			return 0, &Conflict{c}
		}
	}
	if m.items == nil {
		m.items = map[string]Item{}
	}
	m.revision++
	for _, key := range t.Deletes {
		delete(m.items, key)
	}
	for _, put := range t.Puts {
		m.items[put.Key] = Item{put.Key, bytes.Clone(put.Value), m.revision}
	}
	return m.revision, nil
}

// holds requires mu.
func (m *Memory) holds(c Compare) bool {
	if !c.Prefix {
		return m.items[c.Key].Revision == c.Revision
	}
	for key, i := range m.items {
		if strings.HasPrefix(key, c.Key) && i.Revision > c.Revision {
			return false
		}
	}
	return true
}

// Copy returns an independent store with the same content, as a restart would find it.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Memory{Bounds: m.Bounds, items: make(map[string]Item, len(m.items)), revision: m.revision}
	for k, i := range m.items {
		c.items[k] = i // values are never changed in place
	}
	return c
}

// Limits implements Store.
func (m *Memory) Limits() Limits { return m.Bounds }

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
