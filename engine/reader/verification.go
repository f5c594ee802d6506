package reader

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Verification says when a chunk's bytes are compared with the checksums that it was sealed with. A comparison that
// fails is an error that names the
// chunk and the node (*DamagedError, XX001), unless another replica is whole; no row of the chunk is used.
type Verification string

const (
	// VerifyDefault is VerifyFirst where caches are not coherent. Elsewhere it is VerifyFirst for chunks of a
	// former life of the node, and leaves out what this one's processes wrote.
	VerifyDefault Verification = ""
	// VerifyOff compares only what another process was seen to alter. Bytes that are wrong for any other reason are
	// read as if they were right.
	VerifyOff Verification = "off"
	// VerifyFirst compares a chunk when the process, or where caches are not coherent the machine, first reads it.
	VerifyFirst Verification = "first"
	// VerifyAlways compares a chunk in each statement that reads it.
	VerifyAlways Verification = "always"
)

// verifications has the laxest first.
var verifications = []Verification{VerifyOff, VerifyDefault, VerifyFirst, VerifyAlways}

// Check refuses what is none of them (22023).
func (v Verification) Check() error {
	if slices.Contains(verifications, v) {
		return nil
	}
	var names []string
	for _, one := range verifications {
		if one != VerifyDefault {
			names = append(names, string(one))
		}
	}
	return sqlerror.New("22023", "chunks cannot be verified %q", string(v)).WithHint(fmt.Sprintf("It is one of %s.", strings.Join(names, ", ")))
}

// Laxer reports whether v compares what w compares only in part.
func (v Verification) Laxer(w Verification) bool {
	return slices.Index(verifications, v) < slices.Index(verifications, w)
}

// comparedMax bounds the extents of comparedOnce.
const comparedMax = 1 << 16

// comparedOnce are extents that were compared because a session wants them compared once and its node does not, so that
// an earlier acquire may not have compared them. Altered ones are acquired again, and compared then. The zero value is
// ready. Safe for concurrent use.
type comparedOnce struct {
	mu      sync.Mutex // guards the rest; leaf lock
	extents map[catalog.ExtentID]bool
}

func (c *comparedOnce) has(id catalog.ExtentID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.extents[id]
}

func (c *comparedOnce) note(id catalog.ExtentID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.extents) >= comparedMax {
		clear(c.extents) // they are compared once more
	}
	if c.extents == nil {
		c.extents = map[catalog.ExtentID]bool{}
	}
	c.extents[id] = true
}

// first reports whether a chunk is compared when it is first read. foreign: an unknown process wrote it; altered:
// another process was seen to work on its region; incoherent: a checksum also finds stale cache lines there, whatever
// wrote the chunk.
func (v Verification) first(foreign, altered, incoherent bool) bool {
	switch v {
	case VerifyOff:
		return altered
	case VerifyFirst, VerifyAlways:
		return true
	}
	return foreign || altered || incoherent
}
