package member

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/csmsql/csmsql/memregion"
)

// A region's file outlives its node, so that the next one finds its tables (shm and file alike). When the data
// directory is removed, the file stays: it lies in /dev/shm and takes memory until the machine boots. Each file says
// where its catalog lies (memregion.Origin).

const regionFiles = "csmsql-*.region"

// regionName is strict, because operators are asked to remove what it matches.
var regionName = regexp.MustCompile(`^csmsql-([0-9a-f]+)-[0-9]+\.region$`)

func regionFile(catalog string, id memregion.RegionID) string {
	return fmt.Sprintf("csmsql-%s-%d.region", catalog, id)
}

func (n *Node) origin() memregion.Origin {
	directory, err := filepath.Abs(n.config.Directory)
	if err != nil {
		return memregion.Origin{} // nothing is said, then
	}
	return memregion.Origin{Directory: directory, Temporary: n.temporary != ""}
}

// Abandoned lists the regions' files in regionDirectory that take memory and that no node can use any more, because
// their data directory was removed, or was a killed process' temporary one. dataDirectory and catalog name a node that
// is known, or are empty: files that say they belong to that directory and are not of that catalog are of an earlier
// one. Nothing is removed: that is for an operator who is sure that the directory is not elsewhere, or in another
// container.
func Abandoned(regionDirectory, dataDirectory, catalog string) ([]memregion.Abandoned, error) {
	found, err := memregion.FindAbandoned(regionDirectory, regionFiles, func(path string, o memregion.Origin) bool {
		name := regionName.FindStringSubmatch(filepath.Base(path))
		return dataDirectory != "" && o.Directory == dataDirectory && name != nil && name[1] != catalog
	})
	return slices.DeleteFunc(found, func(a memregion.Abandoned) bool { return !regionName.MatchString(filepath.Base(a.Path)) }), err
}
