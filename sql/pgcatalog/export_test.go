package pgcatalog

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

// IsCatalogQueryNaive is IsCatalogQuery without the shortcuts: everything is walked by reflection.
func IsCatalogQueryNaive(parsed *pg.ParseResult) bool {
	s := &search{parsed: parsed}
	for message := range tree.All(parsed.ProtoReflect()) {
		s.inspect(message.Interface())
	}
	return s.found
}

// DuckDBReadsTwice reports whether a macro of DuckDB's is known to read a parameter more than once.
func DuckDBReadsTwice(name string) bool { return duckdbs[name] != nil }

// MostReads is how often each macro reads the argument that it reads most often.
func MostReads() map[string]int {
	most := map[string]int{}
	for name, list := range forms() {
		for _, f := range list {
			for _, n := range f.reads {
				most[name] = max(most[name], n)
			}
		}
	}
	return most
}

// ChangingForms are the forms of macros that Changing knows, by name and number of parameters.
func ChangingForms() (list []string) {
	for key, counts := range changing() {
		if name, is := strings.CutPrefix(key, "pg_session."); is {
			for _, n := range counts {
				list = append(list, fmt.Sprintf("%s/%d", name, n))
			}
		}
	}
	slices.Sort(list)
	return list
}
