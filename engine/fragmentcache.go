package engine

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// fragmentCache is what one fragment leaves for the next: sessions, because it takes DuckDB as long to open one as to run a small
// fragment; and table versions, with the facts that planning derived of them, because every fragment brings them as records.
// The zero value is ready. Safe for concurrent use.
type fragmentCache struct {
	mu       sync.Mutex // guards the rest
	idle     []*Session
	versions map[string]*catalog.TableVersion // by record
	known    map[string]*knownPayload         // by what was sent
}

// knownPayload is what a fragment was told, and what it sees then. Immutable.
type knownPayload struct {
	fragmentPayload
	snapshot *catalog.Snapshot // of tables; it holds no lease
}

const (
	// idleSessions bounds how many wait for the next fragment.
	idleSessions = 8
	// versionsMax bounds the versions; beyond it all are forgotten.
	versionsMax = 256
	// payloadsMax bounds the payloads, and payloadBytes those that are worth it; beyond it all are forgotten.
	payloadsMax, payloadBytes = 256, 16 << 10
)

// payload reads what a fragment is told: the very one that was read for it before, unless it tells of results, which are others each time.
func (c *fragmentCache) payload(e *Engine, encoded []byte) (*knownPayload, error) {
	c.mu.Lock()
	k := c.known[string(encoded)]
	c.mu.Unlock()
	if k != nil {
		return k, nil
	}
	k = &knownPayload{}
	if err := json.Unmarshal(encoded, &k.fragmentPayload); err != nil {
		return nil, sqlerror.New("08P01", "a fragment's payload makes no sense: %v", err)
	}
	record, err := catalog.DecodeSnapshotRecord(k.Snapshot)
	if err != nil {
		return nil, err
	}
	k.snapshot, err = catalog.NewRemoteSnapshot(record, e.catalog, catalog.RemoteOptions{
		Version: func(record []byte) (*catalog.TableVersion, error) { return c.version(e, record) },
	})
	if err != nil || len(k.Stages) > 0 || len(encoded) > payloadBytes {
		return k, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= payloadsMax {
		c.known = map[string]*knownPayload{}
	}
	c.known[string(encoded)] = k
	return k, nil
}

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
		if s.life.Context.Err() == nil { // it goes with the engine
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
