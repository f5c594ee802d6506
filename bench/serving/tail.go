package serving

import (
	"bytes"
	"strings"
	"sync"
)

// Tail keeps the end of what a process says on standard error.
type Tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

const tailBytes = 4 << 10

// Write implements io.Writer.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, data...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-tailBytes):])
	return len(data), nil
}

// Text is that, to be put after an error; empty if it said nothing.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.kept)); text != "" {
		return "\nit said: " + text
	}
	return ""
}
