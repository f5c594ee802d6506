package noderpc

import (
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Each type has an encoder, which takes what this process made, and a decoder, which takes what any peer may have made
// and returns an error for everything that encoders do not write (N5). Decoders accept nil messages as empty ones.

func encodeTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func decodeTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func encodeRegion(r Region) *nodepb.Region {
	return &nodepb.Region{
		Id: uint64(r.ID), Base: uint64(r.Base), Capacity: r.Capacity, Fabric: string(r.Fabric),
		Path: []byte(r.Path), Boot: text(r.BootID, maxNameBytes), Trusted: uint64(r.Trusted), Start: r.Start,
	}
}

// decodeRegion checks nothing: checkSpecs does for all of them.
func decodeRegion(r *nodepb.Region) Region {
	return Region{
		Spec: memregion.Spec{
			ID: memregion.RegionID(r.GetId()), Base: memregion.Addr(r.GetBase()), Capacity: r.GetCapacity(),
			Fabric: memregion.FabricKind(r.GetFabric()), Path: string(r.GetPath()), BootID: r.GetBoot(), Start: r.GetStart(),
		},
		Trusted: coherence.Generation(r.GetTrusted()),
	}
}

func encodeFrontend(f Frontend) *nodepb.Frontend {
	return &nodepb.Frontend{SocketDirectory: []byte(f.SocketDirectory), Address: text(f.Address, maxNameBytes)}
}

func decodeFrontend(f *nodepb.Frontend) (Frontend, error) {
	d := Frontend{SocketDirectory: string(f.GetSocketDirectory()), Address: f.GetAddress()}
	return d, checkFrontend(d)
}

func encodeDescription(d Description) *nodepb.Description {
	m := &nodepb.Description{
		Node: text(d.Node, maxNameBytes), Catalog: text(d.Catalog, maxNameBytes), Domain: text(string(d.Domain), maxNameBytes),
		LeaseTtl: int64(d.LeaseTTL), Frontend: encodeFrontend(d.Frontend), Version: text(d.Version, maxNameBytes), Started: encodeTime(d.Started),
	}
	for _, r := range d.Regions {
		m.Regions = append(m.Regions, encodeRegion(r))
	}
	return m
}

func decodeDescription(m *nodepb.Description) (Description, error) {
	d := Description{
		Node: m.GetNode(), Catalog: m.GetCatalog(), Domain: coherence.Domain(m.GetDomain()),
		LeaseTTL: time.Duration(m.GetLeaseTtl()), Version: m.GetVersion(), Started: decodeTime(m.GetStarted()),
	}
	for what, label := range map[string]string{"node": d.Node, "catalog": d.Catalog, "domain": string(d.Domain), "version": d.Version} {
		if err := checkLabel(what, label); err != nil {
			return Description{}, badMessage("description: %v", err)
		}
	}
	if err := checkTTL(d.LeaseTTL); err != nil {
		return Description{}, badMessage("description: %v", err)
	}
	var err error
	if d.Frontend, err = decodeFrontend(m.GetFrontend()); err != nil {
		return Description{}, badMessage("description: %v", err)
	}
	specs := make([]memregion.Spec, 0, min(len(m.GetRegions()), maxRegions))
	for _, region := range m.GetRegions() {
		r := decodeRegion(region)
		d.Regions = append(d.Regions, r)
		specs = append(specs, r.Spec)
	}
	if err := checkSpecs(specs); err != nil {
		return Description{}, badMessage("description: %v", err)
	}
	return d, nil
}

func encodeHolder(h catalog.Holder) *nodepb.LeaseRequest {
	return &nodepb.LeaseRequest{Domain: string(h.Domain), Description: text(h.Description, maxTextBytes),
		Ttl: int64(h.TTL), Partial: h.Partial, MaxAge: int64(h.MaxAge)}
}

func decodeHolder(m *nodepb.LeaseRequest) (catalog.Holder, error) {
	h := catalog.Holder{Domain: coherence.Domain(m.GetDomain()), Description: m.GetDescription(),
		TTL: time.Duration(m.GetTtl()), Partial: m.GetPartial(), MaxAge: time.Duration(m.GetMaxAge())}
	if err := checkHolder(h); err != nil {
		return catalog.Holder{}, badArgument("lease: %v", err)
	}
	return h, nil
}

// decodeLease also holds the snapshot's record against the message around it, and the record's regions to the same
// rules as a description's. What the record holds of tables is looked at by catalog.NewRemoteSnapshot.
func decodeLease(m *nodepb.LeaseResponse) (*catalog.SnapshotRecord, error) {
	record, err := catalog.DecodeSnapshotRecord(m.GetSnapshot())
	if err != nil {
		return nil, &Error{State: stateProtocol, Message: fmt.Sprintf("%v: lease: %v", ErrBadMessage, err), Cause: ErrBadMessage}
	}
	if record.Lease != catalog.LeaseID(m.GetLease().GetId()) || int64(record.TTL) != m.GetTtl() {
		return nil, badMessage("lease %d of %v comes with the snapshot of lease %d of %v",
			m.GetLease().GetId(), time.Duration(m.GetTtl()), record.Lease, record.TTL)
	}
	if len(m.GetLease().GetKey()) != keyBytes {
		return nil, badMessage("lease %d has a key of %d bytes", record.Lease, len(m.GetLease().GetKey()))
	}
	if err := checkTTL(record.TTL); err != nil {
		return nil, badMessage("lease %d: %v", record.Lease, err)
	}
	specs := make([]memregion.Spec, len(record.Regions))
	for i := range record.Regions {
		specs[i] = record.Regions[i].Spec
	}
	if err := checkSpecs(specs); err != nil {
		return nil, badMessage("lease %d: %v", record.Lease, err)
	}
	return record, nil
}

var modes = map[LoadMode]nodepb.LoadMode{
	LoadCreate:  nodepb.LoadMode_LOAD_MODE_CREATE,
	LoadReplace: nodepb.LoadMode_LOAD_MODE_REPLACE,
	LoadAppend:  nodepb.LoadMode_LOAD_MODE_APPEND,
}

func encodeLoad(r LoadRequest) *nodepb.LoadRequest {
	m := &nodepb.LoadRequest{Schema: r.Table.Schema, Table: r.Table.Name, Format: r.Format, Mode: modes[r.Options.Mode], Parameters: r.Options.Parameters, Placement: r.Options.Placement, Replicas: uint32(r.Options.Replicas)}
	for _, file := range r.Files {
		m.Files = append(m.Files, []byte(file))
	}
	return m
}

func decodeLoad(m *nodepb.LoadRequest) (LoadRequest, error) {
	r := LoadRequest{Table: catalog.TableName{Schema: m.GetSchema(), Name: m.GetTable()}, Format: m.GetFormat()}
	r.Options.Parameters, r.Options.Placement, r.Options.Replicas = m.GetParameters(), m.GetPlacement(), int(m.GetReplicas())
	for mode, code := range modes {
		if code == m.GetMode() {
			r.Options.Mode = mode
		}
	}
	for _, file := range m.GetFiles() {
		r.Files = append(r.Files, string(file))
	}
	if err := r.check(); err != nil {
		return LoadRequest{}, badArgument("load: %v", err)
	}
	return r, nil
}

func encodeTPCH(r TPCHRequest) *nodepb.TPCHRequest {
	return &nodepb.TPCHRequest{ScaleFactor: r.ScaleFactor, Schema: r.Schema, Replace: r.Replace, Placement: r.Placement, Replicas: uint32(r.Replicas)}
}

func decodeTPCH(m *nodepb.TPCHRequest) (TPCHRequest, error) {
	r := TPCHRequest{ScaleFactor: m.GetScaleFactor(), Schema: m.GetSchema(), Replace: m.GetReplace(), Placement: m.GetPlacement(), Replicas: int(m.GetReplicas())}
	if err := r.check(); err != nil {
		return TPCHRequest{}, badArgument("load TPC-H: %v", err)
	}
	return r, nil
}

func encodeProgress(p Progress) *nodepb.LoadEvent {
	return &nodepb.LoadEvent{Event: &nodepb.LoadEvent_Progress{Progress: &nodepb.Progress{
		Step: text(p.Step, maxNameBytes), Rows: p.Rows, RowsTotal: p.RowsTotal, Bytes: p.Bytes, BytesTotal: p.BytesTotal,
	}}}
}

func decodeProgress(m *nodepb.Progress) (Progress, error) {
	p := Progress{Step: m.GetStep(), Rows: m.GetRows(), RowsTotal: m.GetRowsTotal(), Bytes: m.GetBytes(), BytesTotal: m.GetBytesTotal()}
	if err := checkText("step", p.Step, maxNameBytes); err != nil {
		return Progress{}, badMessage("progress: %v", err)
	}
	if err := checkCounts(p.Rows, p.RowsTotal, p.Bytes, p.BytesTotal); err != nil {
		return Progress{}, badMessage("progress of %q: %v", p.Step, err)
	}
	return p, nil
}

func encodeResult(r LoadResult) *nodepb.LoadEvent {
	return &nodepb.LoadEvent{Event: &nodepb.LoadEvent_Result{Result: &nodepb.LoadResult{
		Rows: r.Rows, Bytes: r.Bytes, Chunks: r.Chunks, Revision: int64(r.Revision),
	}}}
}

func decodeResult(m *nodepb.LoadResult) (LoadResult, error) {
	if err := checkCounts(m.GetRows(), m.GetBytes(), m.GetChunks(), m.GetRevision()); err != nil {
		return LoadResult{}, badMessage("result of a load: %v", err)
	}
	return LoadResult{Rows: m.GetRows(), Bytes: m.GetBytes(), Chunks: m.GetChunks(), Revision: catalog.Revision(m.GetRevision())}, nil
}

func checkCounts(counts ...int64) error {
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("a count is %d", n)
		}
	}
	return nil
}
