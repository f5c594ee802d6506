package borrower

import (
	"context"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Follow has a worker see the snapshot that its node holds for the statement: the lease is the node's. An empty
// record is the last one's.
func (r *Borrower) Follow(ctx context.Context, encoded []byte, revision catalog.Revision) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(encoded) == 0 {
		if r.given == nil || r.given.Snapshot.Revision() != revision {
			return sqlerror.New("XX000", "the worker does not have revision %d of the catalog", revision)
		}
		return nil
	}
	record, err := catalog.DecodeSnapshotRecord(encoded)
	if err != nil {
		return err
	}
	if err := r.knowRegions(ctx, record.Regions); err != nil {
		return err
	}
	r.known.next() // what is known of a version stays known while it is in the catalog
	snapshot, err := catalog.NewRemoteSnapshot(record, r.client, catalog.RemoteOptions{Version: r.known.version})
	if err != nil {
		return err
	}
	if r.given != nil {
		r.given.Release()
	}
	r.given = lease.New(snapshot, nil)
	return nil
}

// Given is the one that the node has given, held; nil: it gives none.
func (r *Borrower) Given() *lease.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given == nil {
		return nil
	}
	return r.given.Hold()
}
