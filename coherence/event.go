package coherence

import (
	"fmt"

	"github.com/csmsql/csmsql/memregion"
)

// EventKind says what happened.
type EventKind uint8

// The events of the lender. Those that come from another node's messages are marked (m): they may be wrong, late or
// repeated, and are then errors that change nothing.
const (
	// EventReserved: generations below UpTo are on record and may be used.
	EventReserved EventKind = iota
	// EventGrant: Owner wants Range, freshly allocated, written by Domain.
	EventGrant
	// EventShrunk (m): the writer has flushed the tail; the grant is only Range now.
	EventShrunk
	// EventCleaned (m): the writer, or another process of its host, has written back and dropped every line.
	EventCleaned
	// EventHomeCleaned: the lender has dropped every line too.
	EventHomeCleaned
	// EventVerified: the lender has read the bytes of Seal and they have its checksum.
	EventVerified
	// EventSeal (m): the generation is complete.
	EventSeal
	// EventSynced: Generations are on the disk (durable fabrics).
	EventSynced
	// EventPublish: descriptors of Generations may leave.
	EventPublish
	// EventDiscard: sealed Generations will never be published.
	EventDiscard
	// EventPin (m): Domain reads Generations.
	EventPin
	// EventUnpin (m): Domain no longer reads Generations.
	EventUnpin
	// EventExpire: the lease of Domain has ended, and so have its pins.
	EventExpire
	// EventRetire: no table version refers to Generations any more.
	EventRetire
	// EventAbort (m): the writer gives up, or died.
	EventAbort
	// EventFenceOff: Domain can no longer reach the region's memory, by any path.
	EventFenceOff
	// EventLift: Generations have been quarantined for long enough.
	EventLift
	// EventAdopt: Generation was published by the lender's former incarnation.
	EventAdopt
)

var eventNames = [...]string{"reserve", "grant", "shrink", "clean", "home-clean", "verify", "seal", "sync", "publish", "discard", "pin", "unpin", "expire",
	"retire", "abort", "fence-off", "lift", "adopt"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("event(%d)", uint8(k))
}

// Event is one thing that happened at the lender. Only the fields that its kind names are read; slices stay the
// caller's and are not kept.
type Event struct {
	Kind        EventKind
	Generation  Generation   // of events about one; EventReserved: the first that is not reserved
	Generations []Generation // of events about many: all or nothing
	Domain      Domain
	Owner       string
	Range       memregion.Range
	Seal        Seal
	// Untouched, of EventGrant: parts of Range, in ascending order, of which the lender's domain has dropped every
	// line and has stored nothing there since, so that none is modified.
	Untouched []memregion.Range
}

// ActionKind says what the driver must do.
type ActionKind uint8

const (
	// ActionReserve: put on record that generations below Generation may be in use, report EventReserved, and offer
	// the refused event again.
	ActionReserve ActionKind = iota
	// ActionFenceStore orders the stores before it, non-temporal ones included, before what follows.
	ActionFenceStore
	// ActionFlush writes back and drops every line of Range.
	ActionFlush
	// ActionFenceFull orders loads, stores and flushes before it before everything that follows.
	ActionFenceFull
	// ActionHandOver: the writer may have Range as Generation now, not earlier.
	ActionHandOver
	// ActionReport: report to the lender.
	ActionReport
	// ActionHomeClean: the driver must run the flushes that follow on the lender and report EventHomeCleaned.
	ActionHomeClean
	// ActionRecord: the generation is sealed; put it on record if anything is to survive.
	ActionRecord
	// ActionSync: make Range durable, report EventSynced, and offer the refused event again.
	ActionSync
	// ActionProtect makes Range read-only for the lender, so that a stray store faults (C2). A seat belt.
	ActionProtect
	// ActionAnnounce: descriptors may leave now, not earlier, over RPC, never through the region.
	ActionAnnounce
	// ActionReleaseMemory: give Range back to the allocator; the generation is over.
	ActionReleaseMemory
	// ActionVerify: compare the checksum, report the outcome: to the reader's core, or, if it is the lender that
	// must look before it seals, EventVerified and the refused event again, or EventAbort.
	ActionVerify
	// ActionWait: another reader of this domain is acquiring the same writing; wait for the outcome.
	ActionWait
	// ActionGiveUp: the bytes stay wrong; the query fails.
	ActionGiveUp
)

var actionNames = [...]string{"reserve", "fence-store", "flush", "fence-full", "hand-over", "report", "home-clean", "record", "sync", "protect", "announce",
	"release-memory", "verify", "wait", "give-up"}

func (k ActionKind) String() string {
	if int(k) < len(actionNames) {
		return actionNames[k]
	}
	return fmt.Sprintf("action(%d)", uint8(k))
}

// Step says on whose behalf a flush or a fence is done; counters are kept per step.
type Step uint8

const (
	// StepNone is an action that is no flush and no fence.
	StepNone Step = iota
	// StepPrepare drops the lender's lines before a foreign writer gets them.
	StepPrepare
	// StepClean is the writer's (docs/coherence.md, step 3).
	StepClean
	// StepHomeClean is the lender's (step 4).
	StepHomeClean
	// StepAcquire is a reader's (step 6).
	StepAcquire
	// StepAbort is the writer's, of a grant or a tail that it gives back (step 9).
	StepAbort
	// StepAhead drops the lender's lines of free memory, so that StepPrepare finds less to do.
	StepAhead

	stepCount = int(StepAhead) + 1
)

var stepNames = [stepCount]string{"none", "prepare", "clean", "home_clean", "acquire", "abort", "ahead"}

func (s Step) String() string { return stepNames[s] }

// Action is one thing that a driver must do. A list of actions must be done in its order, each finished before the
// next begins.
type Action struct {
	Kind       ActionKind
	Step       Step
	Paid       bool // of flushes and fences: false on coherent fabrics, where the driver counts it and goes on
	Generation Generation
	Range      memregion.Range
	Owner      string // of ActionReleaseMemory
}

// String is the form of the golden histories.
func (a Action) String() string {
	switch a.Kind {
	case ActionFenceStore, ActionFenceFull:
		return fmt.Sprintf("%s (%s%s)", a.Kind, a.Step, a.unpaid())
	case ActionFlush:
		return fmt.Sprintf("flush %v (%s%s)", a.Range, a.Step, a.unpaid())
	case ActionReserve:
		return fmt.Sprintf("reserve generations below %d", a.Generation)
	case ActionReleaseMemory:
		return fmt.Sprintf("release-memory g%d %v of %s", a.Generation, a.Range, a.Owner)
	case ActionSync, ActionProtect:
		return fmt.Sprintf("%s %v", a.Kind, a.Range)
	case ActionHandOver:
		return fmt.Sprintf("hand-over g%d %v", a.Generation, a.Range)
	case ActionRecord, ActionReport, ActionHomeClean, ActionVerify, ActionWait, ActionGiveUp:
		return fmt.Sprintf("%s g%d", a.Kind, a.Generation)
	}
	return a.Kind.String()
}

func (a Action) unpaid() string {
	if a.Paid {
		return ""
	}
	return ", not paid"
}

// fenceFlushFence is the shape that writers, the lender and readers share: before differs, after is always full.
func fenceFlushFence(list []Action, class Class, step Step, before ActionKind, g Generation,
	parts ...memregion.Range) []Action {
	paid := class.pays()
	list = append(list, Action{Kind: before, Step: step, Paid: paid, Generation: g})
	for _, r := range parts {
		list = append(list, Action{Kind: ActionFlush, Step: step, Paid: paid, Generation: g, Range: r})
	}
	return append(list, Action{Kind: ActionFenceFull, Step: step, Paid: paid, Generation: g})
}
