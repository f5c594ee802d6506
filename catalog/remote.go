package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/csmsql/csmsql/catalog/fetched"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
)

// Record makes a snapshot's record. The snapshot keeps its lease: the record's holder ends it with
// ReleaseLease, or lets it expire.
func (c *Catalog) Record(s *Snapshot) (*SnapshotRecord, error) {
	r := &SnapshotRecord{Revision: s.Revision(), Lease: s.lease, Schemas: s.Schemas(), Regions: c.Regions()}
	c.mu.Lock()
	l := c.mu.leases[s.lease]
	c.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("record of a snapshot: %w", ErrLeaseOver)
	}
	r.TTL, r.Partial, r.Age = l.Holder.TTL, l.Holder.Partial, s.Age
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
	if r.Partial {
		return r, nil
	}
	a, err := s.answer(record.TablesAsked{All: true}, math.MaxInt)
	r.Tables, r.Kept = a.Tables, a.Kept
	return r, err
}

// answerBytes is the size from which on the rest is left for another answer.
const answerBytes = 4 << 20

// LeasedTables returns the tables that a lease's holder asks for (Holder.Partial), as its snapshot has them.
func (c *Catalog) LeasedTables(id LeaseID, asked record.TablesAsked) (record.TablesAnswer, error) {
	c.mu.Lock()
	l := c.mu.leases[id]
	c.mu.Unlock()
	if l == nil {
		return record.TablesAnswer{}, fmt.Errorf("tables of a snapshot: %w", ErrLeaseOver)
	}
	return l.state.contents.answer(asked, answerBytes)
}

func (c *Contents) answer(asked record.TablesAsked, most int) (a record.TablesAnswer, err error) {
	size := 0
	add := func(v *TableVersion) {
		table, failed := v.Encode()
		a.Tables, size, err = append(a.Tables, table), size+len(table), cmp.Or(err, failed)
		for _, e := range c.keptOf(v.Table().ID) {
			kept, failed := e.version.EncodeKept(e.until)
			a.Kept, size, err = append(a.Kept, kept), size+len(kept), cmp.Or(err, failed)
		}
	}
	for ; a.Answered < len(asked.Names) && size < most; a.Answered++ {
		for name := range c.Alike(asked.Names[a.Answered]) {
			if v, ok := c.Table(name); ok {
				add(v)
			}
		}
	}
	if v, ok := c.TableOf(asked.ID, TableName{}); ok {
		add(v)
	}
	for name, e := range c.tables.From(asked.From) {
		if !asked.All {
			break
		}
		if size >= most {
			a.Next = name
			break
		}
		add(e.version)
	}
	return a, err
}

// RemoteOptions say how a borrower reads.
type RemoteOptions struct {
	// CacheBytes bounds the memory for pages and decoded descriptors (default 128 MiB).
	CacheBytes int64
	// Release is called once by Close: it notifies the lender.
	Release func()
	// Version gives a table's version by its record, later, too, if the record of the snapshot is partial; nil: it is
	// decoded, and its pages come from the lender.
	Version func(record []byte) (*TableVersion, error)
	// Tables asks the lender for tables that the record does not have, and gives up by itself. Partial ones need it.
	Tables fetched.Fetch
	// Expected are names that are likely to be asked for.
	Expected []TableName
}

// remote makes contents of the record of a snapshot, and of the lender's other answers.
type remote struct {
	*SnapshotRecord
	version func(record []byte) (*TableVersion, error)
	views   []*View
	types   []*UserType
}

// NewRemoteSnapshot rebuilds the snapshot in a borrower's process; pages come from the lender. It is read-only: Begin
// needs a catalog.
func NewRemoteSnapshot(r *SnapshotRecord, pages Pages, options RemoteOptions) (*Snapshot, error) {
	m := &remote{SnapshotRecord: r, version: options.Version}
	if m.version == nil {
		source := hugetable.NewSource(pages, options.CacheBytes)
		m.version = func(record []byte) (*TableVersion, error) { return hugetable.Decode(record, source) }
	}
	if r.Partial && options.Tables == nil {
		return nil, errors.New("remote snapshot: it is partial, and there is no source for its tables")
	}
	known, err := m.all()
	if err != nil {
		return nil, fmt.Errorf("remote snapshot: %w", err)
	}
	contents := known
	if r.Partial {
		contents = known.clone()
		contents.fetched = fetched.New(known, options.Tables, m.add, options.Expected)
	}
	release := options.Release
	if release == nil {
		release = func() {}
	}
	return &Snapshot{Contents: contents, Age: r.Age, lease: r.Lease, release: release}, nil
}

// all is what the record has.
func (m *remote) all() (*Contents, error) {
	for _, record := range m.Views {
		v, err := decodeView(record)
		if err != nil {
			return nil, err
		}
		m.views = append(m.views, v)
	}
	for _, data := range m.Types {
		t, err := decodeType(data)
		if err != nil {
			return nil, err
		}
		m.types = append(m.types, t)
	}
	return m.add(newContents(), []record.TablesAnswer{{Tables: m.Tables, Kept: m.Kept}})
}

// add gives contents the tables of answers, too.
func (m *remote) add(to *Contents, answers []record.TablesAnswer) (*Contents, error) {
	have, next := to.tables.Len(), to.clone()
	var came []*TableVersion
	for _, a := range answers {
		for _, record := range a.Tables {
			v, err := m.version(record)
			if err != nil {
				return nil, err
			}
			if !to.names.Has(v.Table().ID) {
				came = append(came, v)
			}
		}
		for _, data := range a.Kept {
			record, until, err := hugetable.SplitKept(data)
			if err != nil {
				return nil, err
			}
			v, err := m.version(record)
			if err != nil {
				return nil, err
			}
			key := keptKey{Table: v.Table().ID, Number: v.Version()}
			next.kept = next.kept.With(key, keptEntry{version: v, until: until})
		}
	}
	if have > 0 && len(came) <= have/4 {
		for _, v := range came {
			next.setTable(v.Table().Name, tableEntry{version: v})
		}
		return next, nil
	}
	made := newContents()
	made.revision, made.kept = m.Revision, next.kept
	for _, name := range m.Schemas {
		made.setSchema(name, schemaEntry{})
	}
	made.setTables(append(to.Tables(), came...))
	for _, v := range m.views {
		made.setView(v.Name, viewEntry{view: v})
	}
	for _, t := range m.types {
		made.setType(t.Name, typeEntry{is: t})
	}
	return made, nil
}

// Err says why tables may be missing of a borrower's contents: the lender could not be asked for them. Nothing that was
// looked up in them counts then.
func (c *Contents) Err() error {
	if c == nil {
		return nil
	}
	return c.fetched.Err()
}

// Whole fetches all tables, for callers that need the whole list. Its error is Err.
func (c *Contents) Whole() error {
	c.whole()
	return c.Err()
}

// Sought are the names of tables that were looked for in a borrower's snapshot, for the next one to expect.
func (s *Snapshot) Sought() []TableName { return s.fetched.Sought() }

// Version gives the version of a table whose record another node sent: this catalog's own if it is the current one, so
// that what was derived of that need not be derived again.
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
