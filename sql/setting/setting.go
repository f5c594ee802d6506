package setting

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Kind is the type of a setting's values.
type Kind string

// The kinds, as pg_settings.vartype calls them.
const (
	Bool    Kind = "bool"
	Integer Kind = "integer"
	Real    Kind = "real"
	String  Kind = "string"
	Enum    Kind = "enum"
)

// Policy says what becomes of a SET.
type Policy int

// The policies.
const (
	Server Policy = iota // no session may set it
	Fixed                // only values that change nothing
	Kept                 // every value has its effect
)

// Setting is one of the table. Immutable.
type Setting struct {
	Name     string // as PostgreSQL spells it
	Kind     Kind
	Unit     string // of its values: ms, s, min, B, kB, 8kB, MB; empty: none
	Category string
	Short    string
	Extra    string
	Context  string // internal, postmaster, sighup, backend, superuser, user, …
	Min, Max string // of numbers
	Words    []string
	Default  string // the value of a session that has set nothing
	Hidden   bool   // pg_settings and SHOW ALL leave it out
	Policy   Policy
	// Possible are the values that a fixed setting may be set to.
	Possible []string
	// Advice says what to do instead of setting a fixed one.
	Advice string
	// ofDuckDB: it is one of DuckDB's that say what a text means.
	ofDuckDB bool
}

// postgresql is the list of a PostgreSQL server, made by data/extract.sh.
//
//go:embed data/postgresql.tsv
var postgresql string

var table = sync.OnceValue(func() map[string]*Setting {
	byName := map[string]*Setting{}
	for _, s := range slices.Concat(ofPostgreSQL(), hidden(), ours(), ofDuckDB()) {
		s.decide()
		byName[strings.ToLower(s.Name)] = s
	}
	return byName
})

// All are the settings, ordered by name without regard to case.
var All = sync.OnceValue(func() []*Setting {
	var list []*Setting
	for _, s := range table() {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Setting) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return list
})

// Find gives the setting of a name, in any case; nil: there is none.
func Find(name string) *Setting { return table()[strings.ToLower(name)] }

// Shown is how PostgreSQL spells a setting's name.
func Shown(name string) string {
	if known := Find(name); known != nil {
		return known.Name
	}
	return name
}

var escapes = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n")

// ofPostgreSQL reads the list, which is in COPY's text format. A test reads it, so that a release cannot carry a broken
// one.
func ofPostgreSQL() (list []*Setting) {
	lines := strings.Split(strings.TrimSuffix(postgresql, "\n"), "\n")
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		for i, text := range f {
			if f[i] = escapes.Replace(text); text == `\N` {
				f[i] = ""
			}
		}
		s := &Setting{
			Name: f[0], Default: f[1], Unit: f[2], Category: f[3], Short: f[4], Extra: f[5], Context: f[6], Kind: Kind(f[7]), Min: f[8], Max: f[9],
		}
		if words := strings.Trim(f[10], "{}"); words != "" {
			for word := range strings.SplitSeq(words, ",") {
				s.Words = append(s.Words, strings.Trim(word, `"`))
			}
		}
		list = append(list, s)
	}
	return list
}

// Changeable reports whether a session may set it; atStart: while the session begins.
func (s *Setting) Changeable(atStart bool) error {
	switch s.Context {
	case "internal":
		return sqlerror.New("55P02", `parameter "%s" cannot be changed`, s.Name)
	case "postmaster":
		return sqlerror.New("55P02", `parameter "%s" cannot be changed without restarting the server`, s.Name)
	case "sighup":
		return sqlerror.New("55P02", `parameter "%s" cannot be changed now`, s.Name)
	case "backend", "superuser-backend":
		if !atStart {
			return sqlerror.New("55P02", `parameter "%s" cannot be set after connection start`, s.Name)
		}
	}
	return nil
}
