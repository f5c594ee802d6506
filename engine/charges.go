package engine

import (
	"strconv"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/statement"
)

// What a session's client makes the node keep is charged before it is kept (package account): here and in package wire,
// by Session.Take.

// limitShare has the account know the session's setting, which is in kB.
func (s *Session) limitShare() {
	value, _, _ := s.settings.Value(setting.SessionMemory)
	kilobytes, _ := strconv.ParseInt(value, 10, 64)
	s.account.SetShare(kilobytes << 10)
}

// Take charges bytes that the caller is about to keep for the session's client, or says why it may not. The kinds are
// those of package account and of the server. Only the goroutine that uses the session calls it.
func (s *Session) Take(kind string, bytes int64) error {
	err := s.account.Take(kind, bytes)
	for err != nil && s.relieve(nil) {
		err = s.account.Take(kind, bytes)
	}
	return err
}

// TakeAside is Take for other goroutines, while the session may be running a statement: nothing is dropped for it.
func (s *Session) TakeAside(kind string, bytes int64) error { return s.account.Take(kind, bytes) }

// relieve drops a plan that the session can do without: one that is kept for its text, or that of the least recently
// used statement other than one, which is replanned when it is used. False: there is none.
func (s *Session) relieve(other *Statement) bool {
	if s.life.Enter() != nil {
		return false
	}
	defer s.life.Leave()
	if len(s.kept.list) > 0 {
		s.dropPlan(0).close()
		return true
	}
	if len(s.open) > 0 { // plans may run
		return false
	}
	var oldest *Statement
	for st := range s.statements {
		if st != other && st.spare() && (oldest == nil || st.used < oldest.used) {
			oldest = st
		}
	}
	if oldest == nil {
		return false
	}
	oldest.dropPlan()
	return true
}

// makeRoom drops plans of other statements before one runs, until there is room for the first rows that the Arrow
// kernels may compute for it: later none can be dropped, for it may be the plan that runs.
func (st *Statement) makeRoom() {
	s := st.session
	for first := min(firstRows, s.account.Most()/8); !s.account.Has(first) && s.relieve(st); {
	}
}

// firstRows is what some columns of a thousand rows take.
const firstRows = 64 << 10

// spare reports whether the statement has a plan that it can do without, which makes room: it is charged.
func (st *Statement) spare() bool {
	return st.plan != nil && st.planBytes > 0 && st.planText != "" && st.planned == nil
}

// givingBackMost is how long a statement that makes room may be and cost nothing.
const givingBackMost = 256

// touch notes that the statement is used.
func (st *Statement) touch() {
	st.session.clock++
	st.used = st.session.clock
}

// charge takes what the statement is estimated to take.
func (st *Statement) charge() error {
	st.touch()
	if st.givesBack() {
		return nil
	}
	bytes := st.session.account.OfStatement(len(st.parsed.Text)+st.beside, dialect.TreeMax, conform.Width(st.schema))
	if err := st.session.Take(account.Statement, bytes); err != nil {
		return err
	}
	st.bytes = bytes
	return st.chargePlan()
}

// givesBack reports whether the statement makes room: a session at its limit must still be able to run those.
func (st *Statement) givesBack() bool {
	return len(st.parsed.Text) <= givingBackMost && statement.MakesRoom(st.parsed.Head)
}

// chargePlan takes what its plan is estimated to take, if it has one that is not charged yet.
func (st *Statement) chargePlan() error {
	if st.plan == nil || st.planBytes > 0 {
		return nil
	}
	bytes := st.session.account.OfPlan(len(st.parsed.Text), conform.Width(st.schema))
	if err := st.session.Take(account.Plan, bytes); err != nil {
		return err
	}
	st.planBytes = bytes
	return nil
}

func (st *Statement) discharge() {
	st.session.Give(account.Statement, st.bytes)
	st.session.Give(account.Plan, st.planBytes)
	st.bytes, st.planBytes = 0, 0
}

// dropPlan drops the statement's plan: it is replanned when it is used.
func (st *Statement) dropPlan() {
	st.plan.close()
	st.plan = nil
	st.session.Give(account.Plan, st.planBytes)
	st.planBytes = 0
}

// Give takes bytes off the account that Take put there.
func (s *Session) Give(kind string, bytes int64) { s.account.Give(kind, bytes) }

// Memory is what clients make the node keep, of how much; without what sessions take in any case, and the facts of their tables, which are a cache.
func (e *Engine) Memory() account.Usage {
	u := e.account.Usage()
	u.Used -= u.Base + e.facts.Account.Used()
	return u
}
