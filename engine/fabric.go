package engine

import (
	"fmt"
	"os"
	"time"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// fabric is how the memory of a node and of those that it shares it with reaches this process, and what this process has to do about caches.
type fabric struct {
	kind   memregion.FabricKind
	class  coherence.Class
	lines  coherence.Lines        // nil where nothing has to be flushed, by this process at least
	domain *memregion.Domain      // nil where caches are real
	device *memregion.DevicePlace // nil: a region has a file of its own
	// machine is whose caches a node uses, by a name that outlives its process: the node's own. Nodes of one machine are more careful than they must be.
	machine coherence.Domain
	spoil   func(use string, lines coherence.Lines) coherence.Lines // see spoiled
	clock   func() time.Time                                        // measures ways to copy
}

// What lines are used for, in spoiled.lines.
const (
	linesOfHome      = "home"      // what the lender orders in its own region: prepare, clean, home clean, abort
	linesOfAhead     = "ahead"     // what the lender drops of free memory, in the background
	linesOfReader    = "reader"    // acquires
	linesOfLending   = "lending"   // seals and reallocations for writers of other nodes
	linesOfBorrowing = "borrowing" // cleans and aborts in other nodes' regions
)

// linesFor is what flushes for one use.
func (f fabric) linesFor(use string) coherence.Lines {
	if f.lines == nil || f.spoil == nil {
		return f.lines
	}
	return f.spoil(use, f.lines)
}

// chooser finds how to copy into one region; nil where nothing has to be flushed.
func (f fabric) chooser(use string) *coherence.Chooser {
	if f.class == coherence.Coherent || f.lines == nil {
		return nil
	}
	return coherence.NewChooser(f.linesFor(use), f.clock)
}

// newFabric is that of a node. text is as memregion.ParseFabric takes it.
func newFabric(node string, text memregion.FabricKind) (fabric, error) {
	kind, seed, err := memregion.ParseFabric(string(text))
	if err != nil {
		return fabric{}, err
	}
	f := fabric{kind: kind, class: coherence.ClassOf(kind), machine: coherence.Domain(node), clock: time.Now}
	if f.domain = memregion.NewDomain(kind, node, seed); f.domain != nil {
		f.lines = f.domain.Lines()
	} else if f.class != coherence.Coherent {
		if f.lines, err = coherence.NewCPULines(); err != nil {
			return f, err
		}
	}
	return f, nil
}

// guestFabric is that of a process of the same machine as a node that it is attached to: what the node has acquired is acquired for both, and
// the caches between them agree.
func guestFabric(node string, kind memregion.FabricKind) fabric {
	f := fabric{kind: kind, class: coherence.ClassOf(kind), domain: memregion.GuestDomain(kind, node)}
	if f.domain != nil && f.domain.Lines() != nil {
		f.lines = f.domain.Lines()
	}
	return f
}

// borrowerFabric is that of a process which is attached to a node from somewhere else, as far as that is known: it has to keep its caches right
// itself. name is its own and nobody's before.
func borrowerFabric(name string, kind memregion.FabricKind) (f fabric, err error) {
	f = fabric{kind: kind, class: coherence.ClassOf(kind)}
	if f.domain = memregion.TemporaryDomain(kind, name, uint64(os.Getpid())); f.domain != nil {
		f.lines = f.domain.Lines()
	} else if f.class != coherence.Coherent {
		f.lines, err = coherence.NewCPULines()
	}
	return f, err
}

// reader acquires for this process. A guest has nothing to flush: its caches are its node's.
func (f fabric) reader(counters *coherence.Counters) *coherence.Reader {
	if f.guest() {
		return coherence.NewReader(coherence.Coherent, nil, counters)
	}
	return coherence.NewReader(f.class, f.linesFor(linesOfReader), counters)
}

// guest tells that another process has to flush for this one.
func (f fabric) guest() bool { return f.class != coherence.Coherent && f.lines == nil }

// accepts refuses a region on a fabric of another kind: what this process does about caches would be wrong there.
func (f fabric) accepts(spec memregion.Spec, owner string) error {
	if spec.Fabric == f.kind || f.class == coherence.Coherent && spec.Fabric.HardwareCoherent() {
		return nil
	}
	return sqlerror.New("55000", "region %d of node %q is on fabric %s, and this process is on %s", spec.ID, owner, spec.Fabric, f.kind).
		WithHint(fmt.Sprintf("All nodes of a cluster are on one kind of fabric: start this one with --fabric %s.", spec.FabricText()))
}
