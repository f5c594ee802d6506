package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/sql/setting"
)

// effects are the tests that show what each setting does whose every value is accepted.
var effects = map[string]string{
	"application_name":                       "TestApplicationName",
	"calendar":                               "TestSettingsThatAreMeaning",
	"client_connection_check_interval":       "TestDisconnectCancels",
	"client_min_messages":                    "TestNoticesAreFiltered",
	"csm.backend":                            "TestBackendIsChosen",
	"csm.dialect":                            "TestDialectOfASession",
	"csm.disable":                            "TestDisableIsASetting",
	"csm.distribute":                         "TestVerificationTravels",
	"csm.max_staleness":                      "TestClusterLosesItsMajority",
	"csm.session_memory":                     "TestShareOfSession",
	"csm.shuffle":                            "TestShuffles",
	"csm.verify":                             "TestVerificationOfASession",
	"DateStyle":                              "TestDateStyle",
	"default_null_order":                     "TestSettingsThatAreMeaning",
	"default_order":                          "TestSettingsThatAreMeaning",
	"default_transaction_deferrable":         "TestTransactionModes",
	"default_transaction_isolation":          "TestTransactionModes",
	"default_transaction_read_only":          "TestReadOnlyTransactions",
	"disable_timestamptz_casts":              "TestSettingsThatAreMeaning",
	"idle_in_transaction_session_timeout":    "TestIdleTimeouts",
	"idle_session_timeout":                   "TestIdleTimeouts",
	"ieee_floating_point_ops":                "TestSettingsThatAreMeaning",
	"integer_division":                       "TestSettingsThatAreMeaning",
	"lambda_syntax":                          "TestSettingsThatAreMeaning",
	"lock_timeout":                           "TestNoStatementWaitsForAnotherTransaction",
	"order_by_non_integer_literal":           "TestSettingsThatAreMeaning",
	"plan_cache_mode":                        "TestPlansAreKept",
	"scalar_subquery_error_on_multiple_rows": "TestSettingsThatAreMeaning",
	"search_path":                            "TestSettingsAreKept",
	"statement_timeout":                      "TestCancel",
	"TimeZone":                               "TestTimeZones",
	"transaction_deferrable":                 "TestTransactionModes",
	"transaction_isolation":                  "TestTransactionModes",
	"transaction_read_only":                  "TestReadOnlyTransactions",
}

// valuesToTry are a setting's default, other values that are valid, and some that are not.
func valuesToTry(s *setting.Setting) (values []string) {
	values = []string{s.Default, "nonsense ", "-99999999", "", "1", "off", "on"}
	values = append(values, s.Words...)
	for _, text := range []string{s.Min, s.Max} {
		if text != "" {
			values = append(values, text)
		}
	}
	if n, err := strconv.Atoi(s.Default); err == nil {
		values = append(values, strconv.Itoa(n+1))
	}
	return append(values, map[string][]string{
		"DateStyle": {"ISO, DMY", "German"}, "TimeZone": {"Europe/Berlin", "Nowhere/Land", "3"}, "search_path": {"a, b"}, "client_encoding": {"LATIN1", "utf-8"},
	}[s.Name]...)
}

// Every setting of PostgreSQL with many values: it takes one, shows it and has a test of its effect, or the value is one of those that
// change nothing, or it is an error that names the setting.
func TestNoSettingIsAcceptedWithoutEffect(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Dialect = "" })
	s := session(t, e)
	tests := testNames(t)
	for _, known := range setting.All() {
		for _, value := range valuesToTry(known) {
			words := "'" + strings.ReplaceAll(value, "'", "''") + "'"
			_, err := s.Exec(t.Context(), "SET "+known.Name+" = "+words)
			if err != nil {
				require.ErrorContains(t, err, `"`+known.Name+`"`, "%s", words)
				require.Contains(t, []string{"22023", "0A000", "55P02"}, sqlState(err), "%s = %s: %v", known.Name, words, err)
				continue
			}
			if short := s.Timeout("statement_timeout"); short > 0 && short < time.Minute { // what asks could be late
				shown, err := s.Setting(known.Name)
				require.NoError(t, err)
				require.Equal(t, value+"ms", shown)
				s = session(t, e)
				continue
			}
			shown := rows(t, s, "SHOW "+known.Name)[0]
			if shown != "compute" { // which knows no such function
				require.Equal(t, []string{shown}, rows(t, s, "SELECT current_setting('"+known.Name+"')"))
			}
			if known.Policy == setting.Kept {
				require.True(t, tests[effects[known.Name]], "%s = %s is accepted, and no test shows its effect", known.Name, words)
				continue
			}
			at := slices.IndexFunc(known.Possible, func(p string) bool { return known.Show(p) == shown })
			require.GreaterOrEqual(t, at, 0, "%s = %s shows %s", known.Name, words, shown)
		}
		if known.Changeable(false) == nil && !strings.HasPrefix(known.Name, "transaction_") {
			exec(t, s, "RESET "+known.Name)
			require.Equal(t, []string{known.Show(known.Default)}, rows(t, s, "SHOW "+known.Name))
		}
	}
	require.Len(t, effects, 24+10)
}

// testNames are the tests of the packages that give settings their effects.
func testNames(t *testing.T) map[string]bool {
	names := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../wire/*_test.go", "../cmd/csmsql/*_test.go", "../cmd/csmsql/internal/frontend/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for line := range strings.SplitSeq(string(text), "\n") {
				if name, ok := strings.CutPrefix(line, "func Test"); ok {
					name, _, _ = strings.Cut(name, "(")
					names["Test"+name] = true
				}
			}
		}
	}
	return names
}

func TestSettingsAreKept(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	show := func(name string) string { return rows(t, s, "SHOW "+name)[0] }
	for _, c := range []struct{ sql, name, shown string }{
		{"SET statement_timeout = '7min'", "statement_timeout", "7min"},
		{"SET statement_timeout TO 1500001", "statement_timeout", "1500001ms"},
		{"SET client_encoding = '''utf-8'''", "client_encoding", "UTF8"},
		{"SET NAMES 'unicode'", "client_encoding", "UTF8"},
		{"SET NAMES", "client_encoding", "UTF8"},
		{"SET enable_hashjoin TO ON", "enable_hashjoin", "on"},
		{"SET search_path = a, \"B\", 'c d'", "search_path", `a, "B", "c d"`},
		{"SET search_path = ''", "search_path", `""`},
		{"SET SCHEMA 'x'", "search_path", "x"},
		{"SET my.custom = 5", "my.custom", "5"},
		{"SET SESSION my.custom = 'a b'", "MY.Custom", "a b"},
		{"RESET my.custom", "my.custom", ""},
		{"SET ROLE none", "role", "none"},
		{"SET ROLE postgres", "role", "postgres"},
		{"SET SESSION AUTHORIZATION DEFAULT", "session_authorization", "postgres"},
		{"SET SESSION AUTHORIZATION postgres", "session_authorization", "postgres"},
		{"SET XML OPTION CONTENT", "xmloption", "content"},
		{"SET check_function_bodies = false", "check_function_bodies", "off"},
		{"SET row_security = off", "row_security", "off"},
		{"SET default_tablespace = ''", "default_tablespace", ""},
		{"SELECT set_config('my.other', 'x', false)", "my.other", "x"},
	} {
		exec(t, s, c.sql)
		require.Equal(t, c.shown, show(c.name), c.sql)
	}
	for sql, want := range map[string]string{
		"SET csm.backed = auto":         `42704 unrecognized configuration parameter "csm.backed"`,
		"SET statment_timeout = 0":      `42704 unrecognized configuration parameter "statment_timeout"`,
		"SHOW never.was":                `42704 unrecognized configuration parameter "never.was"`,
		"RESET never.was":               `42704 unrecognized configuration parameter "never.was"`,
		"SET work_mem = 1, 2":           `22023 SET work_mem takes only one argument`,
		"SET ROLE anna":                 `0A000 parameter "role" cannot be set to "anna" here, only to "none"`,
		"SET port = 1":                  `55P02 parameter "port" cannot be changed without restarting the server`,
		"SET fsync = off":               `55P02 parameter "fsync" cannot be changed now`,
		"RESET fsync":                   `55P02 parameter "fsync" cannot be changed now`,
		"SET server_version = '1'":      `55P02 parameter "server_version" cannot be changed`,
		"SET log_connections = on":      `55P02 parameter "log_connections" cannot be set after connection start`,
		"SET synchronous_commit = off":  `0A000 parameter "synchronous_commit" cannot be set to "off" here, only to "on"`,
		"SET SESSION AUTHORIZATION joe": `0A000 parameter "session_authorization" cannot be set to "joe" here, only to "postgres"`,
		"RESET transaction_isolation":   `55P02 parameter "transaction_isolation" cannot be reset`,
	} {
		_, err := s.Exec(t.Context(), sql)
		require.Error(t, err, sql)
		require.Equal(t, want, sqlState(err)+" "+err.Error())
	}
	exec(t, s, "SET statement_timeout = '7min'")
	require.Equal(t, []string{"420000|ms|session|0|0"}, rows(t, s, "SELECT setting, unit, source, reset_val, boot_val FROM pg_settings WHERE name = 'statement_timeout'"))
	require.Equal(t, []string{"4096|kB|user|integer|default"}, rows(t, s, "SELECT setting, unit, context, vartype, source FROM pg_settings WHERE name = 'work_mem'"))
	require.Contains(t, rows(t, s, "SHOW ALL"), "work_mem|4MB|Sets the maximum memory to be used for query workspaces.")
	exec(t, s, "RESET ALL")
	require.Equal(t, "0", show("statement_timeout"))
	require.Equal(t, "public", show("search_path"))
}

// SET is part of the transaction, and SET LOCAL of nothing else.
func TestSettingsFollowTheTransaction(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	show := func(name string) string { return rows(t, s, "SHOW "+name)[0] }
	exec(t, s, "SET application_name = 'first'; BEGIN; SET application_name = 'second'; SET my.x = 1")
	require.Equal(t, "second", show("application_name"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, "first", show("application_name"))
	require.Empty(t, show("my.x"), "the placeholder stays")
	exec(t, s, "BEGIN; SET LOCAL application_name = 'local'; SET my.x = 2")
	require.Equal(t, "local", show("application_name"))
	exec(t, s, "COMMIT")
	require.Equal(t, "first", show("application_name"))
	require.Equal(t, "2", show("my.x"))
}

func TestSetConfig(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	show := func(name string) string { return rows(t, s, "SHOW "+name)[0] }
	require.Equal(t, []string{""}, rows(t, s, "SELECT pg_catalog.set_config('search_path', '', false)"))
	require.Empty(t, show("search_path"))
	require.Equal(t, []string{"7min|a"}, rows(t, s, "SELECT set_config('statement_timeout', '420000', false), set_config($1, $2, $3)", "my.claims", "a", false))
	require.Equal(t, "7min", show("statement_timeout"))
	require.Equal(t, "a", show("my.claims"))
	require.Equal(t, []string{"off|off"}, rows(t, s, "SELECT current_setting('jit') AS cur, set_config('jit', 'off', false) AS new"))
	exec(t, s, "RESET search_path; CREATE TABLE t AS SELECT 'my.k' || i AS k, 'v' || i AS v FROM range(3) r(i)")
	require.Len(t, rows(t, s, "SELECT set_config(k, v, false) FROM t WHERE k <> 'my.k1'"), 2)
	require.Equal(t, "v0", show("my.k0"))
	require.Equal(t, "v2", show("my.k2"))
	requireState(t, "42704", failing(s, "SHOW my.k1"))
	require.Equal(t, []string{""}, rows(t, s, "SELECT set_config('my.k0', NULL, false)"))
	require.Empty(t, show("my.k0"))

	exec(t, s, "BEGIN")
	require.Equal(t, []string{"local"}, rows(t, s, "SELECT set_config('application_name', 'local', true)"))
	require.Equal(t, "local", show("application_name"))
	require.Equal(t, []string{"tx"}, rows(t, s, "SELECT set_config('my.k2', 'tx', false)"))
	exec(t, s, "ROLLBACK")
	require.Empty(t, show("application_name"))
	require.Equal(t, "v2", show("my.k2"))
	require.Equal(t, []string{"gone"}, rows(t, s, "SELECT set_config('application_name', 'gone', true)"))
	require.Empty(t, show("application_name"))

	for sql, want := range map[string]string{
		"SELECT set_config('nosuch', 'x', false)":                                    `42704 unrecognized configuration parameter "nosuch"`,
		"SELECT set_config('statement_timeout', 'soon', false)":                      `22023 invalid value for parameter "statement_timeout": "soon"`,
		"SELECT set_config(NULL, 'x', false)":                                        `22004 SET requires parameter name`,
		"SELECT set_config('work_mem', '1GB', false)":                                `0A000 parameter "work_mem" cannot be set to "1GB" here, only to "4MB"`,
		"SELECT set_config('my.a', 'x', false), current_setting('my.a')":             `0A000 current_setting() behind set_config() in one statement is not supported`,
		"SELECT set_config('application_name', 'x', false), set_config('n','',true)": `42704 unrecognized configuration parameter "n"`,
		"INSERT INTO t SELECT 'k', set_config('application_name', 'x', false)":       `0A000 set_config() can only be called in a query of its own`,
		"CREATE TABLE u AS SELECT set_config('application_name', 'x', false) AS a":   `0A000 set_config() can only be called in a query of its own`,
	} {
		err := failing(s, sql)
		require.Equal(t, want, sqlState(err)+" "+strings.TrimPrefix(err.Error(), "Invalid Input Error: "), sql)
	}
	require.Empty(t, show("application_name"))
	exec(t, s, "PREPARE p AS SELECT set_config('my.p', $1, false)")
	require.Equal(t, []string{"q"}, rows(t, s, "EXECUTE p('q')"))
	require.Equal(t, "q", show("my.p"))
}

// What a client begins with is what RESET brings back.
func TestSettingsOfTheStart(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, err := e.Session(engine.SessionOptions{Settings: map[string]string{"search_path": "a, b", "application_name": "app", "TimeZone": "europe/berlin"}})
	require.NoError(t, err)
	defer s.Close()
	exec(t, s, "SET search_path = c; SET TimeZone = UTC")
	exec(t, s, "DISCARD ALL")
	require.Equal(t, []string{"a, b"}, rows(t, s, "SHOW search_path"))
	require.Equal(t, []string{"Europe/Berlin"}, rows(t, s, "SHOW TimeZone"))
	require.Equal(t, []string{"app|client|app"}, rows(t, s, "SELECT setting, source, reset_val FROM pg_settings WHERE name = 'application_name'"))
	for name, state := range map[string]string{"nosuch": "42704", "port": "55P02", "work_mem": "0A000", "TimeZone": "22023", "csm.backend": "22023"} {
		_, err := e.Session(engine.SessionOptions{Settings: map[string]string{name: "x1"}})
		require.Error(t, err)
		if name == "work_mem" {
			state = "22023"
		}
		require.Equal(t, state, sqlState(err), name)
	}
}

func TestApplicationName(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	require.Equal(t, []string{""}, rows(t, s, "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"))
	exec(t, s, "SET application_name = 'tester'")
	require.Equal(t, []string{"tester"}, rows(t, s, "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"))
}

func TestNoticesAreFiltered(t *testing.T) {
	t.Parallel()
	var got []string
	s, err := open(t).Session(engine.SessionOptions{Notice: func(n engine.Notice) { got = append(got, n.Severity) }})
	require.NoError(t, err)
	defer s.Close()
	for level, want := range map[string][]string{"debug5": {"NOTICE", "WARNING"}, "notice": {"NOTICE", "WARNING"}, "warning": {"WARNING"}, "error": nil} {
		got = nil
		exec(t, s, "SET client_min_messages = "+level+"; DROP TABLE IF EXISTS nosuch; COMMIT")
		require.Equal(t, want, got, level)
	}
}

// Columns that keep fewer digits than PostgreSQL would are warned of, where its dialect is spoken.
func TestNumericWithoutDigitsIsWarnedOf(t *testing.T) {
	t.Parallel()
	var got []string
	s, err := open(t).Session(engine.SessionOptions{Notice: func(n engine.Notice) { got = append(got, n.Message) }})
	require.NoError(t, err)
	defer s.Close()
	create := "CREATE TABLE n%[1]d (a NUMERIC, b numeric(9, 2), \"C\" decimal, d int); CREATE TEMP TABLE t%[1]d (e dec)"
	exec(t, s, "SET csm.dialect = 'postgres'; "+fmt.Sprintf(create, 1))
	var named []string
	for _, warning := range got {
		named = append(named, strings.SplitN(warning, " rounds", 2)[0])
	}
	require.Equal(t, []string{`column "a"`, `column "C"`, `column "e"`}, named)
	got = nil
	exec(t, s, "SET csm.dialect = 'duckdb'; "+fmt.Sprintf(create, 2))
	require.Empty(t, got, "there it is the type's meaning")
}

// DateStyle keeps the part that is not set, by SET, SET LOCAL, set_config(), and a client that begins a session.
// Compared with a PostgreSQL 15.
func TestDateStyleKeepsWhatIsNotSet(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, err := e.Session(engine.SessionOptions{Settings: map[string]string{"DateStyle": "YMD"}})
	require.NoError(t, err)
	defer s.Close()
	for _, c := range [][2]string{
		{"SHOW datestyle", "ISO, YMD"},
		{"SET datestyle = 'DMY'; SET datestyle TO ISO; SHOW datestyle", "ISO, DMY"},
		{"BEGIN; SET LOCAL datestyle = 'MDY'; SET LOCAL datestyle = 'ISO'; SHOW datestyle", "ISO, MDY"},
		{"COMMIT; SHOW datestyle", "ISO, DMY"},
		{"BEGIN; SET datestyle = 'MDY'; ROLLBACK; SET datestyle = 'ISO'; SHOW datestyle", "ISO, DMY"},
		{"SELECT set_config('datestyle', 'iso', false)", "ISO, DMY"},
		{"SELECT set_config('datestyle', 'mdy', false), set_config('DateStyle', 'iso', false)", "ISO, MDY|ISO, MDY"},
		{"SHOW datestyle", "ISO, MDY"},
		{"SET datestyle = 'DEFAULT'; SHOW datestyle", "ISO, YMD"},
		{"SET datestyle = 'DMY'; RESET datestyle; SHOW datestyle", "ISO, YMD"},
	} {
		texts := strings.Split(c[0], "; ")
		for _, text := range texts[:len(texts)-1] {
			exec(t, s, text)
		}
		require.Equal(t, []string{c[1]}, rows(t, s, texts[len(texts)-1]), c[0])
	}
}

// Dates are written in one order, and read in one: no value of DateStyle makes an ambiguous one mean something.
func TestDateStyle(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for _, style := range []string{"ISO, MDY", "ISO, DMY", "ISO, YMD"} {
		exec(t, s, "SET DateStyle = '"+style+"'")
		require.Equal(t, []string{"2024-02-01"}, rows(t, s, "SELECT '2024-02-01'::date::text"))
		require.Error(t, failing(s, "SELECT '01/02/2024'::date"))
	}
}

func TestTimeZones(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for given, want := range map[string]string{
		"SET TimeZone = 'europe/berlin'":                       "Europe/Berlin 2024-06-30 14:00:00+02",
		"SET TIME ZONE 3":                                      "Etc/GMT-3 2024-06-30 15:00:00+03",
		"SET TIME ZONE -8":                                     "Etc/GMT+8 2024-06-30 04:00:00-08",
		"SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE":       "Etc/GMT+8 2024-06-30 04:00:00-08",
		"SET TIME ZONE 'EST5EDT'":                              "EST5EDT 2024-06-30 08:00:00-04",
		"SET TIME ZONE LOCAL":                                  "Etc/UTC 2024-06-30 12:00:00+00",
		"SET TIME ZONE DEFAULT":                                "Etc/UTC 2024-06-30 12:00:00+00",
		"SELECT set_config('timezone', 'Asia/Kolkata', false)": "Asia/Kolkata 2024-06-30 17:30:00+05:30",
	} {
		exec(t, s, given)
		require.Equal(t, want, rows(t, s, "SHOW TimeZone")[0]+" "+rows(t, s, "SELECT '2024-06-30 12:00:00+00'::timestamptz::varchar")[0], given)
	}
	for given, state := range map[string]string{"'nowhere'": "22023", "5.5": "0A000", "99": "0A000", "'PST'": "22023", "INTERVAL '1 day'": "22023", "''": "22023"} {
		requireState(t, state, failing(s, "SET TIME ZONE "+given))
	}
}
