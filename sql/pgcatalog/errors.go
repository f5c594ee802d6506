package pgcatalog

import "strings"

// ErrorState is the SQLSTATE of an error that one of our macros raised in a catalog query, found by its message; ok is
// false for messages that are not ours. DuckDB gives such errors no state of their own, and drivers distinguish an
// unknown type from a real failure by it.
func ErrorState(message string) (state string, ok bool) {
	for _, e := range raised {
		if strings.HasPrefix(message, e.prefix) && strings.HasSuffix(message, e.suffix) {
			return e.state, true
		}
	}
	return "", false
}

var raised = []struct{ prefix, suffix, state string }{
	{`relation "`, `" does not exist`, "42P01"},
	{`type "`, `" does not exist`, "42704"},
	{`schema "`, `" does not exist`, "3F000"},
	{`function "`, `" does not exist`, "42883"},
	{`role "`, `" does not exist`, "42704"},
	{`unrecognized configuration parameter "`, `"`, "42704"},
}
