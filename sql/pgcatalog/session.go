package pgcatalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Session is what the session functions and pg_settings show of a connection.
type Session struct {
	User      string
	ProcessID uint32
	// SearchPath are the schemas that unqualified names mean, without the system's.
	SearchPath []string
	// Settings are those that are not as package setting has them, ordered by name.
	Settings []Setting
}

// Setting is what a session has of a setting: its name in lower case, its value, what SHOW says of it, where it comes
// from, in the words of pg_settings.source, and the value that RESET brings back.
type Setting struct{ Name, Value, Shown, Source, Reset string }

// Prepared is a row of pg_prepared_statements. An unknown type is 0.
type Prepared struct {
	Name, Statement string
	Since           time.Time
	Types           []uint32
	FromSQL         bool
}

// SetPrepared gives the connection the list of prepared statements, before a query that reads pg_prepared_statements is
// planned.
func SetPrepared(exec func(sql string) error, list []Prepared) error {
	rows := make([]string, len(list))
	for i, p := range list {
		from := "protocol"
		if p.FromSQL {
			from = "sql"
		}
		cells := []string{p.Name, p.Statement, p.Since.UTC().Format("2006-01-02 15:04:05.999999+00"), strings.ReplaceAll(fmt.Sprint(p.Types), " ", ", "), from}
		for k, cell := range cells {
			cells[k] = quoteLiteral(cell)
		}
		rows[i] = "[" + strings.Join(cells, ", ") + "]"
	}
	if err := exec("SET VARIABLE csm_prepared = CAST([" + strings.Join(rows, ", ") + "] AS VARCHAR[][])"); err != nil {
		return fmt.Errorf("show the prepared statements: %w", err)
	}
	return nil
}

// SetSession gives the connection that exec belongs to its session's data: when it starts, and whenever a setting or
// the search path changes. It uses session variables, which are cheap, private to the connection and no part of a
// transaction.
func SetSession(exec func(sql string) error, s Session) error {
	path := make([]string, len(s.SearchPath))
	for i, name := range s.SearchPath {
		path[i] = quoteLiteral(name)
	}
	keys, values := make([]string, len(s.Settings)), make([]string, len(s.Settings))
	for i, x := range s.Settings {
		keys[i] = quoteLiteral(x.Name)
		values[i] = "[" + strings.Join([]string{quoteLiteral(x.Shown), quoteLiteral(x.Value), quoteLiteral(x.Source), quoteLiteral(x.Reset)}, ", ") + "]"
	}
	sql := "SET VARIABLE csm_user = " + quoteLiteral(s.User) + ";\n" +
		"SET VARIABLE csm_process = " + strconv.FormatUint(uint64(s.ProcessID), 10) + ";\n" +
		"SET VARIABLE csm_path = CAST([" + strings.Join(path, ", ") + "] AS VARCHAR[]);\n" +
		"SET VARIABLE csm_settings = CAST(map([" + strings.Join(keys, ", ") + "], [" + strings.Join(values, ", ") + "]) AS MAP(VARCHAR, VARCHAR[]));"
	if err := exec(sql); err != nil {
		return fmt.Errorf("show the session: %w", err)
	}
	return nil
}

// SetListening gives the connection the channels that it listens to.
func SetListening(exec func(sql string) error, channels []string) error {
	list := make([]string, len(channels))
	for i, channel := range channels {
		list[i] = quoteLiteral(channel)
	}
	return exec("SET VARIABLE csm_listening = CAST([" + strings.Join(list, ", ") + "] AS VARCHAR[])")
}

// ShowNames gives the connection the one of DuckDB's databases whose names are shown as those of the users' database;
// "" is the one that all share.
func ShowNames(exec func(sql string) error, shown string) error {
	if shown == "" {
		return exec("RESET VARIABLE csm_names")
	}
	return exec("SET VARIABLE csm_names = " + quoteLiteral(shown))
}
