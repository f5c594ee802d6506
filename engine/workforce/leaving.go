package workforce

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/statement"
)

// What goes to a worker: queries outside of transaction blocks whose answer depends on the tables' snapshot, on the
// session's settings and on nothing else that the session has. The rest runs in the node, as without workers.
// docs/sql.md says which is which.

// Mentions reports whether a name stands in a text, whatever it means there.
func Mentions(text, name string) bool {
	for len(text) >= len(name) {
		at := strings.IndexAny(text, name[:1]+strings.ToUpper(name[:1]))
		if at < 0 || len(text)-at < len(name) {
			return false
		}
		if strings.EqualFold(text[at:at+len(name)], name) {
			return true
		}
		text = text[at+1:]
	}
	return false
}

// leavingHeads are what the texts of such queries begin with.
var leavingHeads = []string{"select", "with", "values", "from", "table", "pivot", "unpivot", "summarize"}

// What asks the session or the node, or changes them: words, prefixes of names, functions, schemas.
var (
	stayingWords = setOf("current_catalog", "current_role", "current_schema", "current_user", "session_user",
		"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema", "regclass", "regcollation", "regconfig",
		"regdictionary", "regnamespace", "regoper", "regoperator", "regproc", "regprocedure", "regrole", "regtype")
	stayingPrefixes  = []string{"pg_", "csm_", "duckdb_", "pragma_", "txid_"}
	stayingFunctions = setOf("current_database", "current_query", "current_schemas", "current_setting", "currval", "nextval",
		"setval", "lastval", "format_type", "getvariable", "in_search_path", "obj_description", "col_description",
		"shobj_description", "query", "query_table", "set_config", "setseed", "to_regclass", "to_regtype", "to_regproc",
		"inet_client_addr", "inet_client_port", "inet_server_addr", "inet_server_port")
	stayingSchemas = setOf("csm", "information_schema")
)

func setOf(list ...string) map[string]bool {
	keys := make(map[string]bool, len(list))
	for _, k := range list {
		keys[k] = true
	}
	return keys
}

// stays reports whether a name, in lower case, is one of those.
func stays(w statement.Word, name string, quoted bool) bool {
	switch {
	case stayingWords[name], name == "user" && !quoted, w.After == "." && stayingSchemas[name],
		w.After == "(" && (stayingFunctions[name] || strings.HasSuffix(name, "_privilege")):
		return true
	}
	if name == past.Schema { // of a former version of a table, which workers read as others
		return false
	}
	return slices.ContainsFunc(stayingPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Leaves reports whether a text is one of those; named are the names in it, in lower case.
func Leaves(text string) (named map[string]bool, ok bool) {
	words := statement.Words(text)
	if len(words) == 0 || !slices.Contains(leavingHeads, strings.ToLower(words[0].Name)) {
		return nil, false
	}
	return namesIn(words, text)
}

// namesIn gives the names among words; ok: none of them has to stay.
func namesIn(words []statement.Word, text string) (named map[string]bool, ok bool) {
	named = map[string]bool{}
	for _, w := range words {
		name := strings.ToLower(w.Name)
		if w.Literal {
			continue
		}
		if stays(w, name, text[w.At] == '"') {
			return nil, false
		}
		named[name] = true
	}
	return named, true
}

// ViewsLeave reports whether no view that a query may name asks for what must stay: views' queries are the query's.
func (w *Workforce) ViewsLeave(named map[string]bool, contents *catalog.Contents) bool {
	for _, view := range contents.Views() {
		if named[strings.ToLower(view.Name.Name)] && !w.viewLeaves(view.SQL, contents, nil) {
			return false
		}
	}
	return true
}

// viewLeaves looks at a view's query and at those of the views that it names; within are the names on the way there.
func (w *Workforce) viewLeaves(sql string, contents *catalog.Contents, within []string) bool {
	if known, ok := w.views.Load(sql); ok && !known.(viewNames).ok {
		return false
	}
	x := w.viewNames(sql)
	if !x.ok || len(within) > viewsDeep {
		return false
	}
	for _, view := range contents.Views() {
		name := strings.ToLower(view.Name.Name)
		if x.named[name] && !slices.Contains(within, name) && !w.viewLeaves(view.SQL, contents, append(within, name)) {
			return false
		}
	}
	return true
}

// viewsDeep bounds views over views.
const viewsDeep = 64

// viewNames are what Leaves says of a view's text.
type viewNames struct {
	named map[string]bool
	ok    bool
}

func (w *Workforce) viewNames(sql string) viewNames {
	if known, ok := w.views.Load(sql); ok {
		return known.(viewNames)
	}
	var x viewNames
	x.named, x.ok = namesIn(statement.Words(sql), sql)
	w.views.Store(sql, x)
	return x
}

// ofConversation are settings that change no answer; all others go with a query. Sessions that differ in them alone
// share a worker's plans.
var ofConversation = map[string]bool{
	"application_name": true, "client_min_messages": true, "statement_timeout": true, "lock_timeout": true,
	"idle_in_transaction_session_timeout": true, "idle_session_timeout": true, "log_statement": true, "log_min_messages": true,
	"log_min_duration_statement": true, "client_encoding": true, setting.SessionMemory: true,
	setting.MaxStaleness: true, // the snapshot is the node's
	setting.Dialect:      true, // the text is translated
}

// SettingsOfAnswers are those of a session's values that go with its queries; nil: none.
func SettingsOfAnswers(values map[string]string) map[string]string {
	var list map[string]string
	for name, value := range values {
		if ofConversation[name] {
			continue
		}
		if list == nil {
			list = map[string]string{}
		}
		list[name] = value
	}
	return list
}
