package replicas

import (
	"cmp"
	"slices"

	"github.com/csmsql/csmsql/engine/placement"
)

// State says what one of a chunk's replicas is worth.
type State uint8

const (
	// It can be read.
	Whole State = iota
	// Its node is not there, and will be back, for all one knows.
	Away
	// Its node has not been there for long. When it comes back the replica is there again.
	Gone
	// Its bytes are not there any more, or not what was sealed.
	Lost
)

// Holder is a node that has one of a chunk's replicas.
type Holder struct {
	Node  string
	State State
}

// Place is where one of a chunk's replicas is to lie: where holder number Have has it, or, if that is below 0, at a
// node where it is made.
type Place struct {
	Node string
	Have int
}

// Most is how many replicas a chunk may have, those of gone nodes included.
const Most = 32

// Plan is what holds of all chunks of a table, and what was assigned so far.
type Plan struct {
	Placement placement.Placement
	Replicas  int              // that are wanted
	Online    []string         // the nodes that take rows, by name
	Load      map[string]int64 // bytes of first replicas
}

// Least gives one more first replica to the node that has least: of those of names that hold the chunk already, else of
// all of them.
func (t *Plan) Least(names []string, at []Holder, bytes int64) string {
	var have []string
	for _, h := range at {
		if h.State == Whole && slices.Contains(names, h.Node) {
			have = append(have, h.Node)
		}
	}
	if len(have) == 0 {
		have = names
	}
	least := slices.MinFunc(have, func(a, b string) int { return cmp.Compare(t.Load[a], t.Load[b]) })
	t.Load[least] += bytes
	return least
}

// Places moves a chunk's first replica to a node and keeps, of the others, what may stay.
func (t *Plan) Places(first string, at []Holder) []Place {
	listed := len(t.Placement.Nodes) >= t.Replicas
	to := []Place{{first, slices.IndexFunc(at, func(h Holder) bool { return h.Node == first && h.State == Whole })}}
	for i, h := range at {
		if len(to) < t.Replicas && h.Node != first && h.State <= Away && (!listed || t.Placement.Names(h.Node)) && (h.State == Away || slices.Contains(t.Online, h.Node)) {
			to = append(to, Place{h.Node, i})
		}
	}
	for _, name := range Behind(t.Placement, t.Online, first) {
		if len(to) < t.Replicas && !slices.ContainsFunc(to, func(p Place) bool { return p.Node == name }) {
			to = append(to, Place{name, -1})
		}
	}
	return to
}

// Mended keeps a chunk's replicas and makes those that are missing:
//
//   - one whose node is gone stays on the list, because with the node it comes back, and another one is made meanwhile;
//   - when it is back, the one that was made last goes;
//   - one that is lost is rebuilt where it was, if that node takes rows.
//
// The first replica stays the first, since it says whose part of the table the chunk is, unless it is lost and its node
// takes no rows: then another one becomes it; with hash, where the part says which rows there are, none does. A chunk
// without a whole replica stays as it is.
func (t *Plan) Mended(at []Holder) []Place {
	asIs := AsTheyAre(at)
	if !slices.ContainsFunc(at, func(h Holder) bool { return h.State == Whole }) {
		return asIs
	}
	var to []Place
	for i, h := range at {
		switch {
		case h.State != Lost, i == 0 && t.Placement.Kind == placement.Hash && !slices.Contains(t.Online, h.Node):
			to = append(to, asIs[i])
		case i == 0 && slices.Contains(t.Online, h.Node):
			to = append(to, Place{h.Node, -1})
		}
	}
	is := func(p Place, most State) bool { return p.Have < 0 || at[p.Have].State <= most }
	number := func(most State) (n int) {
		for _, p := range to {
			if is(p, most) {
				n++
			}
		}
		return n
	}
	if to[0].Have > 0 { // the first is lost and made nowhere: one that can be read takes its place
		i := slices.IndexFunc(to, func(p Place) bool { return at[p.Have].State == Whole })
		promoted := to[i]
		to = slices.Insert(slices.Delete(to, i, i+1), 0, promoted)
	}
	for _, name := range Behind(t.Placement, t.Online, to[0].Node) {
		if number(Away) < t.Replicas && len(to) < Most && !slices.ContainsFunc(to, func(p Place) bool { return p.Node == name }) {
			to = append(to, Place{name, -1})
		}
	}
	for i := len(to) - 1; i > 0; i-- { // only as many as can be read are enough for one that can be read to go
		readable := is(to[i], Whole)
		if number(Whole) > t.Replicas && readable || number(Whole) >= t.Replicas && !readable && i >= t.Replicas {
			to = slices.Delete(to, i, i+1)
		}
	}
	return to
}

// Remade says where the replicas of a chunk are to lie whose rows are made again because none of its replicas can be
// read, for as long as that lasts. One that may come back with its node stays on the list, as with Mended, so that the
// node finds its own when it is back, and is not to be waited for. With a hash it stays the first (RP3).
func (t *Plan) Remade(at []Holder) []Place {
	var to []Place
	made := 0
	for i, h := range at {
		online := slices.Contains(t.Online, h.Node)
		switch {
		case h.State == Lost && online && made < t.Replicas:
			to = append(to, Place{h.Node, -1})
			made++
		case h.State != Lost, i == 0 && t.Placement.Kind == placement.Hash && !online:
			to = append(to, Place{h.Node, i})
		}
	}
	first := ""
	if len(to) > 0 {
		first = to[0].Node
	} else if len(at) > 0 {
		first = at[0].Node
	}
	behind := Behind(t.Placement, t.Online, first)
	if len(to) == 0 && slices.Contains(t.Online, first) {
		behind = append([]string{first}, behind...)
	}
	for _, name := range behind {
		if made < t.Replicas && len(to) < Most && !slices.ContainsFunc(to, func(p Place) bool { return p.Node == name }) {
			to = append(to, Place{name, -1})
			made++
		}
	}
	for i := len(to) - 1; i >= t.Replicas && made >= t.Replicas; i-- { // as Mended does
		if to[i].Have >= 0 {
			to = slices.Delete(to, i, i+1)
		}
	}
	return to
}

// AsTheyAre keeps all replicas.
func AsTheyAre(at []Holder) []Place {
	to := make([]Place, len(at))
	for i, h := range at {
		to[i] = Place{h.Node, i}
	}
	return to
}

// Unchanged reports whether n replicas lie as they are wanted.
func Unchanged(to []Place, n int) bool {
	for i, p := range to {
		if p.Have != i {
			return false
		}
	}
	return len(to) == n
}

// Behind lists the nodes to which further replicas of a chunk may go whose first one lies on a node: of those that take
// rows, in the order in which they are taken.
func Behind(p placement.Placement, online []string, first string) []string {
	listed := after(p.Nodes, slices.Index(p.Nodes, first))
	at, found := slices.BinarySearch(online, first)
	if !found {
		at--
	}
	var names []string
	for _, name := range slices.Concat(listed, after(online, at)) {
		if name != first && slices.Contains(online, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// after is a list from behind a position on, going round.
func after(list []string, at int) []string {
	if len(list) == 0 {
		return nil
	}
	at = (at + 1) % len(list)
	return slices.Concat(list[at:], list[:at])
}
