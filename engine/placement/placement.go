package placement

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Kind is how rows come to their nodes.
type Kind uint8

// The kinds.
const (
	Local Kind = iota
	Node
	Rows
	Hash
)

func (k Kind) String() string { return [...]string{"local", "node", "rows", "hash"}[min(k, Hash)] }

// Placement is a table's. The zero value is local.
type Placement struct {
	Kind Kind
	// Columns are those of the hash, in order; at least one with Hash, none otherwise.
	Columns []string
	// Nodes is the one node of Node; the nodes of Rows and Hash, where empty means all: those that are there when rows
	// are written, or for Hash when the table is made. No name is there twice.
	Nodes []string
	// Dividing says of Hash that rows which were there before may lie elsewhere still. It is no one's to ask for: a table
	// is so while it is divided.
	Dividing bool
}

// ByHash reports whether every row lies where a hash says.
func (p Placement) ByHash() bool { return p.Kind == Hash && !p.Dividing }

// String is the canonical text; of local it is "local".
func (p Placement) String() string {
	switch p.Kind {
	case Node:
		return "node" + list(p.Nodes)
	case Rows:
		if len(p.Nodes) == 0 {
			return "rows"
		}
		return "rows" + list(p.Nodes)
	case Hash:
		text := "hash" + list(p.Columns)
		if len(p.Nodes) > 0 {
			text += " on " + list(p.Nodes)
		}
		if p.Dividing {
			text += " dividing"
		}
		return text
	}
	return "local"
}

// Names reports whether the placement names a node.
func (p Placement) Names(node string) bool { return slices.Contains(p.Nodes, node) }

// Without is the placement with the node taken out of its list. left reports whether the list has others: if not, or if
// the node was not in it, the placement comes back as it is.
func (p Placement) Without(node string) (q Placement, left bool) {
	if !p.Names(node) || len(p.Nodes) == 1 {
		return p, len(p.Nodes) != 1
	}
	p.Nodes = slices.DeleteFunc(slices.Clone(p.Nodes), func(n string) bool { return n == node })
	return p, true
}

func list(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

func quote(name string) string {
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !bare(r) }) < 0 {
		return name
	}
	return lex.Quote(name)
}
