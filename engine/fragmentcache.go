package engine

import (
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
)

// fragmentCache is what one fragment leaves for the next: sessions, because it takes DuckDB as long to open one as to run a small
// fragment; and table versions, with the facts that planning derived of them, because every fragment brings them as records.
// The zero value is ready. Safe for concurrent use.
type fragmentCache struct {
	mu       sync.Mutex // guards the rest
	idle     []*Session
	versions map[string]*catalog.TableVersion // by record
}

const (
	// idleSessions bounds how many wait for the next fragment.
	idleSessions = 8
	// versionsMax bounds the versions; beyond it all are forgotten.
	versionsMax = 256
)

// session takes an idle one, that which keeps the plan under a key if there is one, or opens one.
func (c *fragmentCache) session(e *Engine, key string) (*Session, error) {
	c.mu.Lock()
	for n := len(c.idle); n > 0; n = len(c.idle) {
		i := max(slices.IndexFunc(c.idle, func(s *Session) bool { return s.keeps(key) }), 0)
		if !c.idle[i].keeps(key) {
			i = n - 1
		}
		s := c.idle[i]
		c.idle = slices.Delete(c.idle, i, i+1)
		if s.life.ctx.Err() == nil { // it goes with the engine
			c.mu.Unlock()
			return s, nil
		}
	}
	c.mu.Unlock()
	s, err := e.Session(SessionOptions{User: "csm fragment"})
	if err == nil {
		s.fragment = true
	}
	return s, err
}

// done keeps a session whose fragment succeeded.
func (c *fragmentCache) done(s *Session, failed error) {
	c.mu.Lock()
	keep := failed == nil && len(c.idle) < idleSessions
	if keep {
		c.idle = append(c.idle, s)
	}
	c.mu.Unlock()
	if !keep {
		s.Close()
	}
}

// version gives the version whose record this is: the very one that was given for it before, or that the catalog has.
func (c *fragmentCache) version(e *Engine, record []byte) (*catalog.TableVersion, error) {
	c.mu.Lock()
	v := c.versions[string(record)]
	c.mu.Unlock()
	if v != nil {
		return v, nil
	}
	v, err := e.catalog.Version(record)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.versions == nil || len(c.versions) >= versionsMax {
		c.versions = map[string]*catalog.TableVersion{}
	}
	c.versions[string(record)] = v
	return v, nil
}
