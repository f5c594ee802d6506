package lending

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/memregion"
)

// refusal is what a peer did that it should not, or one limit that it met (W1, W2).
type refusal struct {
	reason noderpc.RefusalReason // empty: it is nobody's fault
	cause  *noderpc.Error
}

func (r *refusal) Error() string { return r.cause.Message }

func (r *refusal) Unwrap() error { return r.cause }

func refused(reason noderpc.RefusalReason, state, format string, args ...any) *refusal {
	return &refusal{reason, &noderpc.Error{State: state, Message: fmt.Sprintf(format, args...)}}
}

func (r *refusal) hint(text string) *refusal {
	r.cause.HintText = text
	return r
}

func goneRefusal(b Borrower) *refusal {
	r := refused(noderpc.RefusedGone, "57P01", "incarnation %v of %s was declared dead", b.Incarnation, b.Name).
		hint("Start the node again: a new process may go on where this one was given up.")
	r.cause.Cause = noderpc.ErrFenced
	return r
}

func notYours(what string, id catalog.ExtentID) *refusal {
	return refused(noderpc.RefusedForged, "42501", "%s %v: it was granted to somebody else", what, id)
}

func notHeld(what string, id catalog.ExtentID) *refusal {
	return refused(noderpc.RefusedReplayed, "55000", "%s %v: the caller does not hold it: it is published, given back, or was never granted", what, id)
}

func formerly(what string, id catalog.ExtentID) *refusal {
	return refused(noderpc.RefusedFormer, "58000", "%s %v: a former process of this node granted it, and has ended", what, id).
		hint("What was written there is lost, and nothing was committed: try again.")
}

func notLent(region memregion.RegionID) *noderpc.Error {
	return &noderpc.Error{
		State: "55000", Message: fmt.Sprintf("region %d is not lent by this node", region),
		HintText: "The region may have moved: look into csm.regions.",
	}
}
