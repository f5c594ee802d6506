package coherence

import (
	"fmt"

	"github.com/csmsql/csmsql/memregion"
)

// Generation numbers one writing of one extent. It is unique and monotonic per region (not per address), across
// restarts of the lender too, so (region, generation) names one writing for ever. Zero names nothing.
type Generation uint64

// Domain names a set of CPUs whose caches are coherent with each other: one host. The name must belong to one
// incarnation of the host's membership: a domain that came back after its lease expired comes back with a new name,
// otherwise a late Unpin of its former life could take away a pin of its present one (C5).
type Domain string

// Class is what a fabric says about its caches; the steps that apply follow from it.
type Class uint8

const (
	// Coherent fabrics keep every cache right by themselves (one host's shm). No flush is paid; all are counted.
	Coherent Class = iota
	// Incoherent fabrics are coherent inside each domain only; every access of a domain goes to memory by itself.
	Incoherent
	// IncoherentHomeSnoop fabrics answer a borrower's load from the lender's cache when the line is there, while a
	// borrower's write-back goes past it (ThymesisFlow).
	IncoherentHomeSnoop
)

func (c Class) String() string {
	switch c {
	case Coherent:
		return "coherent"
	case Incoherent:
		return "incoherent"
	case IncoherentHomeSnoop:
		return "incoherent-home-snoop"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ClassOf is what a region's fabric says of itself.
func ClassOf(fabric memregion.FabricKind) Class {
	switch {
	case fabric.HardwareCoherent():
		return Coherent
	case fabric.HomeSnooped():
		return IncoherentHomeSnoop
	}
	return Incoherent
}

func (c Class) valid() bool { return c <= IncoherentHomeSnoop }

// pays reports whether flushes and fences do anything on this fabric.
func (c Class) pays() bool { return c != Coherent }

// Seal is what the lender records when a generation is complete: it never changes afterwards.
type Seal struct {
	Length   int64  // bytes from the extent's start that carry data; the rest is padding
	Checksum uint64 // of those bytes; its algorithm is the caller's (the catalog uses xxh3-64)
}

// State is where one generation stands. The diagram is in doc.go.
type State uint8

const (
	// Free is no generation at all: never granted, or over.
	Free State = iota
	// Granted belongs to exactly one writer, which stores into it.
	Granted
	// Cleaned holds its bytes in memory: the writer has written back and dropped every line.
	Cleaned
	// HomeCleaned was dropped from the lender's cache too (home-snoop fabrics, foreign writer).
	HomeCleaned
	// Sealed is recorded with its length and checksum and never changes again.
	Sealed
	// Published may be pinned and read.
	Published
	// Retired takes no new domain; it lives until its last pin goes.
	Retired
	// Aborting waits until its writer, or another process of the writer's host, has flushed.
	Aborting
	// Quarantined belonged to a writer that was fenced off; its memory rests until it is lifted.
	Quarantined

	stateCount = int(Quarantined) + 1
)

var stateNames = [stateCount]string{"free", "granted", "cleaned", "home-cleaned", "sealed", "published", "retired", "aborting", "quarantined"}

func (s State) String() string {
	if int(s) < stateCount {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// transition is what may happen to one generation, in the words of the protocol.
type transition uint8

const (
	toGrant transition = iota
	toClean
	toHomeClean
	toSeal
	toPublish
	toRetire
	toAbort
	toQuarantine
	toReclaim
	toAdopt
)

// next is the one place that knows which transition is legal where. Guards that need more than the state (pins, the
// home clean of a fabric) are the Core's.
func (s State) next(t transition) (State, bool) {
	switch t {
	case toGrant:
		return Granted, s == Free
	case toClean:
		return Cleaned, s == Granted
	case toHomeClean:
		return HomeCleaned, s == Cleaned
	case toSeal:
		return Sealed, s == Cleaned || s == HomeCleaned
	case toPublish:
		return Published, s == Sealed
	case toRetire:
		return Retired, s == Published
	case toAbort:
		return Aborting, s == Granted
	case toQuarantine:
		return Quarantined, s == Granted || s == Aborting
	case toReclaim:
		// Never from Granted: its writer's dirty lines would outlive it (C3). Never from Published: Retire first.
		return Free, s == Retired || s == Sealed || s == Cleaned || s == HomeCleaned || s == Aborting || s == Quarantined
	case toAdopt:
		return Published, s == Free
	}
	return s, false
}
