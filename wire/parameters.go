package wire

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/csmsql/csmsql/wire/pgformat"
)

// reported are the run-time parameters whose values are reported to the client: GUC_REPORT in PostgreSQL 15.
var reported = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby",
	"integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version", "session_authorization",
	"standard_conforming_strings", "TimeZone",
}

// canonicalName returns how PostgreSQL spells a reported parameter.
func canonicalName(name string) (canonical string, ok bool) {
	for _, known := range reported {
		if strings.EqualFold(known, name) {
			return known, true
		}
	}
	return "", false
}

// initialParameters are the values before the session has set any.
func initialParameters(version string, start Startup) map[string]string {
	values := map[string]string{
		"application_name":              start.ApplicationName,
		"client_encoding":               "UTF8",
		"DateStyle":                     "ISO, MDY",
		"default_transaction_read_only": "off",
		"in_hot_standby":                "off",
		"integer_datetimes":             "on",
		"IntervalStyle":                 "postgres",
		"is_superuser":                  "on",
		"server_encoding":               "UTF8",
		"server_version":                "15.0 (csmsql " + version + ")",
		"session_authorization":         start.User,
		"standard_conforming_strings":   "on",
		"TimeZone":                      "UTC",
	}
	return values
}

// encodings are the client encodings that need no conversion from UTF-8. SQL_ASCII means "no conversion" in PostgreSQL.
var encodings = map[string]string{"utf8": "UTF8", "unicode": "UTF8", "sqlascii": "SQL_ASCII"}

// checkEncoding returns the canonical name of an encoding that we can speak.
func checkEncoding(name string) (canonical string, err error) {
	key := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_ '\"", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	if canonical, ok := encodings[key]; ok {
		return canonical, nil
	}
	return "", &Error{
		State:   "22023",
		Message: fmt.Sprintf("invalid value for parameter \"client_encoding\": %q", name),
		Help:    "Only UTF8 is supported: set client_encoding (or PGCLIENTENCODING) to UTF8.",
	}
}

// applyStartup takes over what the start-up message says about reported parameters.
func (c *connection) applyStartup(start Startup) error {
	for name, value := range start.Parameters {
		switch strings.ToLower(name) {
		case "client_encoding":
			canonical, err := checkEncoding(value)
			if err != nil {
				return err
			}
			c.parameters["client_encoding"] = canonical
		case "timezone":
			zone, err := pgformat.LoadZone(value)
			if err != nil {
				return err
			}
			c.zone, c.parameters["TimeZone"] = zone, value
		}
	}
	return nil
}

// sendAllParameters is the burst of ParameterStatus after authentication.
func (c *connection) sendAllParameters() {
	c.takeReports()
	for _, name := range reported {
		c.out.send(&pgproto3.ParameterStatus{Name: name, Value: c.parameters[name]})
	}
}

// setParameter records one change and reports whether it must be sent to the client.
func (c *connection) setParameter(name, value string) (changed bool) {
	if name == "TimeZone" {
		zone, err := pgformat.LoadZone(value)
		if err != nil { // the session accepted a zone that we cannot print in: better the old one than a wrong one
			c.log.Warn("time zone not known here; timestamptz is still printed in the previous one", "zone", value)
			return false
		}
		c.zone = zone
	}
	if c.parameters[name] == value {
		return false
	}
	c.parameters[name] = value
	return true
}
