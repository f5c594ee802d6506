package engine

import (
	"fmt"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// disabledBy reads a value of it.
func disabledBy(list string) (optimization.Set, error) {
	set, unknown := optimization.Parse(list)
	if unknown != "" {
		return set, sqlerror.New("22023", "invalid value for parameter %q: %q", setting.Disable, unknown).
			WithHint(fmt.Sprintf("Available values, with commas between them: %s.", optimization.Names()))
	}
	return set, nil
}

// disable brings Config.Disable into the form that SHOW shows.
func (c *Config) disable() error {
	set, err := disabledBy(c.Disable)
	c.Disable = set.String()
	return err
}

// without is what the session's queries do without. Of what another node's session asks for, which may be newer, this one leaves out what
// it knows.
func (s *Session) without() optimization.Set {
	list, set := s.settings.values[setting.Disable]
	if !set {
		list = s.engine.config.Disable
	}
	out, _ := optimization.Parse(list)
	if s.asDeclared {
		out |= optimization.Enum
	}
	return out
}

// withoutLine is how EXPLAIN says it; nothing if nothing is left out.
func (q *query) withoutLine() []string {
	if q.without == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Not used: %s (%s)", q.without, setting.Disable)}
}

// withoutHints takes out of hints what planning is to do without.
func withoutHints(hints []plan.Scan, without optimization.Set) {
	for i := range hints {
		if without.Has(optimization.Keys) {
			hints[i].Joins = nil
		}
		if without.Has(optimization.Groups) {
			hints[i].Group = nil
		}
		if without.Has(optimization.Enum) {
			hints[i].EnumSafe = nil
		}
	}
}
