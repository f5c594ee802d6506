package pgcatalog

import (
	"slices"
	"sync"
)

// unsteady are functions that give another value for the same arguments at another time, or in another session, and
// that macros call; clients call some of them, too.
var unsteady = map[string]bool{
	"csm_clock": true, "current_localtime": true, "current_localtimestamp": true, "getvariable": true, "now": true,
}

// changing are the forms of macros that call one of those, or one another that does.
var changing = sync.OnceValue(func() map[string][]int {
	found := map[string][]int{}
	calls := func(name string) bool { return unsteady[name] || len(found[name]) > 0 }
	for more := true; more; {
		more = false
		for key, list := range forms() {
			for _, f := range list {
				if n := len(f.parameters); !slices.Contains(found[key], n) && slices.ContainsFunc(f.calls, calls) {
					found[key], more = append(found[key], n), true
				}
			}
		}
	}
	return found
})

// Changing reports whether a function that statements may call, with so many arguments, may give another value at
// another time, or in another session.
func Changing(name string, count int) bool {
	return unsteady[name] || slices.Contains(changing()["pg_session."+name], count)
}
