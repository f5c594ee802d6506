package frontend

import (
	"time"

	"github.com/csmsql/csmsql/wire"
)

var _ wire.Patient = (*session)(nil)

var (
	errIdleInTransaction = &wire.Error{
		State: "25P03", Message: "terminating connection due to idle-in-transaction timeout", Help: "idle_in_transaction_session_timeout says how long it may be.",
	}
	errIdle = &wire.Error{State: "57P05", Message: "terminating connection due to idle-session timeout", Help: "idle_session_timeout says how long it may be."}
)

// Patience implements wire.Patient. A silent client's open transaction keeps as little in memory as it can.
func (s *session) Patience() (time.Duration, error) {
	s.calls.after(s.engine.Rest)
	if s.Status() == wire.TxIdle {
		return time.Duration(s.idle.Load()), errIdle
	}
	return time.Duration(s.idleInBlock.Load()), errIdleInTransaction
}
