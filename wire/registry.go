package wire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"time"
)

// registry knows the open sessions by process ID, so that a cancel request, which comes on a connection of its own,
// finds the session it means.
type registry struct {
	mu       sync.Mutex
	sessions map[uint32]*connection // guarded by mu
}

func (r *registry) init() { r.sessions = make(map[uint32]*connection) }

// enter gives c a process ID that no open session has, and a secret key.
func (r *registry) enter(c *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var random [8]byte
		rand.Read(random[:]) // never fails: crypto/rand ends the process rather than return an error
		// Positive as an int32: drivers keep it in one, and pg_backend_pid() returns one.
		id := binary.BigEndian.Uint32(random[:4]) >> 1
		if _, taken := r.sessions[id]; id == 0 || taken {
			continue
		}
		c.processID = id
		copy(c.secretKey[:], random[4:])
		r.sessions[id] = c
		return
	}
}

func (r *registry) leave(c *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, c.processID)
}

// cancel interrupts what the session runs, if the key is its own. The answer is the same silence either way (W4).
func (r *registry) cancel(processID uint32, key []byte) {
	r.mu.Lock()
	c := r.sessions[processID]
	r.mu.Unlock()
	var secret [4]byte
	if c != nil {
		secret = c.secretKey
	}
	if subtle.ConstantTimeCompare(secret[:], key) == 1 && c != nil {
		c.running.interrupt(ErrCanceled)
	}
}

// all returns the open sessions.
func (r *registry) all() []*connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	sessions := make([]*connection, 0, len(r.sessions))
	for _, c := range r.sessions {
		sessions = append(sessions, c)
	}
	return sessions
}

// running is the statement that a connection runs at the moment, for other goroutines that interrupt it.
//
//	handle ──────── begin ── end ──────── begin ── end ──────── handled
//	  ◄─────────────── a cancel request ends it ──────────────►
//
// A message may have many statements, and between two of them none runs. What interrupts it there, or too late for
// a statement that succeeds all the same, ends the next one.
type running struct {
	mu       sync.Mutex
	cancel   context.CancelCauseFunc // guarded by mu; nil between statements
	timer    *time.Timer             // guarded by mu; of the statement timeout; nil: none
	handling bool                    // guarded by mu; a message is, or its pipeline waits; else cancels hit nothing (W4)
	reason   error                   // guarded by mu; for which that, and what the client has sent behind it up to Sync, is to end; nil: none
}

// handle says that a message is being handled, up to handled.
func (r *running) handle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handling = true
}

// handled says that none is, unless more of what the client has sent with it is here: what interrupts it before that is
// read ends it, too.
func (r *running) handled(more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handling = more
	if !more {
		r.reason = nil
	}
}

// begin registers the cancel function of what runs from now until end. It may run for atMost; 0: for ever. An error is
// the reason why it must end at once; cancel was called with it.
func (r *running) begin(cancel context.CancelCauseFunc, atMost time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
	if r.reason != nil {
		cancel(r.reason)
		return r.reason
	}
	if atMost <= 0 {
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(atMost, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer == timer { // what it was meant for runs still (W4)
			r.cancel(ErrStatementTimeout)
		}
	})
	r.timer = timer
	return nil
}

func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// untime lets what runs take as long as it takes.
func (r *running) untime() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

func (r *running) interrupt(cause error) {
	r.mu.Lock()
	cancel := r.cancel
	if r.handling {
		r.reason = cause
	}
	r.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

func (r *running) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancel != nil
}
