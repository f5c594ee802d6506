package catalog

import (
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func hexadecimal(v uint64) string { return fmt.Sprintf("%016x", v) }

// Field numbers of catalog.proto.
const (
	formatNumber, formatIdentity, formatCreated                     = 1, 2, 3
	counterNext                                                     = 1
	nameKind, nameID                                                = 1, 2
	viewID, viewSchema, viewName, viewSQL, viewColumns, viewCreated = 1, 2, 3, 4, 5, 6
	viewCounter                                                     = 7
	regionID, regionBase, regionCapacity, regionFabric              = 1, 2, 3, 4
	regionPath, regionBoot, regionNode, regionGenerations           = 5, 6, 7, 8
	regionTrusted, regionStart                                      = 10, 11
	nodeName, nodeAddress, nodeBoot, nodeStarted                    = 1, 2, 3, 4
	nodeDirectory, nodeFrontend, nodeIncarnation                    = 5, 6, 7
)

// The kinds in a name record.
const (
	kindTable = 1
	kindView  = 2
)

func encodeName(kind uint64, id TableID) []byte {
	w := message.Writer{}
	w.Uint(nameKind, kind)
	w.Uint(nameID, uint64(id))
	return w.Buf
}

func encodeCounter(next uint64) []byte {
	w := message.Writer{}
	w.Uint(counterNext, next)
	return w.Buf
}

func decodeCounter(data []byte) (next uint64, err error) {
	r := message.NewReader(data)
	for r.Next() {
		if r.Field() == counterNext {
			next = r.Uint()
		} else {
			r.Skip()
		}
	}
	return next, damaged("counter", r.Err())
}

func encodeFormat(identity string, created time.Time) []byte {
	w := message.Writer{}
	w.Uint(formatNumber, catalogFormat)
	w.String(formatIdentity, identity)
	w.Int(formatCreated, created.UnixMicro())
	return w.Buf
}

func checkFormat(data []byte) (identity string, err error) {
	r := message.NewReader(data)
	var format uint64
	for r.Next() {
		switch r.Field() {
		case formatNumber:
			format = r.Uint()
		case formatIdentity:
			identity = r.String()
		default:
			r.Skip()
		}
	}
	if err := damaged("format", r.Err()); err != nil {
		return "", err
	}
	if format != catalogFormat {
		return "", fmt.Errorf("%w: format %d, this program knows %d: use the program that wrote it", ErrFormat, format, catalogFormat)
	}
	return identity, nil
}

func (v *View) encode() ([]byte, error) {
	w := message.Writer{}
	w.Uint(viewID, uint64(v.ID))
	w.OptionalString(viewSchema, v.Name.Schema)
	w.OptionalString(viewName, v.Name.Name)
	w.OptionalString(viewSQL, v.SQL)
	w.Int(viewCreated, v.CreatedAt.UnixMicro())
	w.OptionalUint(viewCounter, uint64(v.Counter))
	if v.Columns == nil {
		return w.Buf, nil
	}
	columns, err := descriptor.AppendSchema(nil, v.Columns)
	if err != nil {
		return nil, fmt.Errorf("columns of view %v: %w", v.Name, err)
	}
	w.Bytes(viewColumns, columns)
	return w.Buf, nil
}

func decodeView(data []byte) (*View, error) {
	v := &View{}
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case viewID:
			v.ID = TableID(r.Uint())
		case viewSchema:
			v.Name.Schema = r.String()
		case viewName:
			v.Name.Name = r.String()
		case viewSQL:
			v.SQL = r.String()
		case viewCreated:
			v.CreatedAt = time.UnixMicro(r.Int()).UTC()
		case viewCounter:
			v.Counter = CounterID(r.Uint())
		case viewColumns:
			columns, err := descriptor.DecodeSchema(r.Bytes())
			r.Fail(err)
			v.Columns = columns
		default:
			r.Skip()
		}
	}
	if r.Err() == nil && (v.ID == 0 || v.Name.Name == "") {
		return nil, damaged("view", fmt.Errorf("no identity or name"))
	}
	return v, damaged("view", r.Err())
}

// RegionRecord is what the catalog keeps of a region.
type RegionRecord struct {
	memregion.Spec
	// Node is the lender.
	Node string
	// Generations is the high-water mark: every generation ever used is below it.
	Generations coherence.Generation
	// Trusted: generations from here on were written since the lender's present process began; older ones may have been
	// damaged while nobody looked.
	Trusted coherence.Generation
}

func (g *RegionRecord) encode() []byte {
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

func decodeRegion(data []byte) (*RegionRecord, error) {
	g := &RegionRecord{}
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
	return g, damaged("region", r.Err())
}

// NodeRecord is what the catalog keeps of a node.
type NodeRecord struct {
	Name    string
	Address string // where its RPC listens
	BootID  string
	Started time.Time
	// Directory is the identity of its data directory: who holds that directory's lock is this node.
	Directory string
	// Incarnation is how its present process calls itself when it calls others.
	Incarnation string
	// Frontend is where it speaks PostgreSQL's protocol, empty if it does not.
	Frontend string
}

func (n *NodeRecord) encode() []byte {
	w := message.Writer{}
	w.OptionalString(nodeName, n.Name)
	w.OptionalString(nodeAddress, n.Address)
	w.OptionalString(nodeBoot, n.BootID)
	w.Int(nodeStarted, n.Started.UnixMicro())
	w.OptionalString(nodeDirectory, n.Directory)
	w.OptionalString(nodeFrontend, n.Frontend)
	w.OptionalString(nodeIncarnation, n.Incarnation)
	return w.Buf
}

func decodeNode(data []byte) (*NodeRecord, error) {
	n := &NodeRecord{}
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case nodeName:
			n.Name = r.String()
		case nodeAddress:
			n.Address = r.String()
		case nodeBoot:
			n.BootID = r.String()
		case nodeStarted:
			n.Started = time.UnixMicro(r.Int()).UTC()
		case nodeDirectory:
			n.Directory = r.String()
		case nodeIncarnation:
			n.Incarnation = r.String()
		case nodeFrontend:
			n.Frontend = r.String()
		default:
			r.Skip()
		}
	}
	return n, damaged("node", r.Err())
}

func damaged(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%s): %w", ErrCorrupt, what, err)
}
