package engine

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/csmsql/csmsql/engine/configuration"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/statement"
)

// ServerVersion is what clients see: the PostgreSQL whose protocol and catalogs we speak.
const ServerVersion = "15.0"

// Setting returns a setting's value as SHOW does.
func (s *Session) Setting(name string) (string, error) {
	if err := s.life.Enter(); err != nil {
		return "", err
	}
	defer s.life.Leave()
	return s.settings.Shown(name)
}

// Timeout is a setting that is a time; 0: there is none.
func (s *Session) Timeout(name string) time.Duration {
	if s.life.Enter() != nil {
		return 0
	}
	defer s.life.Leave()
	return s.settings.Milliseconds(name)
}

// set runs a SET or RESET.
func (s *Session) set(head *statement.Set) error {
	lower := strings.ToLower(head.Name)
	if head.Default && lower == "all" {
		s.keepSettings(false)
		return s.apply(s.settings.AtStart())
	}
	if head.Local && (s.block == nil || s.block.implicit) {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "SET LOCAL can only be used in transaction blocks"})
		if s.block == nil {
			return s.settings.Check(head)
		}
	}
	if head.Default {
		return s.assign(head.Name, nil, head.Local)
	}
	return s.assign(head.Name, head.Values, head.Local)
}

// assign gives a setting a value, or with words nil the one that RESET brings back.
func (s *Session) assign(name string, words []string, local bool) error {
	lower := strings.ToLower(name)
	if configuration.OfTransaction(lower) {
		return s.assignMode(lower, words)
	}
	value, err := s.settings.ResetValue(name)
	if words != nil {
		value, err = s.settings.ReadWords(name, words)
	}
	if err != nil {
		return err
	}
	return s.change(lower, value, words == nil, local)
}

// change makes a checked value the setting's.
func (s *Session) change(lower, value string, reset, local bool) error {
	s.yield()
	_, began := s.settings.Started(lower)
	forget := reset && !began
	if !reset {
		if err := s.chargeSetting(lower, value); err != nil {
			return err
		}
	}
	s.keepSettings(local)
	before := maps.Clone(s.settings.Given)
	s.settings.Assign(lower, value, forget)
	if b := s.block; b != nil && b.after != nil && !local {
		b.after.Assign(lower, value, forget)
	}
	if lower == setting.SessionMemory {
		s.limitShare()
	}
	s.settings.Keep(lower)
	if s.block == nil {
		s.countSettings()
	}
	if err := s.tellDuckDB(before); err != nil {
		return err
	}
	return s.identify()
}

// beginSettings gives the session the settings that its client began it with.
func (s *Session) beginSettings(given map[string]string) error {
	err := s.settings.Begin(given)
	if err != nil || len(given) == 0 {
		return err
	}
	return s.apply(s.settings.AtStart())
}

// keepSettings remembers, before a block's first change of each kind, what its end brings back: ROLLBACK what was before any SET,
// COMMIT what was before SET LOCAL.
func (s *Session) keepSettings(local bool) {
	b := s.block
	if b == nil {
		return
	}
	if b.before == nil {
		b.before = s.settings.Kept()
	}
	if local && b.after == nil {
		b.after = s.settings.Kept()
	}
}

// restore brings settings back that were kept, if they were, when the block is over.
func (s *Session) restore(b *block, kept *configuration.Values) error {
	switch {
	case kept != nil:
		return s.apply(kept.Clone())
	case b.modesSet:
		return s.identify()
	}
	return nil
}

// apply makes settings the session's.
func (s *Session) apply(x configuration.Values) error {
	s.yield()
	before := s.settings.Given
	s.settings.Values = x
	if s.block == nil {
		s.countSettings()
	}
	s.limitShare()
	return errors.Join(s.tellDuckDB(before), s.identify())
}

// tellDuckDB has the session's connection follow its settings, from what they were before.
func (s *Session) tellDuckDB(before map[string]string) error {
	meaning := s.settings.Zone() + "\x00" + setting.Meaning(s.settings.Given)
	if meaning == s.meaning {
		return nil
	}
	changes := setting.SetStatements(before, s.settings.Given)
	if err := s.conn.Exec("SET TimeZone = " + duckdb.QuoteLiteral(s.settings.Zone()) + ";" + changes); err != nil {
		return err
	}
	s.meaning = meaning
	return nil
}

// without is what the session's queries do without.
func (s *Session) without() optimization.Set {
	out := s.settings.Without()
	if s.asDeclared {
		out |= optimization.Enum
	}
	return out
}

func (s *Session) readings() *reader.Readings {
	return s.engine.reader.Readings(s.settings.Verification()).LeasedElsewhere(s.fragment)
}

// Sets reports whether the statement is a query that may change settings.
func (st *Statement) Sets() bool {
	_, reads := st.parsed.Head.(*statement.Select)
	return reads && configuration.CallsSetConfig(st.parsed.Text) || st.inner != nil && st.inner.Sets()
}

// readAndSet runs a query that calls set_config().
func (st *Statement) readAndSet(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	if _, err := s.engine.zones.Names(); err != nil { // a row's call must not ask DuckDB
		return nil, err
	}
	calls, disarm := s.settings.Arm()
	defer disarm()
	rows, err := st.read(ctx, args)
	out := s.keeper()
	if err == nil {
		err = out.Drain(ctx, rows.nextOwned)
		rows.Close()
	}
	if list, failed := calls.List(); err == nil {
		err = s.makeCalls(list)
	} else if failed != nil {
		err = failed
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	tag := rows.tag
	kept := keptRows(out, rows.schema, "", out.Rows)
	kept.tag = tag
	return kept, nil
}

// makeCalls sets what was asked for: all of it or nothing.
func (s *Session) makeCalls(list []configuration.Call) error {
	before := s.settings.Clone()
	for _, call := range list {
		if err := s.makeCall(call); err != nil {
			if back := s.apply(before); back != nil {
				return back
			}
			return err
		}
	}
	if len(list) > 0 {
		s.forgetPlans()
	}
	return nil
}

func (s *Session) makeCall(call configuration.Call) error {
	lower := strings.ToLower(call.Name)
	if configuration.OfTransaction(lower) {
		return s.assignMode(lower, []string{call.Value})
	}
	if call.Local && s.block == nil {
		return nil // the transaction is the statement, which is over
	}
	return s.change(lower, call.Value, call.Reset, call.Local)
}
