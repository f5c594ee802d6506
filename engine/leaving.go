package engine

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/statement"
)

// What goes to a worker: queries outside of transaction blocks whose answer depends on the tables' snapshot, on the
// session's settings and on nothing else that the session has. The rest runs in the node, as without workers.
// docs/sql.md says which is which.

// mayLeave tells whether the session, as it is now, lets its queries go to a worker.
func (s *Session) mayLeave() bool {
	b := s.block
	switch {
	case s.engine.workers == nil, s.temporary, s.seeded, s.fragment, s.settings.backend == backendCompute:
		return false
	case b == nil:
		return true
	}
	// The unit that one message makes reads one snapshot, and DuckDB's transaction is each statement's.
	return b.implicit && b.tx == nil && !b.duck && b.reads == nil
}

// mentions tells whether a name stands in a text, whatever it means there.
func mentions(text, name string) bool {
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

// What asks the session or the node, or tells them something: words, prefixes of names, functions, schemas.
var (
	stayingWords = keysOfList("current_catalog", "current_role", "current_schema", "current_user", "session_user", "sqlite_master", "sqlite_schema",
		"sqlite_temp_master", "sqlite_temp_schema", "regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator",
		"regproc", "regprocedure", "regrole", "regtype")
	stayingPrefixes  = []string{"pg_", "csm_", "duckdb_", "pragma_", "txid_"}
	stayingFunctions = keysOfList("current_database", "current_query", "current_schemas", "current_setting", "currval", "nextval", "setval", "lastval",
		"format_type", "getvariable", "in_search_path", "obj_description", "col_description", "shobj_description", "query", "query_table",
		"set_config", "setseed", "to_regclass", "to_regtype", "to_regproc", "inet_client_addr", "inet_client_port", "inet_server_addr", "inet_server_port")
	stayingSchemas = keysOfList("csm", "information_schema")
)

func keysOfList(list ...string) map[string]bool {
	keys := make(map[string]bool, len(list))
	for _, k := range list {
		keys[k] = true
	}
	return keys
}

// stays tells whether a name, in lower case, is one of those.
func stays(w statement.Word, name string, quoted bool) bool {
	switch {
	case stayingWords[name], name == "user" && !quoted, w.After == "(" && (stayingFunctions[name] || strings.HasSuffix(name, "_privilege")),
		w.After == "." && stayingSchemas[name]:
		return true
	}
	return slices.ContainsFunc(stayingPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// leaves tells whether a text is one of those; named are the names in it, in lower case.
func leaves(text string) (named map[string]bool, ok bool) {
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

// viewsLeave tells whether no view that a query may name asks for what must stay: views' queries are the query's.
func (w *workers) viewsLeave(named map[string]bool, v *visible) bool {
	for _, view := range v.contents.Views() {
		if named[strings.ToLower(view.Name.Name)] && !w.viewLeaves(view.SQL, v, nil) {
			return false
		}
	}
	return true
}

// viewLeaves looks at a view's query and at those of the views that it names; within are the names on the way there.
func (w *workers) viewLeaves(sql string, v *visible, within []string) bool {
	if known, ok := w.views.Load(sql); ok && !known.(viewNames).ok {
		return false
	}
	x := w.viewNames(sql)
	if !x.ok || len(within) > viewsDeep {
		return false
	}
	for _, view := range v.contents.Views() {
		name := strings.ToLower(view.Name.Name)
		if x.named[name] && !slices.Contains(within, name) && !w.viewLeaves(view.SQL, v, append(within, name)) {
			return false
		}
	}
	return true
}

// viewsDeep bounds views over views.
const viewsDeep = 64

// viewNames are what leaves says of a view's text.
type viewNames struct {
	named map[string]bool
	ok    bool
}

func (w *workers) viewNames(sql string) viewNames {
	if known, ok := w.views.Load(sql); ok {
		return known.(viewNames)
	}
	var x viewNames
	x.named, x.ok = namesIn(statement.Words(sql), sql)
	w.views.Store(sql, x)
	return x
}
