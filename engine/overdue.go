package engine

import (
	"time"

	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/overdue"
)

// overdueMost bounds the statements that go on though their clients were answered. Each has a thread; what it has of DuckDB's memory is bounded with all else.
const overdueMost = 64

// Overdue are the places of such statements, for who answers clients.
func (e *Engine) Overdue() *overdue.Places { return e.overdue }

// LeaveBehind is for who answers the session's client, for such a reason, while a call of the session does not return: sql, which began at a time, is listed
// at a place that was taken before (Engine.Overdue). Other sessions' statements are planned without waiting for it. over is called when the call has
// returned; both may be called from any goroutine.
func (s *Session) LeaveBehind(sql string, since time.Time, reason error) (over func()) {
	s.turn.Abandon()
	return s.engine.overdue.Put(overdue.Statement{
		Session: s.options.ProcessID, User: s.options.User, Text: history.Shown(sql), Since: since, Reason: reason.Error(),
	})
}
