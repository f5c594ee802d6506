package noderpc

import (
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Status is how a node is, for people and (as JSON) for programs. Sizes are bytes.
type Status struct {
	Node     NodeStatus     `json:"node"`
	Regions  []RegionStatus `json:"regions"`
	Tables   []TableStatus  `json:"tables"`
	Leases   []LeaseStatus  `json:"leases"`
	Counters []Counter      `json:"counters"`
	Holders  []HolderStatus `json:"holders"`
	Workers  []WorkerStatus `json:"workers"`
	// Overdue are the statements that the node works on still, though their clients were answered.
	Overdue []OverdueStatus `json:"overdue"`
}

// OverdueStatus is one of them.
type OverdueStatus struct {
	Session uint32    `json:"session"` // what pg_backend_pid() was
	User    string    `json:"user"`
	Text    string    `json:"text"` // or its beginning
	Since   time.Time `json:"since"`
	Reason  string    `json:"reason"` // of the client's error
}

// WorkerStatus is a process that runs queries in the node's place, or the place of one that is being started.
type WorkerStatus struct {
	Process int       `json:"process,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Busy    bool      `json:"busy"`
	// Statements, Crashes and Kills are of the processes that had the place before, too. A kill is of one that did not
	// end a cancelled statement.
	Statements int64 `json:"statements"`
	Crashes    int64 `json:"crashes"`
	Kills      int64 `json:"kills"`
}

// NodeStatus is the node itself.
type NodeStatus struct {
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	Started  time.Time        `json:"started"`
	Process  int              `json:"process"` // process number
	Catalog  string           `json:"catalog"` // the catalog's identity
	Revision catalog.Revision `json:"revision"`
	Domain   coherence.Domain `json:"domain"`
	Frontend Frontend         `json:"frontend"`
}

// RegionStatus is one region.
type RegionStatus struct {
	ID       memregion.RegionID   `json:"id"`
	Node     string               `json:"node"` // its lender
	Fabric   memregion.FabricKind `json:"fabric"`
	Path     string               `json:"path"`
	Start    int64                `json:"start,omitempty"` // where in a device
	Base     memregion.Addr       `json:"base"`
	Capacity int64                `json:"capacity"` // hard cap
	Used     int64                `json:"used"`     // in extents
	Reserved int64                `json:"reserved"` // backed by the system
	Extents  int64                `json:"extents"`
	// Gone says why the bytes of a region of an earlier life cannot be had any more; empty: they can.
	Gone string `json:"gone,omitempty"`
}

// TableStatus is one table in its current version.
type TableStatus struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
	Chunks  int64  `json:"chunks"`
	Version uint64 `json:"version"`
	// Missing is how many of the chunks can be read nowhere; Source is where rows came from, as far as it is known: for
	// those whose origin is on record, ALTER TABLE … RELOAD brings them back from there.
	Missing int64  `json:"missing"`
	Source  string `json:"source,omitempty"`
}

// LeaseStatus is one lease.
type LeaseStatus struct {
	ID     catalog.LeaseID  `json:"id"`
	Domain coherence.Domain `json:"domain"`
	Holder string           `json:"holder"`
	Since  time.Time        `json:"since"`
	// Expires is zero for a lease of the node's own process, which ends with it.
	Expires  time.Time        `json:"expires,omitzero"`
	Revision catalog.Revision `json:"revision"`
}

// HolderStatus is one holder of extents of the node's region, and what it has, in bytes. Together they have all that is
// used.
type HolderStatus struct {
	// Holder is in words for people; empty: unowned now.
	Holder  string `json:"holder"`
	Extents int64  `json:"extents"`
	Bytes   int64  `json:"bytes"`
}

// Counter is one of the protocol's counters: coherence.Counters.Each gives them.
type Counter struct {
	Name  string `json:"name"`
	Step  string `json:"step,omitempty"`
	Value uint64 `json:"value"`
}
