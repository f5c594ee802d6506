package engine

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/engine/pgcatalog"
	"github.com/csmsql/csmsql/engine/statement"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// Which backend runs a query that both could run.
const (
	backendAuto    = "auto"
	backendDuckDB  = "duckdb"
	backendCompute = "compute"
)

// When a query over several nodes' memory is split.
const (
	distributeAuto   = "auto"
	distributeOff    = "off"
	distributeAlways = "always" // however small it is
)

// When the parts of a query shuffle tables, and groups, that lie the wrong way for it.
const (
	shuffleAuto   = "auto"
	shuffleOff    = "off" // they are read whole, in place
	shuffleAlways = "always"
)

// Whether a session uses plans again that it has kept (keptplans.go), under PostgreSQL's name for the same question.
const (
	planCacheMode    = "plan_cache_mode"
	planCacheAuto    = "auto"
	planCacheGeneric = "force_generic_plan" // the same here
	planCacheCustom  = "force_custom_plan"  // every statement is planned anew
)

// settings are what SET changes in a session.
type settings struct {
	backend    string
	distribute string
	shuffle    string
	searchPath []string
	// values holds settings that clients set and read back, as text; names in lower case.
	values map[string]string
}

// known are the settings that exist, with their defaults. They are PostgreSQL's names, so that its clients feel at home; those
// that change nothing here are kept so that SHOW tells what SET said.
var known = map[string]string{
	"application_name":                    "",
	"bytea_output":                        "hex",
	"client_encoding":                     "UTF8",
	"client_min_messages":                 "notice",
	"csm.backend":                         backendAuto,
	"csm.distribute":                      distributeAuto,
	"csm.shuffle":                         shuffleAuto,
	verifySetting:                         verifyAuto, // the node's, see standard
	disableSetting:                        "",         // too
	"datestyle":                           "ISO, MDY",
	"default_transaction_isolation":       "repeatable read",
	"default_transaction_read_only":       "off",
	"extra_float_digits":                  "1",
	"idle_in_transaction_session_timeout": "0",
	"integer_datetimes":                   "on",
	"intervalstyle":                       "postgres",
	"is_superuser":                        "on",
	"lock_timeout":                        "0",
	"max_identifier_length":               "63",
	planCacheMode:                         planCacheAuto,
	"row_security":                        "off",
	"search_path":                         duckdb.SchemaName,
	"server_encoding":                     "UTF8",
	"server_version":                      ServerVersion,
	"server_version_num":                  "150000",
	"session_authorization":               "postgres",
	"standard_conforming_strings":         "on",
	"statement_timeout":                   "0",
	"synchronous_commit":                  "on",
	"timezone":                            "Etc/UTC",
	"transaction_isolation":               "repeatable read",
	"transaction_read_only":               "off",
}

// ServerVersion is what clients are told: the PostgreSQL whose protocol and catalogs we speak.
const ServerVersion = "15.0"

// readOnly settings can be shown and not set.
var readOnlySettings = map[string]bool{
	"integer_datetimes": true, "is_superuser": true, "max_identifier_length": true, "server_encoding": true,
	"server_version": true, "server_version_num": true, "session_authorization": true,
}

func defaultSettings() settings {
	return settings{backend: backendAuto, distribute: distributeAuto, shuffle: shuffleAuto, searchPath: []string{duckdb.SchemaName}, values: map[string]string{}}
}

// Setting tells a setting's value.
func (s *Session) Setting(name string) (string, error) {
	if err := s.life.enter(); err != nil {
		return "", err
	}
	defer s.life.leave()
	return s.setting(name)
}

func (s *Session) setting(name string) (string, error) {
	name = strings.ToLower(name)
	value, ok := s.settings.values[name]
	if !ok {
		value, ok = s.standard(name)
	}
	if !ok {
		return "", failure("42704", "unrecognized configuration parameter %q", name)
	}
	return value, nil
}

// standard is the value of a setting that nobody has set.
func (s *Session) standard(name string) (value string, exists bool) {
	switch name {
	case verifySetting:
		return s.engine.regions.verification.setting(), true
	case disableSetting:
		return s.engine.config.Disable, true
	}
	value, exists = known[name]
	return value, exists
}

// set changes a setting. It reports the name under which clients know it and the value that it has now.
func (s *Session) set(head *statement.Set) (value string, err error) {
	name := strings.ToLower(head.Name)
	if strings.HasPrefix(name, "transaction") || strings.HasPrefix(name, "characteristics") {
		return "", nil // isolation levels: every one is snapshot isolation here
	}
	if head.Default && name == "all" {
		s.keepSettings(false)
		return "", s.apply(defaultSettings())
	}
	standard, ok := s.standard(name)
	if !ok {
		return "", failure("42704", "unrecognized configuration parameter %q", head.Name)
	}
	if readOnlySettings[name] {
		return "", failure("55P02", "parameter %q cannot be changed", name)
	}
	if head.Local {
		if s.block == nil || s.block.implicit {
			s.notice(Notice{Severity: "WARNING", State: "25P01", Message: "SET LOCAL can only be used in transaction blocks"})
			return "", nil
		}
	}
	s.yield()
	value = standard
	if !head.Default {
		value = settingText(head.Value)
	}
	switch name {
	case "csm.backend":
		if value != backendAuto && value != backendDuckDB && value != backendCompute {
			return "", failure("22023", "invalid value for parameter \"csm.backend\": %q", value).hint("Available values: auto, duckdb, compute.")
		}
	case "csm.distribute", "csm.shuffle":
		if value != distributeAuto && value != distributeOff && value != distributeAlways {
			return "", failure("22023", "invalid value for parameter \"%s\": %q", name, value).hint("Available values: auto, off, always.")
		}
	case verifySetting:
		if _, err := verificationOf(value, s.engine.regions.verification); err != nil {
			return "", err
		}
	case disableSetting:
		set, err := disabledBy(value)
		if err != nil {
			return "", err
		}
		value = set.String()
	case planCacheMode:
		if value != planCacheAuto && value != planCacheGeneric && value != planCacheCustom {
			return "", failure("22023", "invalid value for parameter \"plan_cache_mode\": %q", value).hint("Available values: auto, force_generic_plan, force_custom_plan.")
		}
	case "datestyle":
		if value, ok = dateStyle(value); !ok {
			return "", failure("0A000", "dates are shown in ISO style alone, not %q", settingText(head.Value)).hint("Use to_char for another.")
		}
	case "intervalstyle":
		if !strings.EqualFold(value, standard) {
			return "", failure("0A000", "intervals are shown in style postgres alone, not %q", value)
		}
		value = standard
	case "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout":
		if !timeoutText.MatchString(strings.TrimSpace(value)) {
			return "", failure("22023", "invalid value for parameter \"%s\": %q", name, value).hint("Valid units are us, ms, s, min, h and d.")
		}
	case "timezone":
		if err := s.conn.Exec("SET TimeZone = " + duckdb.QuoteLiteral(value)); err != nil {
			return "", failure("22023", "invalid value for parameter \"TimeZone\": %q", value)
		}
	case "client_encoding":
		if e := strings.ToUpper(strings.ReplaceAll(value, "-", "")); e != "UTF8" && e != "UNICODE" {
			return "", failure("22023", "invalid value for parameter \"client_encoding\": %q", value).hint("Only UTF8 is supported.")
		}
		value = "UTF8"
	}
	s.keepSettings(head.Local)
	s.settings.put(name, value)
	if b := s.block; b != nil && b.after != nil && !head.Local {
		b.after.put(name, value)
	}
	if name == "search_path" {
		if err := s.applySearchPath(); err != nil {
			return "", err
		}
	}
	return value, s.identify()
}

// timeoutText is a number, of milliseconds or of what its unit says.
var timeoutText = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?\s*(?:us|ms|s|min|h|d)?$`)

// dateStyle is a setting of DateStyle as PostgreSQL shows it, if it is one whose dates are as they are here: how ambiguous input is read is
// no matter, because ISO's is the only one.
func dateStyle(value string) (string, bool) {
	order := "MDY"
	for _, word := range strings.Split(value, ",") {
		switch word = strings.ToUpper(strings.TrimSpace(word)); word {
		case "ISO", "DEFAULT":
		case "MDY", "DMY", "YMD":
			order = word
		case "US", "NONEURO", "NONEUROPEAN":
			order = "MDY"
		case "EURO", "EUROPEAN":
			order = "DMY"
		default:
			return "", false
		}
	}
	return "ISO, " + order, true
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
		x.searchPath = splitPath(value)
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

// restore brings settings back that were kept, if they were.
func (s *Session) restore(kept *settings) error {
	if kept == nil {
		return nil
	}
	return s.apply(kept.clone())
}

// apply makes settings the session's.
func (s *Session) apply(x settings) error {
	s.yield()
	s.settings = x
	zone, _ := s.setting("timezone") // it is known
	return errors.Join(s.conn.Exec("SET TimeZone = "+duckdb.QuoteLiteral(zone)), s.applySearchPath(), s.identify())
}

// applySearchPath makes DuckDB look for unqualified names where we do: in the path's schemas that exist, then among
// PostgreSQL's session functions. (PostgreSQL takes schemas that do not exist, DuckDB does not; nothing can be found in them.)
func (s *Session) applySearchPath() error {
	database, has := duckdb.CatalogName, s.engine.mirror.has
	if s.block != nil && s.block.names != nil {
		database, has = s.block.names.shown.database, s.block.names.has
	}
	parts := make([]string, 0, len(s.settings.searchPath)+1)
	for _, schema := range s.settings.searchPath {
		if has(schema) {
			parts = append(parts, database+"."+duckdb.QuoteIdentifier(schema))
		}
	}
	parts = append(parts, pgcatalog.SessionSchema)
	return s.conn.Exec("SET search_path = " + duckdb.QuoteLiteral(strings.Join(parts, ",")))
}

func splitPath(value string) (path []string) {
	for _, part := range strings.Split(value, ",") {
		part = strings.TrimSpace(part)
		if strings.HasPrefix(part, `"`) {
			part = strings.ReplaceAll(strings.Trim(part, `"`), `""`, `"`)
		} else {
			part = strings.ToLower(part)
		}
		if part != "" && part != "$user" && part != "pg_catalog" {
			path = append(path, part)
		}
	}
	return path
}

// settingText reads the value of a SET: a literal, a word, or a list of them.
func settingText(text string) string {
	text = strings.TrimSpace(text)
	if len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'' && !strings.Contains(text[1:len(text)-1], "','") {
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	return strings.ReplaceAll(text, "'", "")
}
