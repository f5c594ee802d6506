package scan

import (
	"slices"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
)

// Hints are the scans of a text, without what planning is to do without.
func Hints(scans []plan.Scan, without optimization.Set) []plan.Scan {
	hints := slices.Clone(scans)
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
	return hints
}
