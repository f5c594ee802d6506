package setting_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// SE1: the list is PostgreSQL's, whole.
func TestEverySettingIsThere(t *testing.T) {
	server := 0
	for _, s := range setting.All() {
		require.NotEmpty(t, s.Name)
		require.Contains(t, []setting.Kind{setting.Bool, setting.Integer, setting.Real, setting.String, setting.Enum}, s.Kind, s.Name)
		require.Same(t, s, setting.Find(strings.ToUpper(s.Name)))
		if s.Policy == setting.Server {
			server++
			require.Error(t, s.Changeable(true), s.Name)
			require.Contains(t, []string{"internal", "postmaster", "sighup"}, s.Context, s.Name)
		}
	}
	require.Len(t, setting.All(), 352+6+8+9)
	require.Equal(t, 167+1, server) // is_superuser is hidden
}

// SE2: every default may be set, and of a fixed setting nothing but what is possible.
func TestDefaultsMayBeSet(t *testing.T) {
	for _, s := range setting.All() {
		if s.Policy == setting.Server || s.Name == "seed" {
			continue
		}
		value, err := s.ReadText(setting.Values{}, s.Default)
		require.NoError(t, err, s.Name)
		require.Equal(t, s.Default, value, s.Name)
		require.Equal(t, s.Policy == setting.Kept, s.Possible == nil, s.Name)
		for _, word := range s.Words {
			value, err := s.ReadText(setting.Values{}, word)
			if s.Policy == setting.Kept || slices.Contains(s.Possible, word) {
				require.NoError(t, err, s.Name)
				require.Equal(t, word, value)
				continue
			}
			require.Equal(t, "0A000", state(err), "%s = %s: %v", s.Name, word, err)
			require.ErrorContains(t, err, `"`+s.Name+`"`)
			require.ErrorContains(t, err, `"`+s.Show(s.Default)+`"`)
		}
	}
}

// SE3.
func TestShownIsRead(t *testing.T) {
	for name, values := range map[string][]string{
		"statement_timeout": {"0", "1", "999", "7000", "60000", "90000", "3600000", "86400000", "2147483647"},
		"work_mem":          {"64", "4096", "1048576", "1025"}, "temp_buffers": {"100", "1024", "131072"},
		"vacuum_cost_delay": {"0", "2", "0.5"}, "log_rotation_age": {"0", "1440", "90"}, "wal_segment_size": {"16777216"},
	} {
		s := setting.Find(name)
		for _, value := range values {
			again, err := s.Parse(setting.Values{}, s.Show(value))
			require.NoError(t, err)
			require.Equal(t, value, again, "%s: %s", name, s.Show(value))
		}
	}
}

// Compared with a PostgreSQL 15 by hand.
func TestValuesAsPostgreSQLHasThem(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"statement_timeout", "7s", "7s"}, {"statement_timeout", "1.5min", "90s"}, {"statement_timeout", " 5 ", "5ms"}, {"statement_timeout", "0x10", "16ms"},
		{"statement_timeout", "010", "8ms"}, {"statement_timeout", "1e3", "1s"}, {"statement_timeout", "400us", "0"}, {"statement_timeout", "2d", "2d"},
		{"statement_timeout", "-5", `22023 -5 ms is outside the valid range for parameter "statement_timeout" (0 .. 2147483647)`},
		{"statement_timeout", "3000000000", `22023 invalid value for parameter "statement_timeout": "3000000000" (Value exceeds integer range.)`},
		{"statement_timeout", "5 lightyears", `22023 invalid value for parameter "statement_timeout": "5 lightyears" ` +
			`(Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".)`},
		{"statement_timeout", "", `22023 invalid value for parameter "statement_timeout": ""`},
		{"work_mem", "1XB", `22023 invalid value for parameter "work_mem": "1XB" (Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".)`},
		{"work_mem", "1", `22023 1 kB is outside the valid range for parameter "work_mem" (64 .. 2147483647)`},
		{"work_mem", "4MB", "4MB"},
		{"work_mem", "64MB", `0A000 parameter "work_mem" cannot be set to "64MB" here, only to "4MB" (The node's --memory bounds all queries together, which spill beyond it.)`},
		{"extra_float_digits", "99", `22023 99 is outside the valid range for parameter "extra_float_digits" (-15 .. 3)`},
		{"extra_float_digits", "3", "3"},
		{"random_page_cost", "-1", `22023 -1 is outside the valid range for parameter "random_page_cost" (0 .. 1.79769e+308)`},
		{"random_page_cost", "4.0", "4"}, {"seq_page_cost", "x", `22023 invalid value for parameter "seq_page_cost": "x"`},
		{"enable_hashjoin", "tr", "on"}, {"enable_hashjoin", "1", "on"}, {"enable_hashjoin", "YES", "on"},
		{"enable_hashjoin", "of", `0A000 parameter "enable_hashjoin" cannot be set to "off" here, only to "on"`},
		{"enable_hashjoin", "o", `22023 parameter "enable_hashjoin" requires a Boolean value`},
		{"enable_hashjoin", "maybe", `22023 parameter "enable_hashjoin" requires a Boolean value`},
		{"enable_hashjoin", "", `22023 parameter "enable_hashjoin" requires a Boolean value`},
		{"client_min_messages", "WARNING", "warning"}, {"client_min_messages", "debug", "debug2"},
		{"client_min_messages", "loud", `22023 invalid value for parameter "client_min_messages": "loud" ` +
			`(Available values: debug5, debug4, debug3, debug2, debug1, log, notice, warning, error.)`},
		{"backslash_quote", "true", "on"}, {"synchronous_commit", "yes", "on"},
		{"client_encoding", "'utf-8'", "UTF8"}, {"client_encoding", "unicode", "UTF8"}, {"client_encoding", "UTF 8", "UTF8"},
		{"client_encoding", "latin1", `0A000 parameter "client_encoding" cannot be set to "latin1" here, only to "UTF8" ` +
			`(Only UTF8 is supported: set client_encoding (or PGCLIENTENCODING) to UTF8.)`},
		{"client_encoding", "nope", `22023 invalid value for parameter "client_encoding": "nope" (Only UTF8 is supported: set client_encoding (or PGCLIENTENCODING) to UTF8.)`},
		{"datestyle", "iso, dmy", "ISO, DMY"}, {"datestyle", "bogus", `22023 invalid value for parameter "DateStyle": "bogus" [Unrecognized key word: "bogus".]`},
		{"datestyle", "German", `0A000 parameter "DateStyle" cannot be set to "German" here: dates are shown in ISO style alone (Set DateStyle to ISO, and use to_char for another style.)`},
		{"search_path", `a, "B c"`, `a, "B c"`}, {"search_path", "a,,b", `22023 invalid value for parameter "search_path": "a,,b" [List syntax is invalid.]`},
		{"search_path", `"a`, `22023 invalid value for parameter "search_path": ""a" [List syntax is invalid.]`}, {"search_path", "", ""},
		{"search_path", "a, PG_TEMP", `0A000 parameter "search_path" cannot be set to "a, PG_TEMP" here: pg_temp has no place in it (Leave pg_temp out: temporary objects are found first, and CREATE TEMP, or pg_temp.name, makes them.)`},
		{"ssl_renegotiation_limit", "0", "0"}, {"default_with_oids", "off", "off"}, {"synchronize_seqscans", "off", "off"},
	} {
		s := setting.Find(c.name)
		value, err := s.ReadText(setting.Values{}, c.text)
		found := s.Show(value)
		if err != nil {
			found = errorText(err)
		}
		require.Equal(t, c.want, found, "%s = %q", c.name, c.text)
	}
	value, err := setting.Find("search_path").Read(setting.Values{}, "a", "B c", `d"e`, "")
	require.NoError(t, err)
	require.Equal(t, `a, "B c", "d""e", ""`, value)
	names, ok := setting.Names(value)
	require.True(t, ok)
	require.Equal(t, []string{"a", "B c", `d"e`, ""}, names)
	_, err = setting.Find("work_mem").Read(setting.Values{}, "1", "2")
	require.Equal(t, "22023 SET work_mem takes only one argument", errorText(err))
}

// Compared with a PostgreSQL 15 by hand: what a value of DateStyle does not say is as it was, or after DEFAULT as RESET brings it back.
func TestDateStyleOf(t *testing.T) {
	style := setting.Find("DateStyle")
	of := setting.Values{Now: "ISO, DMY", Reset: "ISO, YMD"}
	const invalid = `22023 invalid value for parameter "DateStyle": `
	for _, c := range []struct{ text, want string }{
		{"ISO", "ISO, DMY"}, {"", "ISO, DMY"}, {"  ", "ISO, DMY"}, {`"ISO"`, "ISO, DMY"}, {"ISO, ISO", "ISO, DMY"}, {"MDY", "ISO, MDY"}, {"ymd", "ISO, YMD"},
		{"DEFAULT", "ISO, YMD"}, {"default, iso", "ISO, YMD"}, {"ISO, DEFAULT", "ISO, YMD"}, {"DEFAULT, MDY", "ISO, MDY"}, {"MDY, DEFAULT", "ISO, MDY"},
		{`"iso", "DMY"`, "ISO, DMY"}, {"US", "ISO, MDY"}, {"EuroXX", "ISO, DMY"}, {"NONEUROxx", "ISO, MDY"}, {"DMY, European", "ISO, DMY"},
		{"MDY, DMY", invalid + `"MDY, DMY" [Conflicting "datestyle" specifications.]`},
		{"ISO, SQL", invalid + `"ISO, SQL" [Conflicting "datestyle" specifications.]`},
		{"iso dmy", invalid + `"iso dmy" [List syntax is invalid.]`}, {"ISO,,DMY", invalid + `"ISO,,DMY" [List syntax is invalid.]`},
		{"ISOx", invalid + `"ISOx" [Unrecognized key word: "isox".]`}, {"ISO, bogus", invalid + `"ISO, bogus" [Unrecognized key word: "bogus".]`},
		{"Postgres, DMY", `0A000 parameter "DateStyle" cannot be set to "Postgres, DMY" here: dates are shown in ISO style alone ` +
			"(Set DateStyle to ISO, and use to_char for another style.)"},
	} {
		value, err := style.ReadText(of, c.text)
		if err != nil {
			value = errorText(err)
		}
		require.Equal(t, c.want, value, "%q", c.text)
	}
	value, err := style.ReadText(setting.Values{}, "ISO")
	require.NoError(t, err)
	require.Equal(t, style.Default, value)
}

func TestUnknownNames(t *testing.T) {
	for name, want := range map[string]string{
		"statment_timeout": `42704 unrecognized configuration parameter "statment_timeout" (Perhaps you mean "statement_timeout".)`,
		"csm.backed":       `42704 unrecognized configuration parameter "csm.backed" (Perhaps you mean "csm.backend".)`,
		"nothing_like_it":  `42704 unrecognized configuration parameter "nothing_like_it"`,
		"my.":              `42602 invalid configuration parameter name "my." [Custom parameter names must be two or more simple identifiers separated by dots.]`,
		"my.1x":            `42602 invalid configuration parameter name "my.1x" [Custom parameter names must be two or more simple identifiers separated by dots.]`,
	} {
		require.Equal(t, want, errorText(setting.Placeholder(name)))
	}
	for _, name := range []string{"my.x", "request.jwt.claims", "Ä.ö"} {
		require.NoError(t, setting.Placeholder(name))
	}
}

func FuzzValues(f *testing.F) {
	for _, seed := range []string{"7s", "1e400", "-0x1", "on", `"a", b`, "'utf-8'", "9999999999999999999999d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range setting.All() {
			value, err := s.ReadText(setting.Values{}, text)
			if err != nil {
				continue
			}
			again, err := s.ReadText(setting.Values{}, s.Show(value))
			require.NoError(t, err, "%s = %q, shown as %q", s.Name, text, s.Show(value))
			require.Equal(t, value, again, s.Name)
		}
	})
}

func state(err error) string {
	var e *sqlerror.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.State
}

func errorText(err error) string {
	var e *sqlerror.Error
	if !errors.As(err, &e) {
		return ""
	}
	text := e.State + " " + e.Message
	if e.DetailText != "" {
		text += " [" + e.DetailText + "]"
	}
	if e.HintText != "" {
		text += " (" + e.HintText + ")"
	}
	return text
}
