package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/gathering"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/rowlock"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/engine/transaction"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// block is a transaction block: explicit (BEGIN), or the unit that a client's message makes.
type block struct {
	implicit bool
	modes    configuration.Modes
	reads    *lookup.Names // of a SERIALIZABLE one; nil: nothing was looked up
	modesSet bool          // the session functions show modes that are not the default
	failed   bool
	// duck: DuckDB's own transaction is open too, so that temporary tables follow ours.
	duck bool
	// Its snapshot is taken by the first statement that looks at data: until then the block costs nothing.
	*transaction.Transaction
	// before are the settings that ROLLBACK brings back, after those that COMMIT does; nil: nothing was SET (LOCAL).
	before, after *configuration.Values
	// cursors that DECLARE opened, by name.
	cursors map[string]*sqlCursor
	// savepoints that are not released, the oldest first.
	savepoints []savepoint
	// open are results that have begun in the block and are not closed, with the number that started was then.
	open    map[*Rows]int
	started int
	// temporary counts the changes of temporary objects, which DuckDB takes back only as a whole.
	temporary int
	// restarted: DuckDB's transaction is younger than the block's snapshot.
	restarted bool
	// names that the block made, dropped or replaced, as its own DuckDB connection shows them; nil: not needed yet.
	names *names.Own
	// rows are all that an implicit block has written, as long as they wait for its end, without tx; nil: none wait.
	rows *gathering.Insertion
	// executed counts the statements of the block; sole is the one of an implicit block that may be repeated.
	executed int
	sole     *sole
	// emptied are the tables that the block truncated since its last savepoint.
	emptied []catalog.TableID
}

// Status of a session between statements, as the protocol shows it.
type Status byte

// The three states.
const (
	Idle   Status = 'I'
	Active Status = 'T'
	Failed Status = 'E'
)

// Status says whether a transaction block is open.
func (s *Session) Status() Status {
	if s.life.Enter() != nil {
		return Idle
	}
	defer s.life.Leave()
	switch {
	case s.block == nil || s.block.implicit:
		return Idle
	case s.block.failed:
		return Failed
	}
	return Active
}

// Rest is for when the client is silent: an open block whose statements each see a new snapshot keeps none meanwhile.
func (s *Session) Rest() {
	s.life.Do(func() {
		if b := s.block; b != nil && !b.implicit && !b.modes.SeesOneSnapshot() && len(b.open)+len(b.cursors) == 0 {
			b.Rest()
		}
	})
}

// Begin opens a transaction block; a second one is only a warning, as in PostgreSQL.
func (s *Session) begin(asked statement.Modes) error {
	if s.block != nil && !s.block.implicit {
		s.notice(Notice{Severity: "WARNING", State: "25001", Message: "there is already a transaction in progress"})
		return s.changeModes(s.block, asked)
	}
	if err := s.settleRows(s.life.Context); err != nil {
		return err
	}
	began := s.block == nil
	if began {
		s.block = s.newBlock(false)
	}
	s.block.implicit = false
	err := s.changeModes(s.block, asked)
	if err != nil && began {
		s.rollback()
	}
	return err
}

// chain begins a transaction with the modes of the one that has just ended.
func (s *Session) chain(m configuration.Modes) error {
	s.block = s.newBlock(false)
	err := s.takeModes(s.block, m)
	if err != nil {
		s.rollback()
	}
	return err
}

// beginDuck begins DuckDB's transaction: not before the block's snapshot is taken and its names are shown, because
// what DuckDB was shown after its transaction began is not there for it.
func (s *Session) beginDuck(b *block) error {
	if b.duck {
		return nil
	}
	if err := s.engine.mirror.Follow(b.Lease.Snapshot.Contents); err != nil {
		return err
	}
	if err := s.conn.Exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	b.duck = true
	return nil
}

// joinDuck has DuckDB's transaction be a block's from the first statement on: now() is the same for all of them.
func (s *Session) joinDuck() error {
	if s.block == nil || s.block.implicit || s.block.duck {
		return nil
	}
	s.yield()
	return s.beginDuck(s.block)
}

// BeginImplicit makes what follows, until EndImplicit, one unit; it costs nothing before a statement reads or writes.
func (s *Session) BeginImplicit() { s.life.Do(s.beginImplicit) }

func (s *Session) beginImplicit() {
	if s.block == nil {
		s.block = s.newBlock(true)
	}
}

// EndImplicit ends the unit that BeginImplicit began, unless an explicit block took it over.
func (s *Session) EndImplicit(ctx context.Context, failed bool) error {
	ctx, leave, err := s.life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.block == nil || !s.block.implicit {
		return nil
	}
	if failed {
		s.rollback()
		return nil
	}
	return s.life.CauseOf(s.commit(ctx))
}

// commitOnce ends the block; an error means that nothing of it happened.
func (s *Session) commitOnce(ctx context.Context) error {
	b := s.block
	if b == nil {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "there is no transaction in progress"})
		return nil
	}
	if b.failed {
		s.rollback()
		return nil
	}
	if !outcome.Commits(ctx) {
		s.rollback()
		return outcome.ErrUserRequest
	}
	outcome.StopClock(ctx) // now that its client waits for it in any case
	b.closeCursors()
	s.yield()
	if b.duck && s.onCommit {
		if err := temporary.Commit(ctx, s.conn); err != nil {
			s.rollback()
			return err
		}
	}
	s.block = nil
	defer s.endedBlock(b)
	defer b.End()
	if b.rows != nil {
		if err := s.engine.inserts.Insert(ctx, b.rows); err != nil {
			s.engine.node.Settle(ctx)
			return member.ExplainFull(err)
		}
	}
	if b.Changes != nil {
		for rows := range b.open {
			if rows.changes {
				rows.park(&s.parked)
			}
		}
		b.validate()
		if err := b.Changes.Commit(ctx); err != nil {
			s.endDuck(b, "ROLLBACK")
			return b.Raced(err)
		}
	}
	return errors.Join(s.endDuck(b, "COMMIT"), s.listened())
}

func (s *Session) rollback() {
	b := s.block
	if b == nil {
		return
	}
	b.closeCursors()
	if s.running != nil {
		s.running.close()
	}
	s.block = nil
	if b.Changes != nil {
		for rows := range b.open {
			if rows.changes {
				rows.abandon(sqlerror.New("34000", "the transaction that these rows are from was rolled back"))
			}
		}
		b.Changes.Rollback()
	}
	_ = s.endDuck(b, "ROLLBACK")
	b.End()
	s.endedBlock(b)
}

func (s *Session) endDuck(b *block, how string) error {
	settings := b.after
	if how == "ROLLBACK" {
		settings = b.before
	}
	if !b.duck {
		return s.restore(b, settings)
	}
	if how == "COMMIT" && b.names != nil {
		b.names.Clear()
	}
	err := s.conn.Exec(how)
	s.endedDuck(b)
	return errors.Join(err, s.restore(b, settings))
}

// endedDuck forgets what went with DuckDB's transaction.
func (s *Session) endedDuck(b *block) {
	b.duck = false
	s.described = nil // a rollback also takes back what the copies of the catalogs show
	if b.names != nil {
		s.closeOwnNames(b)
	}
}

// write runs change in the open block, or in a transaction of its own that it commits. All or nothing: an error
// leaves no trace and no memory.
func (s *Session) write(ctx context.Context, change func(tx *catalog.Transaction, v *snapshot.View) error) error {
	if s.engine.catalog == nil {
		return sqlerror.New("25006", "this session reads the lent memory of another process and cannot write").WithHint("Write through the node itself: csmsql sql without --attach.")
	}
	if s.block != nil {
		return member.ExplainFull(s.writeInBlock(ctx, change))
	}
	s.beginImplicit()
	return s.endImplicit(ctx, s.writeInBlock(ctx, change))
}

// endImplicit ends a statement's own block, of which err came.
func (s *Session) endImplicit(ctx context.Context, err error) error {
	if err == nil {
		return s.commit(ctx)
	}
	s.rollback()
	s.engine.node.Settle(ctx)
	return member.ExplainFull(err)
}

func (s *Session) writeInBlock(ctx context.Context, change func(tx *catalog.Transaction, v *snapshot.View) error) error {
	b := s.block
	if b.modes.ReadOnly { // what the statement says of itself was asked before: this is for what it does beside
		return configuration.ReadOnlyError("a statement that writes")
	}
	if err := s.settleRows(ctx); err != nil {
		return err
	}
	moves := !b.modes.SeesOneSnapshot() || b.implicit && b.executed <= 1
	wait := func(held *rowlock.HeldError) error { return s.await(ctx, b, held) }
	return b.Write(ctx, moves, wait, func() error { return s.writeOnce(ctx, b, change) })
}

func (s *Session) writeOnce(ctx context.Context, b *block,
	change func(tx *catalog.Transaction, v *snapshot.View) error) error {
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return err
	}
	v := s.seeing(b.Contents(), b.Lease.Hold(), own)
	defer v.Release()
	before := b.Changes.Contents()
	if err := change(b.Changes, v); err != nil {
		return err
	}
	after := b.Changes.Contents()
	if v.KeysKept {
		b.Changes.KeepKeys(before)
	}
	if err := b.Claim(ctx, before); err != nil || v.KeysKept {
		return err
	}
	if err := s.engine.keys.Changed(ctx, b.Changes, before, v.Deleted); err != nil || b.Changes.Contents() == after {
		return err
	}
	return b.Claim(ctx, before) // what followed a parent, too
}

// sees has what comes now see what is committed by now, if the block is of that kind.
func (b *block) sees() {
	if b != nil && !b.modes.SeesOneSnapshot() && !(b.implicit && b.executed <= 1) {
		b.Next()
	}
}

var errLockTimeout = sqlerror.New("55P03", "canceling statement due to lock timeout").
	WithHint("Another transaction has changed or locked a row, and has not ended. SET lock_timeout = 0 waits without end.")

// await waits until another transaction's rows may be had, for lock_timeout at most.
func (s *Session) await(ctx context.Context, b *block, held *rowlock.HeldError) error {
	if limit := s.Timeout("lock_timeout"); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errLockTimeout)
		defer cancel()
	}
	s.turn.Pause()
	defer s.turn.Resume()
	return b.Wait(ctx, held)
}

// A SERIALIZABLE block notes what its statements read; the catalog lets it commit only if all of that is still so
// (catalog.Serializable).
//
//	planning: names ─► visible.find, view ─► reads ──┐
//	a plan that was made before ─► what it read then ┴► of the block ─► Commit: 40001 unless it is as it was
//
// Tables are read whole, as far as this goes: two blocks of which each reads what the other writes do not both commit,
// whatever rows they meant. What is not found out is taken for everything: DuckDB's own dialect, system catalogs,
// changes of temporary tables.

// reads are where a statement of the session notes what it reads.
func (s *Session) reads() *lookup.Names {
	if s.block == nil || !s.block.modes.Serializable() {
		return &lookup.Names{}
	}
	if s.block.reads == nil {
		s.block.reads = &lookup.Names{}
	}
	return s.block.reads
}

// readsAgain notes what a plan has read that was made before.
func (s *Session) readsAgain(q *query) {
	if s.block != nil && s.block.modes.Serializable() {
		s.reads().Add(q.Reads)
	}
}

// validate gives the block's transaction what it depends on.
func (b *block) validate() {
	b.Require()
	if !b.modes.Serializable() || b.reads == nil {
		return
	}
	names, all := b.reads.List()
	b.Changes.Serializable(names, all)
}

// modes are those of the open transaction, or of one that would begin now.
func (s *Session) modes() configuration.Modes {
	if s.block != nil {
		return s.block.modes
	}
	return s.settings.DefaultModes()
}

// newBlock is a transaction that begins now.
func (s *Session) newBlock(implicit bool) *block {
	return &block{implicit: implicit, modes: s.settings.DefaultModes(), Transaction: s.engine.transactions.New(s.account)}
}

// assignMode is SET of a setting that belongs to the open transaction; words nil: RESET.
func (s *Session) assignMode(lower string, words []string) error {
	asked, err := configuration.ReadMode(lower, words)
	if err != nil {
		return err
	}
	return s.setTransaction(asked)
}

// setTransaction is SET TRANSACTION.
func (s *Session) setTransaction(asked statement.Modes) error {
	if s.block == nil || s.block.implicit {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "SET TRANSACTION can only be used in transaction blocks"})
		if s.block == nil {
			return nil
		}
	}
	return s.changeModes(s.block, asked)
}

// setCharacteristics is SET SESSION CHARACTERISTICS AS TRANSACTION.
func (s *Session) setCharacteristics(asked statement.Modes) error {
	for _, one := range configuration.Characteristics(asked) {
		if err := s.set(one); err != nil {
			return err
		}
	}
	return nil
}

// changeModes gives a block other modes, as far as it is not too late for them.
func (s *Session) changeModes(b *block, asked statement.Modes) error {
	m, err := b.modes.Changed(asked, b.Looked(), len(b.savepoints) > 0)
	if err != nil {
		return err
	}
	return s.takeModes(b, m)
}

func (s *Session) takeModes(b *block, m configuration.Modes) error {
	if m == b.modes {
		return nil
	}
	s.yield()
	b.modes, b.modesSet = m, true
	return s.identify()
}

// refuseWrite is the error of a statement that would write in a read-only transaction; nil: it may, or does not write.
func (s *Session) refuseWrite(ctx context.Context, st *Statement) error {
	if !s.modes().ReadOnly {
		return nil
	}
	own, err := s.temporaryNames(ctx)
	if err != nil {
		return err
	}
	if command := st.writes(own); command != "" {
		return configuration.ReadOnlyError(command)
	}
	return nil
}

// writes names the command that writes, "" if there is none.
func (st *Statement) writes(own snapshot.Temporary) string {
	if command := cmp.Or(st.locks, configuration.Writes(st.parsed.Head, own)); command != "" || st.inner == nil {
		return command
	}
	return st.inner.writes(own) // what EXECUTE runs
}
