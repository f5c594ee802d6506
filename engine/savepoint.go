package engine

import (
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// savepoint is what a block was when SAVEPOINT named it.
//
//	SAVEPOINT a ──── writes, SET, DECLARE, an error ──── ROLLBACK TO a ──── on, usable again
//	     │                                                    │
//	     │  catalog: versions and names of then ◄─────────────┤ chunks written since are discarded: at once, or with the block
//	     │  settings of then            ◄─────────────────────┤   if a result that may read them is still open
//	     │  cursors of then stay, where they have read to;    ┤ cursors and results since are gone
//	     │  DuckDB: no way back to then ◄─────────────────────┘ begun again if an error has aborted its transaction
//
// DuckDB has no savepoints, and an error while a statement runs aborts its whole transaction. That holds only names,
// which are shown again, and changes of temporary objects. All goes back except those: ROLLBACK TO is refused (0A000)
// and the block stays failed if temporary objects were changed since the savepoint, or ever in an aborted transaction.
type savepoint struct {
	name      string
	settings  configuration.Values
	modes     configuration.Modes
	cursors   map[*sqlCursor]bool
	before    *configuration.Values
	after     *configuration.Values
	started   int
	temporary int
	said      int   // by LISTEN and UNLISTEN
	bytes     int64 // charged for it
}

// explicit is the open transaction block, for statements that need one.
func (s *Session) explicit(what string) (*block, error) {
	if s.block == nil || s.block.implicit {
		return nil, sqlerror.New("25P01", "%s can only be used in transaction blocks", what).WithHint("Send BEGIN first.")
	}
	return s.block, nil
}

// savepointsMax bounds the savepoints of a block.
const savepointsMax = 1 << 12

func (s *Session) savepoint(name string) error {
	b, err := s.explicit("SAVEPOINT")
	if err != nil {
		return err
	}
	if len(b.savepoints) >= savepointsMax {
		return sqlerror.New("53400", "too many savepoints in this transaction").WithHint("RELEASE those that are no longer needed.")
	}
	bytes, err := s.chargeSavepoint(b, name)
	if err != nil {
		return err
	}
	p := savepoint{
		bytes: bytes, name: name, settings: s.settings.Clone(), before: b.before, after: b.after.Kept(), modes: b.modes,
		cursors: make(map[*sqlCursor]bool, len(b.cursors)), started: b.started, temporary: b.temporary,
		said: s.listening.Said(),
	}
	for _, c := range b.cursors {
		p.cursors[c] = true
	}
	b.Mark()
	b.savepoints, b.emptied = append(b.savepoints, p), nil
	return nil
}

// savepointNamed finds the youngest savepoint of a name.
func (b *block) savepointNamed(name string) (int, error) {
	for i := len(b.savepoints) - 1; i >= 0; i-- {
		if b.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, sqlerror.New("3B001", "savepoint %q does not exist", name)
}

func (s *Session) releaseSavepoint(name string) error {
	b, err := s.explicit("RELEASE SAVEPOINT")
	if err != nil {
		return err
	}
	i, err := b.savepointNamed(name)
	if err != nil {
		return err
	}
	m := b.modes
	m.ReadOnly = b.savepoints[i].modes.ReadOnly // READ ONLY that was asked for since ends with it, as in PostgreSQL
	s.dropSavepoints(b, i)
	return s.takeModes(b, m)
}

// rollbackTo brings the block back to a savepoint, which stays. An error leaves the block failed.
func (s *Session) rollbackTo(name string) error {
	b, err := s.explicit("ROLLBACK TO SAVEPOINT")
	if err != nil {
		return err
	}
	b.failed = true // until all of it is back
	i, err := b.savepointNamed(name)
	if err != nil {
		return err
	}
	p := &b.savepoints[i]
	s.abandonSince(b, p)
	s.yield()
	if err := s.rollbackDuckTo(b, p); err != nil {
		return err
	}
	if err := b.BackTo(i, b.readSince(p)); err != nil {
		return err
	}
	b.before, b.after = p.before, p.after.Kept() // as above: the savepoint has its own
	modes := b.modes
	b.modes = p.modes
	if !s.settings.Equal(p.settings) || modes != p.modes {
		if err := s.apply(p.settings.Clone()); err != nil {
			return err
		}
	}
	s.listening.BackTo(p.said)
	s.dropSavepoints(b, i+1)
	b.failed, b.emptied = false, nil
	return nil
}

// abandonSince ends the cursors and results that are younger than the savepoint.
func (s *Session) abandonSince(b *block, p *savepoint) {
	for name, c := range b.cursors {
		if !p.cursors[c] {
			delete(b.cursors, name)
			c.close()
		}
	}
	for rows, started := range b.open {
		if started > p.started {
			rows.abandon(sqlerror.New("34000", "the statement that these rows are from was rolled back"))
		}
	}
}

// readSince reports whether an open result may still read rows that were written since the savepoint.
func (b *block) readSince(p *savepoint) bool {
	for _, started := range b.open {
		if started > p.started {
			return true
		}
	}
	return false
}

// rollbackDuckTo makes DuckDB's transaction usable again.
func (s *Session) rollbackDuckTo(b *block, p *savepoint) error {
	aborted := s.conn.Aborted()
	switch {
	case b.temporary > p.temporary:
		return sqlerror.New("0A000", "cannot roll back to savepoint %q: temporary objects were changed since", p.name).
			WithHint("ROLLBACK the whole transaction; temporary tables can be changed outside of savepoints.")
	case aborted && b.temporary > 0:
		return sqlerror.New("0A000", "cannot roll back to savepoint %q: an error has undone the transaction's changes of temporary objects", p.name).
			WithHint("ROLLBACK the whole transaction; temporary tables can be changed before BEGIN.")
	case !aborted:
		return nil
	}
	err := s.conn.Exec("ROLLBACK")
	s.endedDuck(b)
	if err != nil {
		return err
	}
	if b.restarted = true; b.Lease == nil { // the next statement takes a snapshot, and begins it
		return nil
	}
	return s.beginDuck(b)
}

// began notes a result of the block until it is closed.
func (b *block) began(rows *Rows) {
	if b == nil {
		return
	}
	if b.open == nil {
		b.open = map[*Rows]int{}
	}
	b.started++
	b.open[rows] = b.started
	rows.block = b
}

// What SET and SAVEPOINT make a session keep is charged before. The settings, a transaction and its savepoints share
// values, and no count says when one is gone: what they all take is counted again when the charge has doubled, and when
// the transaction ends.

const (
	// savepointLeast and savepointSetting are what a savepoint takes, and for each setting that has a value.
	savepointLeast   = 512
	savepointSetting = 3 * 64
)

// chargeSetting is for a value that is about to be kept.
func (s *Session) chargeSetting(name, value string) error {
	take := func(bytes int64) error { return s.Take(account.Setting, bytes) }
	return s.settingsCharge.Add(name, value, s.countSettings, take)
}

// countSettings charges what there is, and no more.
func (s *Session) countSettings() {
	if s.settingsCharge.None() {
		return
	}
	sets := []*configuration.Values{&s.settings.Values}
	if b := s.block; b != nil {
		sets = append(sets, b.before, b.after)
		for i := range b.savepoints {
			p := &b.savepoints[i]
			sets = append(sets, &p.settings, p.before, p.after)
		}
	}
	s.settingsCharge.Counted(s.settings.BytesOf(sets...), func(bytes int64) { s.Give(account.Setting, bytes) })
}

// chargeSavepoint is for one that is about to be made.
func (s *Session) chargeSavepoint(b *block, name string) (bytes int64, err error) {
	bytes = savepointLeast + int64(len(name)) + savepointSetting*int64(len(s.settings.Given)) + 16*int64(len(b.cursors)) + b.MarkBytes()
	return bytes, s.Take(account.Savepoint, bytes)
}

// dropSavepoints forgets all from the i-th on.
func (s *Session) dropSavepoints(b *block, i int) {
	for _, p := range b.savepoints[i:] {
		s.Give(account.Savepoint, p.bytes)
	}
	b.Unmark(i)
	clear(b.savepoints[i:])
	b.savepoints = b.savepoints[:i]
}

// endedBlock gives back what only the block that has ended kept.
func (s *Session) endedBlock(b *block) {
	s.dropSavepoints(b, 0)
	s.listening.BackTo(0)
	s.countSettings()
}
