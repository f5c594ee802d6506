package engine

import (
	"cmp"
	"context"

	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/statement"
)

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
	m, err := b.modes.Changed(asked, b.Lease != nil)
	if err != nil || m == b.modes {
		return err
	}
	b.modes = m
	s.yield()
	b.told = true
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
