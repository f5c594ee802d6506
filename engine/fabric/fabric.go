package fabric

import (
	"fmt"
	"os"
	"time"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Fabric is how the memory of a node and of those that it shares it with reaches this process, and what this process
// has to do about caches.
type Fabric struct {
	Kind   memregion.FabricKind
	Class  coherence.Class
	Lines  coherence.Lines        // nil where nothing has to be flushed, by this process at least
	Domain *memregion.Domain      // nil where caches are real
	Device *memregion.DevicePlace // nil: a region has a file of its own
	// Machine is whose caches a node uses, by a name that outlives its process: the node's own. Nodes of one machine
	// are more careful than they must be.
	Machine coherence.Domain
	// Intercept stands between the protocol and the caches, for tests; nil: nothing does.
	Intercept func(use Use, lines coherence.Lines) coherence.Lines
	Clock     func() time.Time // measures ways to copy
}

// Use is the purpose for which flushes are ordered.
type Use = string

// The uses.
const (
	Home      Use = "home"      // what the lender orders in its own region: prepare, clean, home clean, abort
	Ahead     Use = "ahead"     // what the lender drops of free memory, in the background
	Acquire   Use = "reader"    // acquires
	Lending   Use = "lending"   // seals and reallocations for writers of other nodes
	Borrowing Use = "borrowing" // cleans and aborts in other nodes' regions
)

// LinesFor is what flushes for one use.
func (f Fabric) LinesFor(use Use) coherence.Lines {
	if f.Lines == nil || f.Intercept == nil {
		return f.Lines
	}
	return f.Intercept(use, f.Lines)
}

// Chooser finds how to copy into one region; nil where nothing has to be flushed.
func (f Fabric) Chooser(use Use) *coherence.Chooser {
	if f.Class == coherence.Coherent || f.Lines == nil {
		return nil
	}
	return coherence.NewChooser(f.LinesFor(use), f.Clock)
}

// OfNode is that of a node. text is as memregion.ParseFabric takes it.
func OfNode(node string, text memregion.FabricKind) (Fabric, error) {
	kind, seed, err := memregion.ParseFabric(string(text))
	if err != nil {
		return Fabric{}, err
	}
	f := Fabric{Kind: kind, Class: coherence.ClassOf(kind), Machine: coherence.Domain(node), Clock: time.Now}
	if f.Domain = memregion.NewDomain(kind, node, seed); f.Domain != nil {
		f.Lines = f.Domain.Lines()
	} else if f.Class != coherence.Coherent {
		if f.Lines, err = coherence.NewCPULines(); err != nil {
			return f, err
		}
	}
	return f, nil
}

// OfGuest is that of a process of the same machine as a node that it is attached to: what the node has acquired is
// acquired for both, and the caches between them agree.
func OfGuest(node string, kind memregion.FabricKind) Fabric {
	f := Fabric{Kind: kind, Class: coherence.ClassOf(kind), Domain: memregion.GuestDomain(kind, node)}
	if f.Domain != nil && f.Domain.Lines() != nil {
		f.Lines = f.Domain.Lines()
	}
	return f
}

// OfBorrower is that of a process which is attached to a node from another host, as far as that is known: it has to
// keep its caches right itself. name is its own and was never used before.
func OfBorrower(name string, kind memregion.FabricKind) (f Fabric, err error) {
	f = Fabric{Kind: kind, Class: coherence.ClassOf(kind)}
	if f.Domain = memregion.TemporaryDomain(kind, name, uint64(os.Getpid())); f.Domain != nil {
		f.Lines = f.Domain.Lines()
	} else if f.Class != coherence.Coherent {
		f.Lines, err = coherence.NewCPULines()
	}
	return f, err
}

// Reader acquires for this process. A guest has nothing to flush: its caches are its node's.
func (f Fabric) Reader(counters *coherence.Counters) *coherence.Reader {
	if f.Guest() {
		return coherence.NewReader(coherence.Coherent, nil, counters)
	}
	return coherence.NewReader(f.Class, f.LinesFor(Acquire), counters)
}

// Guest reports whether another process has to flush for this one.
func (f Fabric) Guest() bool { return f.Class != coherence.Coherent && f.Lines == nil }

// Accepts refuses a region on a fabric of another kind: what this process does about caches would be wrong there.
func (f Fabric) Accepts(spec memregion.Spec, owner string) error {
	if spec.Fabric == f.Kind || f.Class == coherence.Coherent && spec.Fabric.HardwareCoherent() {
		return nil
	}
	return sqlerror.New("55000", "region %d of node %q is on fabric %s, and this process is on %s", spec.ID, owner, spec.Fabric, f.Kind).
		WithHint(fmt.Sprintf("All nodes of a cluster are on one kind of fabric: start this one with --fabric %s.", spec.FabricText()))
}
