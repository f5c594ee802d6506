package frontend

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/csmsql/csmsql/wire"
)

// reported are the settings that can change in a session and that clients are told of (F1).
var reported = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "IntervalStyle",
	"standard_conforming_strings", "TimeZone",
}

// configure applies what the client said at start-up, in a fixed order, so that errors do not depend on luck.
func (s *session) configure(ctx context.Context, start wire.Startup) error {
	for _, name := range reported {
		s.told[name], _ = s.engine.Setting(name) // a setting that the engine does not know is never reported
	}
	s.client.SetParameter("TimeZone", s.told["TimeZone"])
	type setting struct{ name, value string }
	var settings []setting
	if start.ApplicationName != "" {
		settings = append(settings, setting{"application_name", start.ApplicationName})
	}
	for name, value := range start.Parameters {
		switch {
		case name == "options":
			for n, v := range commandLineOptions(value) {
				settings = append(settings, setting{n, v})
			}
		case strings.HasPrefix(name, "_pq_.") || name == "replication":
		default:
			settings = append(settings, setting{name, value})
		}
	}
	slices.SortFunc(settings, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	for _, x := range settings {
		if err := s.set(ctx, x.name, x.value); err != nil {
			return err
		}
	}
	s.report()
	return nil
}

// set changes one setting as SET does. Lists (search_path) are given as they are written: a, b.
func (s *session) set(ctx context.Context, name, value string) error {
	_, err := s.engine.Exec(ctx, "SET "+settingName(name)+" TO "+literal(value))
	return err
}

func settingName(name string) string {
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_.") == "" && name != "" {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func literal(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// commandLineOptions reads the start-up parameter "options": "-c name=value --name=value …", with spaces in values escaped
// by backslashes. What it does not understand it ignores, as the PostgreSQL poolers do.
func commandLineOptions(text string) map[string]string {
	settings := map[string]string{}
	words := splitOptions(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "-c" && i+1 < len(words):
			i++
			word = words[i]
		case strings.HasPrefix(word, "-c"):
			word = word[2:]
		case strings.HasPrefix(word, "--"):
			word = word[2:]
		default:
			continue
		}
		if name, value, ok := strings.Cut(word, "="); ok {
			settings[strings.ReplaceAll(name, "-", "_")] = value
		}
	}
	return settings
}

func splitOptions(text string) (words []string) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inWord = true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// report tells the client which reported settings have changed (F1).
func (s *session) report() {
	for _, name := range reported {
		if value, err := s.engine.Setting(name); err == nil && value != s.told[name] {
			s.told[name] = value
			s.client.SetParameter(name, value)
		}
	}
	text, _ := s.engine.Setting("statement_timeout") // no such setting: no timeout
	s.timeout = timeoutOf(text)
}

// timeoutOf reads "0", "1500" (milliseconds), "10s", "5min", "1h".
func timeoutOf(text string) time.Duration {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n <= 0 {
		return 0
	}
	unit := map[string]time.Duration{
		"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute,
		"h": time.Hour, "d": 24 * time.Hour,
	}[strings.TrimSpace(text[len(digits):])]
	if n > float64(1<<62)/float64(max(unit, 1)) {
		return 0
	}
	return time.Duration(n * float64(unit))
}
