package record

import (
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Field numbers of Region in catalog.proto.
const (
	regionID, regionBase, regionCapacity, regionFabric    = 1, 2, 3, 4
	regionPath, regionBoot, regionNode, regionGenerations = 5, 6, 7, 8
	regionTrusted, regionStart                            = 10, 11
)

// Region is what the catalog keeps of a region.
type Region struct {
	memregion.Spec
	// Node is the lender.
	Node string
	// Generations is the high-water mark: every generation ever used is below it.
	Generations coherence.Generation
	// Trusted: generations from here on were written since the lender's present process began; older ones may have been
	// damaged while the lender was not running.
	Trusted coherence.Generation
}

// Encode writes the record.
func (g *Region) Encode() []byte {
	w := message.Writer{}
	w.Uint(regionID, uint64(g.ID))
	w.Uint(regionBase, uint64(g.Base))
	w.Int(regionCapacity, g.Capacity)
	w.OptionalString(regionFabric, string(g.Fabric))
	w.OptionalString(regionPath, g.Path)
	w.OptionalString(regionBoot, g.BootID)
	w.OptionalString(regionNode, g.Node)
	w.OptionalUint(regionGenerations, uint64(g.Generations))
	w.OptionalUint(regionTrusted, uint64(g.Trusted))
	w.OptionalUint(regionStart, uint64(g.Start))
	return w.Buf
}

// DecodeRegion is the inverse of Encode.
func DecodeRegion(data []byte) (*Region, error) {
	g := &Region{}
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case regionID:
			g.ID = memregion.RegionID(r.Uint())
		case regionBase:
			g.Base = memregion.Addr(r.Uint())
		case regionCapacity:
			g.Capacity = r.Int()
		case regionFabric:
			g.Fabric = memregion.FabricKind(r.String())
		case regionPath:
			g.Path = r.String()
		case regionBoot:
			g.BootID = r.String()
		case regionNode:
			g.Node = r.String()
		case regionGenerations:
			g.Generations = coherence.Generation(r.Uint())
		case regionTrusted:
			g.Trusted = coherence.Generation(r.Uint())
		case regionStart:
			g.Start = int64(r.Uint())
		default:
			r.Skip()
		}
	}
	return g, r.Err()
}
