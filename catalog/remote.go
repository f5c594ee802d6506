package catalog

import (
	"bytes"
	"fmt"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
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
		record, err := v.Encode()
		if err != nil {
			return nil, err
		}
		r.Views = append(r.Views, record)
	}
	for _, t := range append(s.Types(), s.Functions()...) {
		r.Types = append(r.Types, t.Encode())
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
	tables := make([]*TableVersion, len(r.Tables))
	for i, record := range r.Tables {
		v, err := version(record)
		if err != nil {
			return nil, fmt.Errorf("remote snapshot: %w", err)
		}
		tables[i] = v
	}
	contents.setTables(tables)
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
	for _, data := range r.Types {
		t, err := decodeType(data)
		if err != nil {
			return nil, fmt.Errorf("remote snapshot: %w", err)
		}
		contents.setType(t.Name, typeEntry{is: t})
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

// DecodeSnapshotRecord is the inverse of Encode. The records inside are looked at by NewRemoteSnapshot.
func DecodeSnapshotRecord(data []byte) (*SnapshotRecord, error) {
	r, err := record.DecodeSnapshot(data)
	return r, damaged("snapshot", err)
}
