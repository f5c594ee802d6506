package dialect

import "strings"

// volatile are DuckDB's functions that may give another value whenever they are called. A sub-query is asked once for
// all rows that it makes no difference between. A test compares the list with DuckDB's.
var volatile = map[string]bool{
	"current_connection_id": true, "current_query": true, "current_query_id": true, "current_transaction_id": true, "currval": true, "error": true,
	"csm_clock": true, "csm_currval": true, "csm_lastval": true, "csm_nextval": true, "csm_nextval__of": true, "csm_sequence": true,
	"csm_setval": true, "csm_set_config": true, "gen_random_uuid": true, "nextval": true, "random": true, "setseed": true, "sleep_ms": true, "stats": true,
	"uuid": true, "uuidv4": true, "uuidv7": true, "write_log": true,
}

// VolatileIn is the name of such a function that an expression calls.
func VolatileIn(expression string) (found string) {
	called := ""
	ReplaceTokens(expression, func(token string, _ int) (string, bool) {
		if token == "(" && found == "" {
			found = called
		}
		called = ""
		if name := strings.ToLower(strings.Trim(token, `"`)); volatile[name] {
			called = name
		}
		return "", false
	})
	return found
}
