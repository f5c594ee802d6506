package record

import (
	"time"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// Field numbers of Node in catalog.proto.
const (
	nodeName, nodeAddress, nodeBoot, nodeStarted = 1, 2, 3, 4
	nodeDirectory, nodeFrontend, nodeIncarnation = 5, 6, 7
)

// Node is what the catalog keeps of a node.
type Node struct {
	Name    string
	Address string // where its RPC listens
	BootID  string
	Started time.Time
	// Directory is the identity of its data directory: the holder of that directory's lock is this node.
	Directory string
	// Incarnation is how its present process calls itself when it calls others.
	Incarnation string
	// Frontend is where it speaks PostgreSQL's protocol, empty if it does not.
	Frontend string
}

// Encode writes the record.
func (n *Node) Encode() []byte {
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

// DecodeNode is the inverse of Encode.
func DecodeNode(data []byte) (*Node, error) {
	n := &Node{}
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
	return n, r.Err()
}
