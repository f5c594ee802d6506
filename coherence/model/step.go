package model

import (
	"fmt"

	"github.com/csmsql/csmsql/coherence"
)

// Kind is what happens in a step.
type Kind uint8

// Steps of the protocol's scripts, then those of the hardware.
const (
	// Grant: the lender allocates, its kernel zeroes, and it grants; it hands over when its own lines are gone.
	// Memory that is used again is not zeroed where it is Untouched.
	Grant Kind = iota
	// Zero: the lender's kernel zeroes a place that is free.
	Zero
	// DropAhead: the lender issues the flushes of places that are free, and that its domain has stored into. They are
	// not granted before that is done.
	DropAhead
	// DroppedAhead: one of these flushes is done; after the last one the fence is passed.
	DroppedAhead
	// Store: the writer stores the next place.
	Store
	// Clean: the writer issues the flushes of step 3.
	Clean
	// Abort: the writer gives up and issues the flushes of step 9.
	Abort
	// Shrink: the writer issues the flushes of the tail that it gives back.
	Shrink
	// Flushed: one flush of the writer is done, or of the lender that prepares; after the last one the fence is passed.
	Flushed
	// HomeFlushed: one flush of the home clean is done.
	HomeFlushed
	// Seal, Publish: step 5. Where the lender must look first, it finds the right bytes.
	Seal
	Publish
	// Discard: what was sealed will not be published.
	Discard
	// Forsake: what was cleaned will not be sealed.
	Forsake
	// Reject: the lender looks before it seals and finds wrong bytes.
	Reject
	// Retire: the catalog lets go.
	Retire
	// FenceOff: a borrower's host is cut off; it comes back with another name and empty caches.
	FenceOff
	// Lift ends a quarantine.
	Lift
	// Acquire: a node pins and issues the flushes of step 6, if it does not hold the generation.
	Acquire
	// Acquired: one flush of an acquire is done; after the last one the checksum is right.
	Acquired
	// Mismatch: the last flush of an acquire is done, and the checksum is wrong.
	Mismatch
	// Fail: an acquire ends in an error.
	Fail
	// Unpin: a reader ends its query and remembers what it acquired.
	Unpin
	// Release: a reader ends its query and remembers nothing.
	Release
	// Expire: a domain's lease ends, and its process with it.
	Expire
	// Restart: the lender's process ends, or with Line 1 its machine, and the next one adopts what was published.
	Restart
	// Grow: the writer issues the flush of what its lender is to copy. Reallocate: the lender copies it to another
	// place, which is the writer's then.
	Grow
	Reallocate
	// Replicate: the writer stores what it reads at the other place.
	Replicate
	// Beside: a second process of a node acquires what the first one reads, or begins to acquire.
	Beside
	// Stream: the writer stores the next place past its cache.
	Stream
	// Pass: the writer, whose stores past the cache are done, flushes a place that it has stored: the clean leaves it
	// out.
	Pass
	// LateStore: the writer stores into what was published, or into what it has passed, at First (mutations).
	LateStore
	// Prefetch: a cache fetches a line unasked.
	Prefetch
	// WriteBack: a cache writes a modified line back and keeps it.
	WriteBack
	// Evict: a cache drops a line, writing it back if it is modified. That may take its time.
	Evict
	// Land: an evicted line arrives in the memory.
	Land
	// Drain: a store past the cache is done, with Lines 1 in the cache.
	Drain

	kindCount = int(Drain) + 1
)

var kindNames = [kindCount]string{"grant", "zero", "drop-ahead", "dropped-ahead", "store", "clean", "abort", "shrink", "flushed", "home-flushed", "seal", "publish", "discard", "forsake", "reject", "retire",
	"fence-off", "lift", "acquire", "acquired", "mismatch", "fail", "unpin", "release", "expire", "restart", "grow", "reallocate", "replicate", "beside", "stream", "pass", "late-store", "prefetch", "write-back", "evict",
	"land", "drain"}

func (k Kind) String() string { return kindNames[k] }

// Step is one step. Which fields count depends on its kind.
type Step struct {
	Kind         Kind
	Node         Node
	Slot         uint8
	Line         uint8
	First, Count uint8 // addresses: of a Grant, Zero, DropAhead; First is where a Reallocate copies to
	Untouched    uint8 // of a Grant, by address: the lender's domain has stored nothing there since it dropped the lines, and does not now
	Lines        uint8 // of an Acquire: the lines whose flush is still to come
	// Before are prefetches that happen just before this step, one bit for each line of each node; they are what makes
	// a line stale. Varied are the lines for which there was a choice.
	Before uint8
	Varied uint8
}

func beforeBit(n Node, line uint8) uint8 { return 1 << (uint8(n)*Addresses + line) }

func (s Step) String() string {
	return fmt.Sprintf("%v node=%v slot=%d line=%d extent=%d+%d lines=%b before=%06b", s.Kind, s.Node, s.Slot, s.Line, s.First, s.Count, s.Lines, s.Before)
}

// Operation is what the protocol orders in a step, in the words of package coherence. First and Count are the
// addresses of a flush.
type Operation struct {
	Kind         coherence.ActionKind
	Step         coherence.Step
	First, Count uint8
}

// AccessKind is one thing that happens to a line.
type AccessKind uint8

// What the caches and the memory of the emulated machine are asked for when a trace is replayed on it.
const (
	AccessFetch AccessKind = iota
	AccessStore
	AccessWriteBack
	AccessDrop
	AccessLose  // a cache is gone, with everything that was modified
	AccessEvict // a modified line begins to leave a cache
	AccessLand  // and arrives in the memory
	AccessPass  // a store past a cache arrives there
)

// Access is what a step does to a cache: Place is a line, or an address if it is a store or passes the cache.
type Access struct {
	Kind  AccessKind
	Node  Node
	Place uint8
	Slot  int8 // AccessStore, AccessPass: whose bytes, -1: of no generation
}

// Effect is everything that a step did beside changing the state.
type Effect struct {
	Operations []Operation
	Accesses   []Access
}
