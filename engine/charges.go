package engine

import (
	"errors"
	"strconv"

	"github.com/csmsql/csmsql/engine/account"
)

// What a session's client makes the node keep is charged before it is kept (package account): here and in package wire, by Session.Take.

// sessionMemory is the setting that bounds a session's share.
const sessionMemory = "csm.session_memory"

// limitShare has the account know the session's setting, which is in kB.
func (s *Session) limitShare() {
	value, _, _ := s.value(sessionMemory)
	kilobytes, _ := strconv.ParseInt(value, 10, 64)
	s.account.SetShare(kilobytes << 10)
}

// Take charges bytes that the caller is about to keep for the session's client, or says why it may not. The kinds are package account's, and
// those of whoever stands between the session and its client. Only the goroutine that uses the session calls it.
func (s *Session) Take(kind string, bytes int64) error {
	return refusal(s.account.Take(kind, bytes))
}

// Give takes bytes off the account that Take put there.
func (s *Session) Give(kind string, bytes int64) { s.account.Give(kind, bytes) }

// Memory is what clients make the node keep, of how much.
func (e *Engine) Memory() account.Usage { return e.account.Usage() }

// refusal is the account's error as the engine's.
func refusal(err error) error {
	var e *account.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{State: e.State, Message: e.Message, DetailText: e.Facts, HintText: e.Help, Cause: err}
}

const (
	// gatherPart of what clients may have is gathered for one COPY at most.
	gatherPart = 8
	// gatherStep is what a COPY takes at once, so that short rows need not ask one by one.
	gatherStep = 64 << 10
	// valueBytes is what a value takes beside its own bytes.
	valueBytes = 8
)

// gathering is the memory of a COPY's rows between the client and DuckDB: bounded by bytes, whatever their number.
type gathering struct {
	session     *Session
	most        int64 // bytes, after which there are enough
	used, taken int64
}

func (g *gathering) full() bool { return g.used >= g.most }

// add charges a row that is to be gathered. What grows doubles, so that a row stands there twice for a moment.
func (g *gathering) add(row [][]byte) error {
	g.used += int64(len(row)) * valueBytes
	for _, value := range row {
		g.used += int64(len(value))
	}
	more := 2*g.used - g.taken
	if more <= 0 {
		return nil
	}
	more = max(more, gatherStep)
	if err := g.session.Take(account.Copy, more); err != nil {
		return err
	}
	g.taken += more
	return nil
}

// clear is for rows that were handed over.
func (g *gathering) clear() {
	g.session.Give(account.Copy, g.taken)
	g.used, g.taken = 0, 0
}
