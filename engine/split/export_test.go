package split

import (
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// KeptRequests are what the fragments of a plan were asked to do last.
type KeptRequests = keptRequests

// Find gives the request of a fragment, if it is that of the settings.
func (k *keptRequests) Find(f *distribute.Fragment, settings map[string]string) (noderpc.FragmentRequest, bool) {
	return k.find(f, settings)
}

// Keep keeps the request of a fragment, if there is room.
func (k *keptRequests) Keep(f *distribute.Fragment, request noderpc.FragmentRequest) {
	k.keep(f, request)
}

// RepeatedHere is repeatedHere.
var RepeatedHere = repeatedHere
