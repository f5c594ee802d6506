package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Memory is a Store for tests and for nodes that keep nothing. The zero value is ready: the first handle on an empty
// store. Handle makes others on the same content, each with a session of its own.
type Memory struct {
	// Bounds are what Limits returns; tests set them to what etcd has, and less. Commit takes more.
	Bounds Limits

	begin   sync.Once
	content *memoryContent // by begin
	session *localSession  // by begin
	closed  chan struct{}  // by begin
	closing sync.Once
}

// memoryContent is what the handles share.
type memoryContent struct {
	history history

	mu       sync.Mutex
	items    map[string]memoryItem // guarded by mu; values are never changed in place
	revision Revision              // guarded by mu
}

type memoryItem struct {
	Item
	session *localSession // of an ephemeral key: whose it is
}

func (m *Memory) start(content *memoryContent) *Memory {
	m.begin.Do(func() {
		if content == nil {
			content = &memoryContent{items: map[string]memoryItem{}}
		}
		m.content, m.session, m.closed = content, newLocalSession(), make(chan struct{})
	})
	return m
}

// Handle returns another handle on the same content, as another process would have one.
func (m *Memory) Handle() *Memory {
	return (&Memory{Bounds: m.Bounds}).start(m.start(nil).content)
}

// Expire ends the session of this handle, as a store does when it has not heard of a process for too long: its
// ephemeral keys go in one transaction, which watchers see. For tests.
func (m *Memory) Expire() {
	m.start(nil).endSession(fmt.Errorf("%w: it expired", ErrSessionOver))
}

// Compact forgets the history up to a revision. For tests.
func (m *Memory) Compact(upTo Revision) { m.start(nil).content.history.forget(upTo) }

func (m *Memory) endSession(why error) {
	c := m.content
	c.mu.Lock()
	defer c.mu.Unlock()
	m.session.end(why) // under mu: no ephemeral put comes after the deletion
	c.write(c.keysOf(func(i memoryItem) bool { return i.session == m.session }), nil, nil)
}

// keysOf requires mu.
func (c *memoryContent) keysOf(which func(memoryItem) bool) (keys []string) {
	for key, i := range c.items {
		if which(i) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, key string) (Item, bool, error) {
	c := m.start(nil).content
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := over(ctx, m.closed); err != nil {
		return Item{}, false, err
	}
	i, ok := c.items[key]
	i.Value = bytes.Clone(i.Value)
	return i.Item, ok, nil
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
	c := m.start(nil).content
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := over(ctx, m.closed); err != nil {
		return nil, 0, err
	}
	var found []Item
	for _, prefix := range prefixes {
		first := len(found)
		for key, i := range c.items {
			if strings.HasPrefix(key, prefix) {
				found = append(found, i.Item)
			}
		}
		slices.SortFunc(found[first:], func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
	}
	return found, c.revision, nil
}

// Commit implements Store.
func (m *Memory) Commit(ctx context.Context, t Transaction) (Revision, error) {
	if err := t.Validate(Limits{}); err != nil {
		return 0, err
	}
	c := m.start(nil).content
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := over(ctx, m.closed); err != nil {
		return 0, err
	}
	if err := m.session.ended(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	for _, compare := range t.Compares {
		if !c.holds(compare) {
			return 0, &Conflict{compare}
		}
	}
	return c.write(t.Deletes, t.Puts, m.session), nil
}

// write requires mu. Values are copied.
func (c *memoryContent) write(deletes []string, puts []Item, session *localSession) Revision {
	done := Change{Revision: c.revision + 1}
	for _, key := range deletes {
		if _, ok := c.items[key]; ok {
			delete(c.items, key)
			done.Deletes = append(done.Deletes, key)
		}
	}
	for _, put := range puts {
		i := memoryItem{Item: Item{Key: put.Key, Value: bytes.Clone(put.Value), Revision: done.Revision, Ephemeral: put.Ephemeral}}
		if put.Ephemeral {
			i.session = session
		}
		c.items[put.Key] = i
		done.Puts = append(done.Puts, i.Item)
	}
	if !done.empty() {
		c.revision = done.Revision
		c.history.add(done)
	}
	return c.revision
}

// holds requires mu.
func (c *memoryContent) holds(compare Compare) bool {
	if compare.Present {
		_, there := c.items[compare.Key]
		return there
	}
	if !compare.Prefix {
		return c.items[compare.Key].Revision == compare.Revision
	}
	for key, i := range c.items {
		if strings.HasPrefix(key, compare.Key) && i.Revision > compare.Revision {
			return false
		}
	}
	return true
}

// Copy returns an independent store with the same content, as a restart would find it: without ephemeral keys.
func (m *Memory) Copy() *Memory {
	c := m.start(nil).content
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &memoryContent{items: make(map[string]memoryItem, len(c.items)), revision: c.revision}
	for k, i := range c.items {
		n.items[k] = i
	}
	n.write(n.keysOf(func(i memoryItem) bool { return i.Ephemeral }), nil, nil)
	n.history.begin(n.revision)
	return (&Memory{Bounds: m.Bounds}).start(n)
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, prefixes []string, after Revision, apply func(Change) error) error {
	m.start(nil)
	return m.content.history.watch(ctx, m.closed, prefixes, after, apply)
}

// Session implements Store.
func (m *Memory) Session() Session { return m.start(nil).session }

// Limits implements Store.
func (m *Memory) Limits() Limits { return m.Bounds }

// Close implements Store.
func (m *Memory) Close() error {
	m.start(nil)
	m.closing.Do(func() {
		close(m.closed)
		m.endSession(fmt.Errorf("%w: %w", ErrSessionOver, ErrClosed))
	})
	return nil
}
