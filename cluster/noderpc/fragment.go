package noderpc

import (
	"context"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
)

// Fragments is what a node does for other nodes' queries; the engine implements it.
type Fragments interface {
	// Run runs a part of a query until its result is complete. It ends soon after its context did. progress may be
	// called from any goroutine until Run returns; it does not block, and what is reported counts from the fragment's
	// start. The result's chunks must stay in place until its Release is called, which happens exactly once if there is
	// no error.
	Run(ctx context.Context, peer Peer, request FragmentRequest, progress func(FragmentProgress)) (FragmentResult, error)
}

// FragmentRequest is a part of a query. This package bounds its sizes and knows nothing else of it.
type FragmentRequest struct {
	// Query is the fragment's SQL.
	Query string
	// Tables are those that are not read whole: the driving table, as a rule.
	Tables []FragmentTable
	// Revision of the catalog that the query sees.
	Revision catalog.Revision
	// Parameters are the query's, as the engines encode them.
	Parameters [][]byte
	Settings   map[string]string
	// MemoryLimit in bytes; 0: the node's own.
	MemoryLimit int64
	// TimeLimit is how long it may run; 0: as long as the context.
	TimeLimit time.Duration
	// Payload is for the engines; this package does not read it.
	Payload []byte
}

// FragmentTable is the part of a table that a fragment reads.
type FragmentTable struct {
	Table   catalog.TableID
	Version uint64
	// Chunks are their numbers in the version, ascending.
	Chunks []uint32
}

// FragmentProgress is how far a fragment is.
type FragmentProgress struct {
	Rows int64 // read
	// BytesLocal and BytesRemote were read from the node's own regions and from others'.
	BytesLocal, BytesRemote int64
}

// FragmentResult is what a fragment made.
type FragmentResult struct {
	// Chunks hold the rows in order.
	Chunks []*chunk.Chunk
	Rows   int64
	// Total is what was read.
	Total FragmentProgress
	// Statistics are for the engines; this package does not read them.
	Statistics []byte
	// Release lets the chunks' memory go; nil: nothing is to be done. It is the server's: a client's result has none.
	Release func()
}

func (r *FragmentRequest) check() error {
	switch {
	case r.Query == "" && len(r.Payload) == 0:
		return fmt.Errorf("it has neither a query nor a payload")
	case len(r.Payload) > MaxFragmentPayload:
		return fmt.Errorf("its payload has %d bytes, %d are allowed", len(r.Payload), MaxFragmentPayload)
	case len(r.Tables) > maxFragmentTables:
		return fmt.Errorf("%d tables, %d are allowed", len(r.Tables), maxFragmentTables)
	case len(r.Parameters) > 1<<16-1:
		return fmt.Errorf("%d parameters, %d are allowed", len(r.Parameters), 1<<16-1)
	case len(r.Settings) > maxSettings:
		return fmt.Errorf("%d settings, %d are allowed", len(r.Settings), maxSettings)
	case r.Revision < 0 || r.MemoryLimit < 0 || r.TimeLimit < 0:
		return fmt.Errorf("revision %d, memory limit %d, time limit %v: none may be negative", r.Revision, r.MemoryLimit, r.TimeLimit)
	}
	if err := checkText("the query", r.Query, maxQueryBytes); err != nil {
		return err
	}
	for name, value := range r.Settings {
		if err := checkText("setting", name, maxNameBytes); err != nil {
			return err
		}
		if err := checkText("the value of a setting", value, maxTextBytes); err != nil {
			return err
		}
	}
	return r.checkTables()
}

func (r *FragmentRequest) checkTables() error {
	chunks := 0
	for _, t := range r.Tables {
		if chunks += len(t.Chunks); chunks > maxFragmentChunks {
			return fmt.Errorf("more than %d chunks", maxFragmentChunks)
		}
		for i := 1; i < len(t.Chunks); i++ {
			if t.Chunks[i-1] >= t.Chunks[i] {
				return fmt.Errorf("chunks of table %d are not ascending: %d, %d", t.Table, t.Chunks[i-1], t.Chunks[i])
			}
		}
	}
	return nil
}

func (p FragmentProgress) check() error {
	if p.Rows < 0 || p.BytesLocal < 0 || p.BytesRemote < 0 {
		return fmt.Errorf("negative progress %+v", p)
	}
	return nil
}
