package noderpc

import (
	"time"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Limits of what crosses the wire, in both directions (N5). They are wide enough for everything that makes sense and
// narrow enough that a hostile peer costs little.
const (
	// MaxTTL is the longest that a lease lives without a renewal.
	MaxTTL = 24 * time.Hour
	// MinTTL is the shortest: a shorter one would have its holder do nothing but renew.
	MinTTL = 10 * time.Millisecond
	// MaxFragmentPayload bounds what of a fragment's request only the engines understand.
	MaxFragmentPayload = 8 << 20
	// MaxLeases is how many leases one borrower holds, and one call renews.
	MaxLeases = 1 << 16

	maxRequestBytes = 16 << 20 // of what a client sends
	maxNameBytes    = 255      // names of nodes, domains, schemas, tables, steps, versions
	maxTextBytes    = 4096     // descriptions and texts of errors
	maxPathBytes    = 4096     // of a file, as in Linux
	maxTablesAsked  = 1 << 10  // names in one call
	maxTables       = 1 << 20  // in one answer, with their former versions
	maxRegions      = 1 << 12
	maxFiles        = 1 << 16
	maxParameters   = 64
	maxReplicas     = descriptor.MaxReplicas
	maxScaleFactor  = 100_000 // the largest that TPC-H defines
	maxStatusItems  = 1 << 20 // of one kind
	maxPendingSteps = 64      // progress reports of different steps that wait to be sent

	maxOwnerBytes     = 1024    // of a quota: schema and table
	maxGrantBytes     = 1 << 46 // of one extent: the address plan's window is hardly larger. The lender has narrower limits.
	maxFollowed       = 1 << 12 // tables that one call waits for
	maxQueryBytes     = 4 << 20 // of a fragment's SQL
	maxFragmentTables = 1 << 12
	maxFragmentChunks = 1 << 20 // of a fragment's tables together, and of its result
	maxSettings       = 256
)

// DefaultMaxMessageBytes bounds one answer of a node: a page, a snapshot's record, a status.
const DefaultMaxMessageBytes = 64 << 20

// The parts of a lease's TTL.
const (
	// RenewalParts: a renewal is sent when 1/RenewalParts of the TTL is over, so that it may fail twice.
	RenewalParts = 3
	// MarginParts: the last 1/MarginParts of the TTL is never counted on. It is for clocks that do not run equally
	// fast, by far more than any do.
	MarginParts = 10
)
