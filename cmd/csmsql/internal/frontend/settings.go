package frontend

import (
	"maps"
	"sync/atomic"

	"github.com/csmsql/csmsql/wire"
)

// reported are the settings that can change in a session and whose changes are sent to the client (F1).
var reported = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "IntervalStyle",
	"standard_conforming_strings", "TimeZone",
}

// beginning are the settings that the client said at start-up.
func beginning(start wire.Startup) map[string]string {
	settings := maps.Clone(start.Parameters)
	if start.ApplicationName != "" {
		settings["application_name"] = start.ApplicationName
	}
	return settings
}

// greet sends the client the settings that it does not expect.
func (s *session) greet() {
	for _, name := range reported {
		s.announced[name], _ = s.engine.Setting(name)
		s.client.SetParameter(name, s.announced[name])
	}
	s.report()
}

// report sends the client the reported settings that have changed (F1).
func (s *session) report() {
	for _, name := range reported {
		if value, err := s.engine.Setting(name); err == nil && value != s.announced[name] {
			s.announced[name] = value
			s.client.SetParameter(name, value)
		}
	}
	for name, kept := range map[string]*atomic.Int64{
		"statement_timeout": &s.timeout, "idle_session_timeout": &s.idle, "idle_in_transaction_session_timeout": &s.idleInBlock,
	} {
		kept.Store(int64(s.engine.Timeout(name)))
	}
}
