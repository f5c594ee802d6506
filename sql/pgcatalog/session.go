package pgcatalog

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
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

// Variables are what a connection's session variables are set to: each SET is a statement of DuckDB's, which takes a
// millisecond, and most changes of a session are of one of them. The zero value is those of a new connection.
type Variables struct {
	set [4]string // digests, as values may be long and are charged elsewhere; "" where it was never set
}

// never are the values by which the functions go that find a variable not set.
var never = [4]string{"'postgres'", "0", pathOf([]string{"public"}), settingsOf(nil)}

// SetSession gives the connection that exec belongs to its session's data: when it starts, and whenever a setting or
// the search path changes. It uses session variables, which are private to the connection and no part of a transaction.
func (v *Variables) SetSession(exec func(sql string) error, s Session) error {
	process := strconv.FormatUint(uint64(s.ProcessID), 10)
	values := [4]string{quoteLiteral(s.User), process, pathOf(s.SearchPath), settingsOf(s.Settings)}
	for i, name := range [4]string{"csm_user", "csm_process", "csm_path", "csm_settings"} {
		sum := sha256.Sum256([]byte(values[i]))
		digest := string(sum[:])
		if v.set[i] == digest || v.set[i] == "" && values[i] == never[i] {
			continue
		}
		v.set[i] = "of unknown value" // if it fails
		if err := exec("SET VARIABLE " + name + " = " + values[i]); err != nil {
			return fmt.Errorf("show the session: %w", err)
		}
		v.set[i] = digest
	}
	return nil
}

func pathOf(names []string) string {
	path := make([]string, len(names))
	for i, name := range names {
		path[i] = quoteLiteral(name)
	}
	return "CAST([" + strings.Join(path, ", ") + "] AS VARCHAR[])"
}

func settingsOf(list []Setting) string {
	keys, values := make([]string, len(list)), make([]string, len(list))
	for i, x := range list {
		keys[i] = quoteLiteral(x.Name)
		values[i] = "[" + strings.Join([]string{quoteLiteral(x.Shown), quoteLiteral(x.Value), quoteLiteral(x.Source), quoteLiteral(x.Reset)}, ", ") + "]"
	}
	return "CAST(map([" + strings.Join(keys, ", ") + "], [" + strings.Join(values, ", ") + "]) AS MAP(VARCHAR, VARCHAR[]))"
}

// SetListening gives the connection the channels that it listens to.
func SetListening(exec func(sql string) error, channels []string) error {
	// One literal: of each of a thousand in a list DuckDB makes an expression.
	list, err := json.Marshal(slices.Concat([]string{}, channels))
	if err != nil {
		return err
	}
	return exec("SET VARIABLE csm_listening = CAST(CAST(" + quoteLiteral(string(list)) + " AS JSON) AS VARCHAR[])")
}

// ShowNames gives the connection the one of DuckDB's databases whose names are shown as those of the users' database;
// "" is the one that all share.
func ShowNames(exec func(sql string) error, shown string) error {
	if shown == "" {
		return exec("RESET VARIABLE csm_names")
	}
	return exec("SET VARIABLE csm_names = " + quoteLiteral(shown))
}
