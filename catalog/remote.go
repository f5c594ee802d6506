package catalog

import (
	"bytes"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/message"
)

// SnapshotRecord is a snapshot on its way to a borrower: everything but the pages' contents, which the borrower
// asks for when it needs them. Its size does not depend on the number of rows and hardly on that of chunks.
type SnapshotRecord struct {
	Revision Revision
	Lease    LeaseID
	// TTL is how long the lease lives without a renewal.
	TTL     time.Duration
	Schemas []string
	Tables  [][]byte // records as in the store
	Views   [][]byte
	Kept    [][]byte // former versions, as in the store
	Regions []RegionRecord
}

// Field numbers of SnapshotRecord in catalog.proto.
const (
	snapshotFormat, snapshotRevision, snapshotLease, snapshotTTL    = 1, 2, 3, 4
	snapshotSchemas, snapshotTables, snapshotViews, snapshotRegions = 5, 6, 7, 8
	snapshotKept                                                    = 9
)

// What a borrower accepts: a region takes more memory than any other item, whatever few bytes it comes in.
const (
	maxSnapshotItems   = 1 << 20
	maxSnapshotRegions = 1 << 12
)

// Record makes a snapshot's record. The snapshot keeps its lease: whoever holds the record ends it with
// ReleaseLease, or lets it expire.
func (c *Catalog) Record(s *Snapshot) (*SnapshotRecord, error) {
	r := &SnapshotRecord{Revision: s.Revision(), Lease: s.lease, Schemas: s.Schemas(), Regions: c.Regions()}
	c.mu.Lock()
	l := c.mu.leases[s.lease]
	c.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("record of a snapshot: %w", ErrLeaseOver)
	}
	r.TTL = l.Holder.TTL
	for _, v := range s.Tables() {
		record, err := v.Encode()
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, record)
	}
	for _, v := range s.Views() {
		record, err := v.encode()
		if err != nil {
			return nil, err
		}
		r.Views = append(r.Views, record)
	}
	for _, e := range s.kept.All() {
		record, err := e.version.EncodeKept(e.until)
		if err != nil {
			return nil, err
		}
		r.Kept = append(r.Kept, record)
	}
	return r, nil
}

// Encode writes the record in its wire format.
func (r *SnapshotRecord) Encode() []byte {
	w := message.Writer{}
	w.Uint(snapshotFormat, catalogFormat)
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
	for _, kept := range r.Kept {
		w.Bytes(snapshotKept, kept)
	}
	for i := range r.Regions {
		w.Bytes(snapshotRegions, r.Regions[i].encode())
	}
	return w.Buf
}

// DecodeSnapshotRecord is the inverse of Encode. The records inside are looked at by NewRemoteSnapshot.
func DecodeSnapshotRecord(data []byte) (*SnapshotRecord, error) {
	r := &SnapshotRecord{}
	m := message.NewReader(data)
	var format uint64
	for items := 0; m.Next(); items++ {
		if items > maxSnapshotItems {
			return nil, damaged("snapshot", fmt.Errorf("more than %d items", maxSnapshotItems))
		}
		switch m.Field() {
		case snapshotFormat:
			format = m.Uint()
		case snapshotRevision:
			r.Revision = Revision(m.Int())
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
		case snapshotKept:
			r.Kept = append(r.Kept, m.Bytes())
		case snapshotRegions:
			g, err := decodeRegion(m.Bytes())
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
		return nil, damaged("snapshot", err)
	}
	if format != catalogFormat {
		return nil, damaged("snapshot", fmt.Errorf("format %d, this program knows %d", format, catalogFormat))
	}
	return r, nil
}

// RemoteOptions say how a borrower reads.
type RemoteOptions struct {
	// CacheBytes bounds the memory for pages and decoded descriptors (default 128 MiB).
	CacheBytes int64
	// Release is called once by Close: it tells the lender.
	Release func()
	// Version gives a table's version by its record; nil: it is decoded, and its pages come from the lender.
	Version func(record []byte) (*TableVersion, error)
}

// NewRemoteSnapshot rebuilds the snapshot in a borrower's process; pages come from the lender. It is read-only: Begin
// needs a catalog.
func NewRemoteSnapshot(r *SnapshotRecord, pages Pages, options RemoteOptions) (*Snapshot, error) {
	version := options.Version
	if version == nil {
		source := hugetable.NewSource(pages, options.CacheBytes)
		version = func(record []byte) (*TableVersion, error) { return hugetable.Decode(record, source) }
	}
	contents := newContents()
	contents.revision = r.Revision
	for _, name := range r.Schemas {
		contents.setSchema(name, schemaEntry{})
	}
	for _, record := range r.Tables {
		v, err := version(record)
		if err != nil {
			return nil, fmt.Errorf("remote snapshot: %w", err)
		}
		contents.setTable(v.Table().Name, tableEntry{version: v})
	}
	for _, data := range r.Kept {
		record, until, err := hugetable.SplitKept(data)
		if err != nil {
			return nil, fmt.Errorf("remote snapshot: %w", err)
		}
		v, err := version(record)
		if err != nil {
			return nil, fmt.Errorf("remote snapshot: %w", err)
		}
		contents.kept = contents.kept.With(keptKey{v.Table().ID, v.Version()}, keptEntry{version: v, until: until})
	}
	for _, record := range r.Views {
		v, err := decodeView(record)
		if err != nil {
			return nil, fmt.Errorf("remote snapshot: %w", err)
		}
		contents.setView(v.Name, viewEntry{view: v})
	}
	release := options.Release
	if release == nil {
		release = func() {}
	}
	return &Snapshot{Contents: contents, lease: r.Lease, release: release}, nil
}

// Version gives the version of a table whose record another node sent: this catalog's own if it is the current one,
// so that what was derived of that need not be derived again.
func (c *Catalog) Version(record []byte) (*TableVersion, error) {
	v, err := hugetable.Decode(record, c.source)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	current := c.mu.current.contents
	c.mu.Unlock()
	if own, ok := current.Table(v.Table().Name); ok {
		if encoded, err := own.Encode(); err == nil && bytes.Equal(encoded, record) {
			return own, nil
		}
	}
	return v, nil
}
