package setting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/internal/spelling"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Invalid is the error of a value that is none of the setting's.
func (s *Setting) Invalid(text string) *sqlerror.Error {
	return sqlerror.New("22023", `invalid value for parameter "%s": "%s"`, s.Name, text)
}

// Unknown is the error of a name that no setting has, with the name that may have been meant.
func Unknown(name string) error {
	e := sqlerror.New("42704", `unrecognized configuration parameter "%s"`, name)
	if near := nearest(strings.ToLower(name)); near != "" {
		e.HintText = fmt.Sprintf("Perhaps you mean %q.", near)
	}
	return e
}

func nearest(name string) (near string) {
	best := spelling.Near(name) + 1
	for _, s := range All() {
		if d := spelling.Distance(name, strings.ToLower(s.Name)); d < best {
			best, near = d, s.Name
		}
	}
	return near
}

// Ours is the prefix of the settings of csmsql; there are no placeholders with it.
const Ours = "csm."

// Placeholder returns nil if a name that no setting has may be a placeholder, as PostgreSQL keeps settings of
// extensions that it does not know; the error says why not.
func Placeholder(name string) error {
	parts := strings.Split(name, ".")
	switch {
	case len(parts) < 2 || strings.HasPrefix(strings.ToLower(name), Ours):
		return Unknown(name)
	case slices.ContainsFunc(parts, func(part string) bool { return !isIdentifier(part) }):
		e := sqlerror.New("42602", `invalid configuration parameter name "%s"`, name)
		e.DetailText = "Custom parameter names must be two or more simple identifiers separated by dots."
		return e
	}
	return nil
}

func isIdentifier(text string) bool {
	for i, r := range text {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
		if !letter && (i == 0 || r != '$' && (r < '0' || r > '9')) {
			return false
		}
	}
	return text != ""
}
