package lending

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/memregion"
)

// denial is what a peer did that it should not, or one limit that it met (W1, W2).
type denial struct {
	reason refusal.Reason // empty: no peer is at fault
	cause  *noderpc.Error
}

func (r *denial) Error() string { return r.cause.Message }

func (r *denial) Unwrap() error { return r.cause }

func refused(reason refusal.Reason, state, format string, args ...any) *denial {
	return &denial{reason, &noderpc.Error{State: state, Message: fmt.Sprintf(format, args...)}}
}

func (r *denial) hint(text string) *denial {
	r.cause.HintText = text
	return r
}

func goneRefusal(b Borrower) *denial {
	r := refused(refusal.Gone, "57P01", "incarnation %v of %s was declared dead", b.Incarnation, b.Name).
		hint("Start the node again: a new process may go on where this one was given up.")
	r.cause.Cause = noderpc.ErrFenced
	return r
}

func notYours(what string, id catalog.ExtentID) *denial {
	return refused(refusal.Forged, "42501", "%s %v: it was granted to another borrower", what, id)
}

func notHeld(what string, id catalog.ExtentID) *denial {
	return refused(refusal.Replayed, "55000", "%s %v: the caller does not hold it: it is published, given back, or was never granted", what, id)
}

func formerly(what string, id catalog.ExtentID) *denial {
	return refused(refusal.Former, "58000", "%s %v: a former process of this node granted it, and has ended", what, id).
		hint("What was written there is lost, and nothing was committed: try again.")
}

func notLent(region memregion.RegionID) *noderpc.Error {
	return &noderpc.Error{
		State: "55000", Message: fmt.Sprintf("region %d is not lent by this node", region),
		HintText: "The region may have moved: look into csm.regions.",
	}
}
