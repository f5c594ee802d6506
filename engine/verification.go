package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Verification says when a chunk's bytes are compared with the checksums that it was sealed with. A comparison that fails is an error that names the
// chunk and the node (*DamagedError, XX001), unless another replica is whole; no row of the chunk is used.
type Verification string

const (
	// VerifyDefault is VerifyFirst where caches are not coherent. Elsewhere it is VerifyFirst for chunks of a former life of the node, and leaves out
	// what this one's processes wrote.
	VerifyDefault Verification = ""
	// VerifyOff compares nothing, but what somebody else was seen to alter. Bytes that are wrong for any other reason are read as if they were right.
	VerifyOff Verification = "off"
	// VerifyFirst compares a chunk when the process, or where caches are not coherent the machine, first reads it.
	VerifyFirst Verification = "first"
	// VerifyAlways compares a chunk in each statement that reads it.
	VerifyAlways Verification = "always"
)

var verifications = []Verification{VerifyDefault, VerifyOff, VerifyFirst, VerifyAlways}

// Check refuses what is none of them (22023).
func (v Verification) Check() error {
	if slices.Contains(verifications, v) {
		return nil
	}
	var names []string
	for _, one := range verifications[1:] {
		names = append(names, string(one))
	}
	return failure("22023", "chunks cannot be verified %q", string(v)).hint(fmt.Sprintf("It is one of %s.", strings.Join(names, ", ")))
}

// first tells whether a chunk is compared when it is first read. foreign: nobody vouches for who wrote it; altered: somebody else was
// seen to work on its region; incoherent: what a checksum finds there is what no cache may have, whoever wrote it.
func (v Verification) first(foreign, altered, incoherent bool) bool {
	switch v {
	case VerifyOff:
		return altered
	case VerifyFirst, VerifyAlways:
		return true
	}
	return foreign || altered || incoherent
}
