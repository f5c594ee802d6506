package configuration

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/zone"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Node is what sessions have of their node by default. Immutable.
type Node struct {
	Verification     reader.Verification
	Disable, Dialect string // "": the table's
	Zones            *zone.Zones
}

// Session is the settings of one session.
type Session struct {
	Values
	node *Node
	user string
	// modes are those of the open transaction, or of one that would begin now.
	modes   func() Modes
	started map[string]string // what the client began the session with; immutable after Begin
	// placeholders are settings that the node does not define and that were SET once.
	placeholders map[string]bool
	// calls records what set_config() sets in the statement that is being planned, or runs; nil: it may not call it.
	calls *Calls
}

// New are those of a session that begins. modes are those of the open transaction, or else DefaultModes.
func New(node *Node, user string, modes func() Modes) Session {
	return Session{Values: Default(user), node: node, user: user, modes: modes}
}

// Started is the value that the client began the session with.
func (s *Session) Started(lower string) (value string, began bool) {
	value, began = s.started[lower]
	return value, began
}

// Keep notes that a setting exists from now on: a placeholder stays, empty, when its value is taken back.
func (s *Session) Keep(lower string) {
	if setting.Find(lower) != nil {
		return
	}
	if s.placeholders == nil {
		s.placeholders = map[string]bool{}
	}
	s.placeholders[lower] = true
}

// AtStart are the settings that the session began with, and that RESET brings back.
func (s *Session) AtStart() Values {
	x := Default(s.user)
	for name, value := range s.started {
		x.Put(name, value)
	}
	return x
}

// Shown is a setting's value as SHOW has it.
func (s *Session) Shown(name string) (string, error) {
	value, known, err := s.Value(name)
	if known != nil {
		value = known.Show(value)
	}
	return value, err
}

// Value is a setting's value in its base unit; known is nil if it is a placeholder.
func (s *Session) Value(name string) (value string, known *setting.Setting, err error) {
	lower := strings.ToLower(name)
	known = setting.Find(lower)
	if value, ok := s.ofTransaction(lower); ok {
		return value, known, nil
	}
	if value, ok := s.Given[lower]; ok {
		return value, known, nil
	}
	if value, ok := s.Reset(lower, known); ok {
		return value, known, nil
	}
	return "", nil, setting.Unknown(name)
}

// Milliseconds is a setting's value, if that is its base unit.
func (s *Session) Milliseconds(name string) time.Duration {
	value, _, _ := s.Value(name)
	ms, _ := strconv.ParseInt(value, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// Reset is the value that RESET brings back.
func (s *Session) Reset(lower string, known *setting.Setting) (value string, exists bool) {
	if value, ok := s.started[lower]; ok {
		return value, true
	}
	switch {
	case known == nil:
		return "", s.placeholders[lower]
	case lower == setting.Verify:
		return VerifyWord(s.node.Verification), true
	case lower == setting.Disable:
		return s.node.Disable, true
	case lower == setting.Dialect && s.node.Dialect != "":
		return s.node.Dialect, true
	case lower == "session_authorization":
		return s.user, true
	}
	return known.Default, true
}

// Check finds what would be wrong with a SET that has no effect anyway.
func (s *Session) Check(head *statement.Set) error {
	if head.Default {
		_, _, err := s.Value(head.Name)
		return err
	}
	_, err := s.ReadWords(head.Name, head.Values)
	return err
}

// ReadWords is ReadText of the words of a SET.
func (s *Session) ReadWords(name string, words []string) (string, error) {
	known := setting.Find(name)
	if len(words) != 1 && (known == nil || known.Policy == setting.Server) {
		return "", sqlerror.New("22023", "SET %s takes only one argument", name)
	}
	return s.read(name, words[0], false, func(known *setting.Setting) (string, error) {
		return known.Read(s.valuesOf(name), words...)
	})
}

// ReadText finds the value that a session may give a setting; atStart: as it begins.
func (s *Session) ReadText(name, text string, atStart bool) (string, error) {
	return s.read(name, text, atStart, func(known *setting.Setting) (string, error) {
		return known.ReadText(s.valuesOf(name), text)
	})
}

// valuesOf is what a known setting has when it is given another value. In a query, calls of set_config() before count.
func (s *Session) valuesOf(name string) setting.Values {
	now, known, _ := s.Value(name)
	reset, _ := s.Reset(strings.ToLower(name), known)
	if earlier, ok := s.calls.last(name); ok {
		now = earlier
	}
	return setting.Values{Now: now, Reset: reset}
}

func (s *Session) read(name, text string, atStart bool, read func(*setting.Setting) (string, error)) (string, error) {
	known := setting.Find(name)
	if known == nil {
		return text, setting.Placeholder(name)
	}
	if err := known.Changeable(atStart); err != nil {
		return "", err
	}
	if (known.Name == "role" || known.Name == "session_authorization") && text == s.user {
		return text, nil // the session's user anyway
	}
	value, err := read(known)
	if err != nil {
		return "", err
	}
	switch strings.ToLower(known.Name) {
	case setting.Verify:
		_, err = VerificationOf(value, s.node.Verification)
	case setting.TimeZone:
		value, err = s.node.Zones.Named(value)
	}
	return value, err
}

// ResetValue is what RESET brings back, if that may be done.
func (s *Session) ResetValue(name string) (string, error) {
	known := setting.Find(name)
	value, ok := s.Reset(strings.ToLower(name), known)
	if !ok {
		return "", setting.Unknown(name)
	}
	if known == nil {
		return value, nil
	}
	return value, known.Changeable(false)
}

// Begin gives the session the settings that its client began it with, in an order that does not depend on luck.
func (s *Session) Begin(given map[string]string) error {
	s.started = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := s.ReadText(name, given[name], true)
		if err != nil {
			return err
		}
		s.started[strings.ToLower(name)] = value
	}
	return nil
}

// List are those that need not be as package setting has them.
func (s *Session) List() []pgcatalog.Setting {
	names := map[string]bool{
		setting.Verify: true, setting.Disable: true, setting.Dialect: true, "session_authorization": true,
	}
	for _, list := range []map[string]bool{s.placeholders, keysOf(s.Given), keysOf(transactionSettings)} {
		maps.Copy(names, list)
	}
	var own []pgcatalog.Setting
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value, known, err := s.Value(name)
		if err != nil {
			continue // a placeholder that no longer is
		}
		x := pgcatalog.Setting{Name: name, Value: value, Shown: value, Source: s.sourceOf(name)}
		x.Reset, _ = s.Reset(name, known)
		if known != nil {
			x.Shown = known.Show(value)
		}
		own = append(own, x)
	}
	return own
}

// sourceOf says where a setting's value comes from, in the words of pg_settings.
func (s *Session) sourceOf(name string) string {
	value, given := s.Given[name]
	began, client := s.started[name]
	switch {
	case client && value == began:
		return "client"
	case given:
		return "session"
	case transactionSettings[name] != nil:
		return "override"
	}
	return "default"
}

func keysOf[V any](m map[string]V) map[string]bool {
	keys := make(map[string]bool, len(m))
	for key := range m {
		keys[key] = true
	}
	return keys
}

// Zone is the session's time zone, as DuckDB knows it.
func (s *Session) Zone() string {
	zone, _ := s.Shown(setting.TimeZone) // it is known
	return zone
}
