package duckdb

import "context"

// MorselRows is what goroutines and threads take of a chunk at once.
const MorselRows = morselRows

// Morsels lists the rows of the morsels in which BuildKeySet goes through a scan.
func Morsels(s *Scan, column int) ([]int64, error) {
	var rows []int64
	b := &keyBuilder{scan: s, columns: []int{column}}
	for {
		m, err := b.take()
		if m.chunk == nil || err != nil {
			return rows, err
		}
		rows = append(rows, m.end-m.first)
		b.leave(m.chunk)
	}
}

// Lost is what a statement that has failed says when DuckDB does not.
func (s *Statement) Lost(ctx context.Context) error { return s.lost(ctx) }

// Once forgets that the statement has run, so that a plan of which DuckDB can make one run only is run again.
func (s *Statement) Once() { s.ran = false }

// SessionSettings are what SQL may change.
var SessionSettings = sessionSettings

// Check says whether a text may be planned.
func (c *Connection) Check(sql string) error { return c.check(sql) }

// Bound is what the process' C code may have.
func Bound() int64 { return processWarden.bound.Load() }

// BeginExhausted begins work of the connection and interrupts it, before DuckDB has begun with any.
func (c *Connection) BeginExhausted(reason *Error) (end func()) {
	c.begin()
	c.exhaust(reason)
	return c.end
}

// Strike is what the warden does when C code has more than it may have. It reports whether a statement was interrupted.
func Strike() bool { return processWarden.strike(1, 0) }

// TypeNames are the names in SQL of the types that the statement reported for its columns; empty where they have none
// here.
func (s *Statement) TypeNames() []string {
	p := s.columns()
	names := make([]string, len(p.types))
	for i, t := range p.types {
		names[i], _ = typeName(t)
	}
	return names
}

// AdmitMemory reports whether a block may be allocated, and AskedMemory how often the allocators were asked.
var AdmitMemory, AskedMemory = admitMemory, askedMemory

// NewIsJemalloc reports whether operator new takes memory from jemalloc.
var NewIsJemalloc = newIsJemalloc

// Greatest is greatest.
var Greatest = greatest
