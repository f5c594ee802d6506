package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// What a node does when its region is not what the catalog says: it comes up with every table that is whole, and
// each other one says what is wrong with it when it is asked. A node that refused to start would keep its operator
// from the good tables and from dropping the bad ones.

// lenders is the catalog's Lender: the regions that are lent, and those that are gone. Of these nothing can be
// pinned and nothing comes back, but tables that lay there can still be named, replaced and dropped. In a cluster,
// other nodes' regions are theirs to pin and to retire in.
type lenders struct {
	catalog.Homes
	gone   map[memregion.RegionID]error
	shared bool
}

func (l lenders) there(ids []catalog.ExtentID) []catalog.ExtentID {
	if len(l.gone) == 0 && !l.shared {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id catalog.ExtentID) bool {
		return l.gone[id.Region] != nil || l.shared && l.Homes[id.Region] == nil
	})
}

func (l lenders) Pin(domain coherence.Domain, ids ...catalog.ExtentID) error {
	return l.Homes.Pin(domain, l.there(ids)...)
}

func (l lenders) Unpin(domain coherence.Domain, ids ...catalog.ExtentID) error {
	return l.Homes.Unpin(domain, l.there(ids)...)
}

func (l lenders) Retire(ids ...catalog.ExtentID) error {
	return l.Homes.Retire(l.there(ids)...)
}

// adoptMended adopts a region whose file was truncated: it is made long again, with zeros. Checksums find what was cut
// off, since nothing of an earlier life is read unverified (unless Config.Verify is VerifyOff, which says so).
func (n *Node) adoptMended(ctx context.Context, spec memregion.Spec, owned []memregion.Owned) (*memregion.Lent, error) {
	lent, err := n.adoptWhenFree(ctx, spec, owned)
	if !errors.Is(err, memregion.ErrRegionShort) {
		return lent, err
	}
	n.config.Log.Error("the region's file was cut off; tables that lay behind its end need their source: ALTER TABLE … RELOAD, where one is on record", "region", spec.ID, "error", err)
	var end int64
	for _, o := range owned {
		end = max(end, o.Range.End())
	}
	if err := os.Truncate(spec.Path, end); err != nil {
		return nil, fmt.Errorf("make the file of region %d as long as its tables: %w", spec.ID, err)
	}
	return n.adoptWhenFree(ctx, spec, owned)
}

// checkOwners refuses a catalog whose tables lie in the region of a node of another name: an operator who starts the
// node so would find them all gone.
func (n *Node) checkOwners(live map[memregion.RegionID][]catalog.LiveExtent) error {
	owners := map[memregion.RegionID]string{}
	for _, record := range n.Catalog.Regions() {
		owners[record.ID] = record.Node
	}
	for region, extents := range live {
		switch owner, known := owners[region]; {
		case !known:
			return fmt.Errorf("%w: table %s lies in region %d, of which the catalog in %s knows nothing", catalog.ErrCorrupt, extents[0].Table, region, n.config.Directory)
		case owner != n.config.Node:
			return sqlerror.New("55000", "the tables in %s lie in the region of node %q, and this node is called %q", n.config.Directory, owner, n.config.Node).
				WithHint("Start the node with its former name, or with another data directory.")
		}
	}
	return nil
}
