package collector

import (
	"maps"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
)

const (
	// remembered is how long nodes are taken to meet at a table after they did.
	remembered = 2 * time.Second
	// spared is how long nothing is handed over after that failed.
	spared = time.Second
	// meetingsMost bounds the tables that are remembered.
	meetingsMost = 256
)

// meetings are the tables at which nodes meet. Times are given: it reads no clock. Safe for concurrent use.
type meetings struct {
	mu     sync.Mutex
	tables map[catalog.TableID]*meeting // guarded by mu
}

// meeting is what is known of one table.
type meeting struct {
	until time.Time            // nodes meet
	spare time.Time            // nothing is handed over
	came  map[string]time.Time // by node: when its rows were committed here
}

// over reports whether nothing of it matters any more.
func (m *meeting) over(now time.Time) bool {
	maps.DeleteFunc(m.came, func(_ string, at time.Time) bool { return now.Sub(at) > remembered })
	return now.After(m.until) && now.After(m.spare) && len(m.came) == 0
}

// at gives the meeting at a table, new if there is none; nil: there is no room. Requires: mu.
func (l *meetings) at(table catalog.TableID, now time.Time) *meeting {
	m := l.tables[table]
	if m != nil {
		return m
	}
	if len(l.tables) >= meetingsMost {
		maps.DeleteFunc(l.tables, func(_ catalog.TableID, m *meeting) bool { return m.over(now) })
	}
	if len(l.tables) >= meetingsMost {
		return nil
	}
	if l.tables == nil {
		l.tables = map[catalog.TableID]*meeting{}
	}
	m = &meeting{came: map[string]time.Time{}}
	l.tables[table] = m
	return m
}

// met notes that nodes meet at a table.
func (l *meetings) met(table catalog.TableID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.at(table, now); m != nil {
		m.until = now.Add(remembered)
	}
}

// failed notes that handing over did not work.
func (l *meetings) failed(table catalog.TableID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.at(table, now); m != nil {
		m.spare = now.Add(spared)
	}
}

// meet reports whether rows are to be handed over.
func (l *meetings) meet(table catalog.TableID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.tables[table]
	return m != nil && now.Before(m.until) && now.After(m.spare)
}

// collected notes that rows of a node were committed here, and reports whether others' were, too, a while ago at most.
func (l *meetings) collected(table catalog.TableID, node string, now time.Time) (others bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.at(table, now)
	if m == nil {
		return true
	}
	m.came[node] = now
	for other, at := range m.came {
		others = others || other != node && now.Sub(at) <= remembered
	}
	return others
}

// committed notes that this node's own rows were, if that matters to others.
func (l *meetings) committed(table catalog.TableID, self string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.tables[table]; m != nil {
		m.came[self] = now
	}
}
