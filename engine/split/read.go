package split

import (
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/scan"
)

// Read lists the tables that a plan names: by its scans, as the Arrow kernels' one, nil if there is none, or in parts.
func Read(scans []*scan.Scan, kernels *facts.Facts, parts *Plan) (list []*catalog.TableVersion) {
	for _, t := range scans {
		list = append(list, t.Facts.Version)
	}
	if kernels != nil {
		list = append(list, kernels.Version)
	}
	if parts != nil {
		list = slices.AppendSeq(list, maps.Values(parts.Versions))
	}
	seen := map[*catalog.TableVersion]bool{nil: true}
	return slices.DeleteFunc(list, func(v *catalog.TableVersion) bool {
		again := seen[v]
		seen[v] = true
		return again
	})
}
