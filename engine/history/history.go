package history

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Query is a statement that has ended, for its client at least.
type Query struct {
	Started       time.Time
	Took          time.Duration
	User, Text    string
	Rows          int64
	Local, Remote int64 // bytes of chunks that were read
	Fragments     int64 // 0: it ran on one node
	Failure       string
	Overdue       bool // it goes on, though its client was answered
}

// queriesMost bounds how many statements are remembered, textMost how much of each text.
const queriesMost, textMost = 256, 1000

// History remembers the latest queries. Safe for concurrent use.
type History struct {
	mu   sync.Mutex
	past []Query // a ring: the oldest is at next
	next int
}

// Add remembers one, in the place of the oldest.
func (h *History) Add(q Query) {
	q.Text = Shown(q.Text)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.past) < queriesMost {
		h.past = append(h.past, q)
		return
	}
	h.past[h.next] = q
	h.next = (h.next + 1) % queriesMost
}

// Shown is as much of a text as is shown.
func Shown(text string) string {
	if len(text) <= textMost {
		return text
	}
	return strings.ToValidUTF8(text[:textMost], "") + "…"
}

// List gives them, the oldest first.
func (h *History) List() []Query {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(slices.Clone(h.past[h.next:]), h.past[:h.next]...)
}
