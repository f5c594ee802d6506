package configuration

import (
	"maps"
	"slices"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/setting"
)

// Which backend runs a query that both could run.
const (
	BackendAuto    = "auto"
	BackendDuckDB  = "duckdb"
	BackendCompute = "compute"
)

// auto leaves csm.distribute and csm.shuffle to the planner; for their other values see package split.
const auto = "auto"

// Values are what SET changes in a session.
type Values struct {
	Backend    string
	Distribute string
	Shuffle    string
	SearchPath []string
	user       string // the value of "$user"
	// Given are those that the session's client or a SET has given, in their base units; names in lower case.
	Given map[string]string
}

// Default returns the values of a session in which nothing was set.
func Default(user string) Values {
	return Values{
		user: user, Backend: BackendAuto, Distribute: auto, Shuffle: auto, SearchPath: []string{duckdb.SchemaName},
		Given: map[string]string{},
	}
}

// Assign notes a value; with forget it is the default again.
func (x *Values) Assign(lower, value string, forget bool) {
	x.Put(lower, value)
	if forget {
		delete(x.Given, lower)
	}
}

// Put gives a setting a value.
func (x *Values) Put(name, value string) {
	switch name {
	case "csm.backend":
		x.Backend = value
	case "csm.distribute":
		x.Distribute = value
	case "csm.shuffle":
		x.Shuffle = value
	case "search_path":
		x.SearchPath = splitPath(value, x.user)
	}
	x.Given[name] = value
}

// Clone is a copy.
func (x Values) Clone() Values {
	x.Given = maps.Clone(x.Given)
	return x
}

// Kept is a copy for later; nil of nil.
func (x *Values) Kept() *Values {
	if x == nil {
		return nil
	}
	kept := x.Clone()
	return &kept
}

// Equal compares them.
func (x Values) Equal(y Values) bool {
	return x.Backend == y.Backend && slices.Equal(x.SearchPath, y.SearchPath) && maps.Equal(x.Given, y.Given)
}

// splitPath are the schemas of a search_path that users can have made. What stands for the user's own schema is its
// name.
func splitPath(value, user string) (path []string) {
	names, _ := setting.Names(value) // a value that is none was refused
	for _, name := range names {
		if name == "$user" {
			name = user
		}
		if name != "" && name != "pg_catalog" {
			path = append(path, name)
		}
	}
	return path
}
