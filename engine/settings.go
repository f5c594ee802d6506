package engine

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Which backend runs a query that both could run.
const (
	backendAuto    = "auto"
	backendDuckDB  = "duckdb"
	backendCompute = "compute"
)

// auto leaves csm.distribute and csm.shuffle to the planner; for their other values see package split.
const auto = "auto"

// settings are what SET changes in a session.
type settings struct {
	backend    string
	distribute string
	shuffle    string
	searchPath []string
	user       string // for whom "$user" stands
	// values are those that the session's client or a SET has given, in their base units; names in lower case.
	values map[string]string
}

// ServerVersion is what clients are told: the PostgreSQL whose protocol and catalogs we speak.
const ServerVersion = "15.0"

func defaultSettings(user string) settings {
	return settings{user: user, backend: backendAuto, distribute: auto, shuffle: auto, searchPath: []string{duckdb.SchemaName}, values: map[string]string{}}
}

// atStart are the settings that the session began with, and that RESET brings back.
func (s *Session) atStart() settings {
	x := defaultSettings(s.options.User)
	for name, value := range s.started {
		x.put(name, value)
	}
	return x
}

// Setting tells a setting's value as SHOW does.
func (s *Session) Setting(name string) (string, error) {
	if err := s.life.Enter(); err != nil {
		return "", err
	}
	defer s.life.Leave()
	return s.setting(name)
}

func (s *Session) setting(name string) (string, error) {
	value, known, err := s.value(name)
	if known != nil {
		value = known.Show(value)
	}
	return value, err
}

// Timeout is a setting that is a time; 0: there is none.
func (s *Session) Timeout(name string) time.Duration {
	if s.life.Enter() != nil {
		return 0
	}
	defer s.life.Leave()
	value, _, _ := s.value(name)
	ms, _ := strconv.ParseInt(value, 10, 64) // all of them are in milliseconds
	return time.Duration(ms) * time.Millisecond
}

// value is a setting's value in its base unit; known is nil if it is a placeholder.
func (s *Session) value(name string) (value string, known *setting.Setting, err error) {
	lower := strings.ToLower(name)
	known = setting.Find(lower)
	if value, ok := s.ofTransaction(lower); ok {
		return value, known, nil
	}
	if value, ok := s.settings.values[lower]; ok {
		return value, known, nil
	}
	if value, ok := s.reset(lower, known); ok {
		return value, known, nil
	}
	return "", nil, setting.Unknown(name)
}

// reset is the value that RESET brings back.
func (s *Session) reset(lower string, known *setting.Setting) (value string, exists bool) {
	if value, ok := s.started[lower]; ok {
		return value, true
	}
	switch {
	case known == nil:
		return "", s.placeholders[lower]
	case lower == setting.Verify:
		return settingOf(s.engine.reader.Verification()), true
	case lower == setting.Disable:
		return s.engine.config.Disable, true
	case lower == setting.Dialect && s.engine.config.Dialect != "":
		return s.engine.config.Dialect, true
	case lower == "session_authorization":
		return s.options.User, true
	}
	return known.Default, true
}

// set runs a SET or RESET.
func (s *Session) set(head *statement.Set) error {
	lower := strings.ToLower(head.Name)
	if head.Default && lower == "all" {
		s.keepSettings(false)
		return s.apply(s.atStart())
	}
	if head.Local && (s.block == nil || s.block.implicit) {
		s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "SET LOCAL can only be used in transaction blocks"})
		if s.block == nil {
			return s.checkSetting(head)
		}
	}
	if head.Default {
		return s.assign(head.Name, nil, head.Local)
	}
	return s.assign(head.Name, head.Values, head.Local)
}

// checkSetting finds what would be wrong with a SET that has no effect anyway.
func (s *Session) checkSetting(head *statement.Set) error {
	if head.Default {
		_, _, err := s.value(head.Name)
		return err
	}
	_, err := s.readWords(head.Name, head.Values)
	return err
}

// readWords is readText of the words of a SET.
func (s *Session) readWords(name string, words []string) (string, error) {
	known := setting.Find(name)
	if len(words) != 1 && (known == nil || known.Policy == setting.Server) {
		return "", sqlerror.New("22023", "SET %s takes only one argument", name)
	}
	return s.readSetting(name, words[0], false, func(known *setting.Setting) (string, error) { return known.Read(s.valuesOf(name), words...) })
}

// readText finds the value that a session may give a setting; atStart: as it begins.
func (s *Session) readText(name, text string, atStart bool) (string, error) {
	return s.readSetting(name, text, atStart, func(known *setting.Setting) (string, error) { return known.ReadText(s.valuesOf(name), text) })
}

// valuesOf is what a known setting has when it is given another value. In a query, calls of set_config() before count.
func (s *Session) valuesOf(name string) setting.Values {
	now, known, _ := s.value(name)
	reset, _ := s.reset(strings.ToLower(name), known)
	if earlier, ok := s.arm.last(name); ok {
		now = earlier
	}
	return setting.Values{Now: now, Reset: reset}
}

func (s *Session) readSetting(name, text string, atStart bool, read func(*setting.Setting) (string, error)) (string, error) {
	known := setting.Find(name)
	if known == nil {
		return text, setting.Placeholder(name)
	}
	if err := known.Changeable(atStart); err != nil {
		return "", err
	}
	if (known.Name == "role" || known.Name == "session_authorization") && text == s.options.User {
		return text, nil // who the session is anyway
	}
	value, err := read(known)
	if err != nil {
		return "", err
	}
	switch strings.ToLower(known.Name) {
	case setting.Verify:
		_, err = verificationOf(value, s.engine.reader.Verification())
	case setting.TimeZone:
		value, err = s.engine.zones.Named(value)
	case "default_transaction_isolation":
		value = isolationOf(value)
	}
	return value, err
}

// assign gives a setting a value, or with words nil the one that RESET brings back.
func (s *Session) assign(name string, words []string, local bool) error {
	lower := strings.ToLower(name)
	if _, is := transactionSettings[lower]; is {
		return s.assignMode(lower, words)
	}
	value, err := s.resetValue(name)
	if words != nil {
		value, err = s.readWords(name, words)
	}
	if err != nil {
		return err
	}
	return s.change(lower, value, words == nil, local)
}

// resetValue is what RESET brings back, if that may be done.
func (s *Session) resetValue(name string) (string, error) {
	known := setting.Find(name)
	value, ok := s.reset(strings.ToLower(name), known)
	if !ok {
		return "", setting.Unknown(name)
	}
	if known == nil {
		return value, nil
	}
	return value, known.Changeable(false)
}

// change makes a checked value the setting's.
func (s *Session) change(lower, value string, reset, local bool) error {
	s.yield()
	_, began := s.started[lower]
	forget := reset && !began
	if !reset {
		if err := s.chargeSetting(lower, value); err != nil {
			return err
		}
	}
	s.keepSettings(local)
	before := maps.Clone(s.settings.values)
	s.settings.assign(lower, value, forget)
	if b := s.block; b != nil && b.after != nil && !local {
		b.after.assign(lower, value, forget)
	}
	if lower == setting.SessionMemory {
		s.limitShare()
	}
	if setting.Find(lower) == nil {
		if s.placeholders == nil {
			s.placeholders = map[string]bool{}
		}
		s.placeholders[lower] = true // it stays, empty, when the value is taken back
	}
	if s.block == nil {
		s.countSettings()
	}
	if err := s.tellDuckDB(before); err != nil {
		return err
	}
	return s.identify()
}

// beginSettings gives the session the settings that its client began it with, in an order that does not depend on luck.
func (s *Session) beginSettings(given map[string]string) error {
	s.started = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := s.readText(name, given[name], true)
		if err != nil {
			return err
		}
		s.started[strings.ToLower(name)] = value
	}
	if len(s.started) == 0 {
		return nil
	}
	return s.apply(s.atStart())
}

// assign notes a value; with forget it is the one of a session that nobody has given any.
func (x *settings) assign(lower, value string, forget bool) {
	x.put(lower, value)
	if forget {
		delete(x.values, lower)
	}
}

func (x *settings) put(name, value string) {
	switch name {
	case "csm.backend":
		x.backend = value
	case "csm.distribute":
		x.distribute = value
	case "csm.shuffle":
		x.shuffle = value
	case "search_path":
		x.searchPath = splitPath(value, x.user)
	}
	x.values[name] = value
}

func (x settings) clone() settings {
	x.values = maps.Clone(x.values)
	return x
}

func (x settings) equal(y settings) bool {
	return x.backend == y.backend && slices.Equal(x.searchPath, y.searchPath) && maps.Equal(x.values, y.values)
}

// keepSettings remembers, before a block's first change of each kind, what its end brings back: ROLLBACK what was before any SET,
// COMMIT what was before SET LOCAL.
func (s *Session) keepSettings(local bool) {
	b := s.block
	if b == nil {
		return
	}
	if b.before == nil {
		before := s.settings.clone()
		b.before = &before
	}
	if local && b.after == nil {
		after := s.settings.clone()
		b.after = &after
	}
}

// ownSettings are those that need not be as package setting has them.
func (s *Session) ownSettings() []pgcatalog.Setting {
	names := map[string]bool{
		setting.Verify: true, setting.Disable: true, setting.Dialect: true, "session_authorization": true,
	}
	for _, list := range []map[string]bool{s.placeholders, keysOf(s.settings.values), keysOf(transactionSettings)} {
		maps.Copy(names, list)
	}
	var own []pgcatalog.Setting
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value, known, err := s.value(name)
		if err != nil {
			continue // a placeholder that no longer is
		}
		x := pgcatalog.Setting{Name: name, Value: value, Shown: value, Source: s.sourceOf(name)}
		x.Reset, _ = s.reset(name, known)
		if known != nil {
			x.Shown = known.Show(value)
		}
		own = append(own, x)
	}
	return own
}

// sourceOf says where a setting's value comes from, in the words of pg_settings.
func (s *Session) sourceOf(name string) string {
	value, given := s.settings.values[name]
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

// restore brings settings back that were kept, if they were, when the block is over.
func (s *Session) restore(b *block, kept *settings) error {
	switch {
	case kept != nil:
		return s.apply(kept.clone())
	case b.told:
		return s.identify()
	}
	return nil
}

// apply makes settings the session's.
func (s *Session) apply(x settings) error {
	s.yield()
	before := s.settings.values
	s.settings = x
	if s.block == nil {
		s.countSettings()
	}
	s.limitShare()
	return errors.Join(s.tellDuckDB(before), s.identify())
}

// tellDuckDB has the session's connection follow its settings, from what they were before.
func (s *Session) tellDuckDB(before map[string]string) error {
	meaning := s.zone() + "\x00" + setting.Meaning(s.settings.values)
	if meaning == s.meaning {
		return nil
	}
	told := setting.Tell(before, s.settings.values)
	if err := s.conn.Exec("SET TimeZone = " + duckdb.QuoteLiteral(s.zone()) + ";" + told); err != nil {
		return err
	}
	s.meaning = meaning
	return nil
}

// zone is the session's time zone, as DuckDB knows it.
func (s *Session) zone() string {
	zone, _ := s.setting(setting.TimeZone) // it is known
	return zone
}
