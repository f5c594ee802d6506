package duckdb

import (
	"fmt"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/lex"
)

// given is what a database may have of memory, and what it does without for the time being.
type given struct {
	mu               sync.Mutex // guards everything; held while DuckDB's limit is set
	counted, process int64      // Options.MemoryBytes, and account; as it was opened
	yielded          int64
	control          *Connection // by which that is set; nil before the first time, and after Close
	closed           bool
}

// leastCounted is what DuckDB keeps of Options.MemoryBytes at least, whatever it yields.
const leastCounted = 16 << 20

// Yield takes so many bytes of what Options gave the database, for what the process keeps for others; 0: it gets all of
// it back. DuckDB spills earlier then, and C code is refused earlier. False: queries have it now, or the database is
// closed; then it is as it was. Safe for concurrent use.
func (db *Database) Yield(bytes int64) bool {
	g := &db.given
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	if bytes == g.yielded {
		return true
	}
	before := g.yielded
	if bytes > before { // what DuckDB counts goes first, so that there is room
		if !g.tell(db, bytes) || !g.bound(db, bytes) {
			g.tell(db, before) // also what was refused: DuckDB shows the limit that it did not take
			return false
		}
	} else {
		g.bound(db, bytes)
		g.tell(db, bytes)
	}
	g.yielded = bytes
	return true
}

// bound sets what C code may have. Requires mu.
func (g *given) bound(db *Database, yielded int64) bool {
	if g.process == noBound || g.process == 0 {
		return true
	}
	return processWarden.change(db, max(g.process-yielded, leastCounted))
}

// memorySetting is DuckDB's setting; a client's statement may not name it (setsMemory).
const memorySetting = "memory_limit"

// tell sets DuckDB's own limit. It evicts what it must, and refuses when it cannot. Requires mu.
func (g *given) tell(db *Database, yielded int64) bool {
	if g.counted == 0 {
		return true
	}
	if g.control == nil {
		c, err := db.connect()
		if err != nil {
			return false
		}
		c.ours = true
		g.control = c
	}
	limit := max(g.counted-yielded, min(g.counted, leastCounted))
	return g.control.Exec(fmt.Sprintf("SET GLOBAL %s = '%dB'", memorySetting, limit)) == nil
}

// close ends the connection: before the database is.
func (g *given) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.control != nil {
		g.control.Close()
		g.control = nil
	}
}

// memoryNames are the names that DuckDB knows the setting by.
var memoryNames = []string{memorySetting, "max_memory"}

// settingVerbs begin statements that set, or that hold others which do.
var settingVerbs = map[string]bool{"set": true, "reset": true, "pragma": true, "prepare": true, "execute": true, "call": true, "explain": true, "analyze": true}

// setsMemory reports whether sql might set what DuckDB may have: a statement that can set something and mentions it.
// The rest of the configuration is locked. This is not, because Yield sets it.
func setsMemory(sql string) bool {
	folded := lex.Fold(sql)
	if !strings.Contains(folded, memoryNames[0]) && !strings.Contains(folded, memoryNames[1]) {
		return false
	}
	for rest := folded; ; { // whatever is behind a semicolon may be a statement
		start, _ := lex.DuckDB.SkipBlank(rest, 0)
		rest = strings.TrimLeftFunc(rest[start:], func(r rune) bool { return r < 'a' || r > 'z' }) // parentheses
		first := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		if first < 0 {
			first = len(rest)
		}
		if settingVerbs[rest[:first]] {
			return true
		}
		_, after, more := strings.Cut(rest, ";")
		if !more {
			return false
		}
		rest = after
	}
}
