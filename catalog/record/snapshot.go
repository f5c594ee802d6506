package record

import (
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/internal/compression"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/store"
)

// LeaseID names a lease until the catalog is closed.
type LeaseID uint64

// snapshotWire is the number that a snapshot carries.
const snapshotWire = 1

// Snapshot is a snapshot on its way to a borrower: everything but the pages' contents, which the borrower
// asks for when it needs them. Its size does not depend on the number of rows and hardly on that of chunks.
type Snapshot struct {
	Revision store.Revision
	Lease    LeaseID
	// TTL is how long the lease lives without a renewal.
	TTL time.Duration
	// Age bounds how much older it was than the last commit when it was taken, if the borrower accepts an age.
	Age     time.Duration
	Schemas []string
	// Partial: tables, and former versions, are asked for when they are needed; none is here.
	Partial bool
	Tables  [][]byte // records as in the store
	Views   [][]byte
	Types   [][]byte
	Kept    [][]byte // former versions, as in the store
	Regions []Region
}

// Field numbers of Snapshot in catalog.proto.
const (
	snapshotFormat, snapshotRevision, snapshotLease, snapshotTTL    = 1, 2, 3, 4
	snapshotSchemas, snapshotTables, snapshotViews, snapshotRegions = 5, 6, 7, 8
	snapshotKept, snapshotTypes, snapshotPartial, snapshotAge       = 9, 10, 11, 12
)

// What a borrower accepts: a region takes more memory than any other item, whatever few bytes it comes in.
const (
	maxSnapshotItems   = 1 << 20
	maxSnapshotRegions = 1 << 12
)

// snapshotPlain is up to what size a partial snapshot is not worth compressing.
const snapshotPlain = 512

// Encode writes the record in its wire format. A partial one has little but the names, the views and the regions of
// each node, which are much alike: it is compressed.
func (r *Snapshot) Encode() []byte {
	w := message.Writer{}
	w.Uint(snapshotFormat, snapshotWire)
	w.Int(snapshotRevision, int64(r.Revision))
	w.Uint(snapshotLease, uint64(r.Lease))
	w.Int(snapshotTTL, int64(r.TTL))
	for _, name := range r.Schemas {
		w.String(snapshotSchemas, name)
	}
	for _, table := range r.Tables {
		w.Bytes(snapshotTables, table)
	}
	for _, view := range r.Views {
		w.Bytes(snapshotViews, view)
	}
	for _, t := range r.Types {
		w.Bytes(snapshotTypes, t)
	}
	for _, kept := range r.Kept {
		w.Bytes(snapshotKept, kept)
	}
	for i := range r.Regions {
		w.Bytes(snapshotRegions, r.Regions[i].Encode())
	}
	if r.Partial {
		w.Uint(snapshotPartial, 1)
	}
	if r.Age != 0 {
		w.Int(snapshotAge, int64(r.Age))
	}
	if r.Partial && len(w.Buf) > snapshotPlain && len(w.Buf) <= compression.Most {
		return compression.Compress(w.Buf)
	}
	return w.Buf
}

// DecodeSnapshot is the inverse of Encode. The records inside are looked at by NewRemoteSnapshot.
func DecodeSnapshot(data []byte) (*Snapshot, error) {
	data, err := compression.Expand(data)
	if err != nil {
		return nil, err
	}
	r := &Snapshot{}
	m := message.NewReader(data)
	var written uint64
	for items := 0; m.Next(); items++ {
		if items > maxSnapshotItems {
			return nil, fmt.Errorf("more than %d items", maxSnapshotItems)
		}
		switch m.Field() {
		case snapshotFormat:
			written = m.Uint()
		case snapshotRevision:
			r.Revision = store.Revision(m.Int())
		case snapshotLease:
			r.Lease = LeaseID(m.Uint())
		case snapshotTTL:
			r.TTL = time.Duration(m.Int())
		case snapshotSchemas:
			r.Schemas = append(r.Schemas, m.String())
		case snapshotTables:
			r.Tables = append(r.Tables, m.Bytes())
		case snapshotViews:
			r.Views = append(r.Views, m.Bytes())
		case snapshotTypes:
			r.Types = append(r.Types, m.Bytes())
		case snapshotPartial:
			r.Partial = m.Uint() != 0
		case snapshotAge:
			r.Age = time.Duration(m.Int())
		case snapshotKept:
			r.Kept = append(r.Kept, m.Bytes())
		case snapshotRegions:
			g, err := DecodeRegion(m.Bytes())
			if len(r.Regions) >= maxSnapshotRegions {
				err = fmt.Errorf("more than %d regions", maxSnapshotRegions)
			}
			m.Fail(err)
			if err == nil {
				r.Regions = append(r.Regions, *g)
			}
		default:
			m.Skip()
		}
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	if written != snapshotWire {
		return nil, fmt.Errorf("format %d, this program knows %d", written, snapshotWire)
	}
	return r, nil
}
