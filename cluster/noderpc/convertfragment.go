package noderpc

import (
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/memregion"
)

func encodeFragment(r FragmentRequest) *nodepb.FragmentRequest {
	m := &nodepb.FragmentRequest{
		Query: r.Query, Revision: int64(r.Revision), Parameters: r.Parameters, Settings: r.Settings,
		MemoryLimit: r.MemoryLimit, TimeLimit: int64(r.TimeLimit), Payload: r.Payload,
	}
	for _, t := range r.Tables {
		m.Tables = append(m.Tables, &nodepb.FragmentTable{Table: uint64(t.Table), Version: t.Version, Chunks: t.Chunks})
	}
	return m
}

func decodeFragment(m *nodepb.FragmentRequest) (FragmentRequest, error) {
	r := FragmentRequest{
		Query: m.GetQuery(), Revision: catalog.Revision(m.GetRevision()), Parameters: m.GetParameters(), Settings: m.GetSettings(),
		MemoryLimit: m.GetMemoryLimit(), TimeLimit: time.Duration(m.GetTimeLimit()), Payload: m.GetPayload(),
	}
	for _, t := range m.GetTables() {
		r.Tables = append(r.Tables, FragmentTable{Table: catalog.TableID(t.GetTable()), Version: t.GetVersion(), Chunks: t.GetChunks()})
	}
	if err := r.check(); err != nil {
		return FragmentRequest{}, badArgument("fragment: %v", err)
	}
	return r, nil
}

func encodeFragmentProgress(p FragmentProgress) *nodepb.FragmentProgress {
	return &nodepb.FragmentProgress{Rows: p.Rows, BytesLocal: p.BytesLocal, BytesRemote: p.BytesRemote}
}

func decodeFragmentProgress(m *nodepb.FragmentProgress) (FragmentProgress, error) {
	p := FragmentProgress{Rows: m.GetRows(), BytesLocal: m.GetBytesLocal(), BytesRemote: m.GetBytesRemote()}
	if err := p.check(); err != nil {
		return FragmentProgress{}, badMessage("fragment: %v", err)
	}
	return p, nil
}

func encodeFragmentResult(r FragmentResult) *nodepb.FragmentResult {
	m := &nodepb.FragmentResult{Rows: r.Rows, Total: encodeFragmentProgress(r.Total), Statistics: r.Statistics}
	for _, c := range r.Chunks {
		m.Chunks = append(m.Chunks, c.Encoded())
	}
	return m
}

// Lends returns how large a region is that a peer may name in descriptors; not ok: it may not name it.
type Lends func(region memregion.RegionID) (capacity int64, ok bool)

// decodeFragmentResult verifies each descriptor: it must be well-formed, and lie in regions that the node may name.
func decodeFragmentResult(m *nodepb.FragmentResult, lends Lends) (FragmentResult, error) {
	if len(m.GetChunks()) > maxFragmentChunks {
		return FragmentResult{}, badMessage("fragment: %d chunks", len(m.GetChunks()))
	}
	total, err := decodeFragmentProgress(m.GetTotal())
	if err != nil {
		return FragmentResult{}, err
	}
	r := FragmentResult{Rows: m.GetRows(), Total: total, Statistics: m.GetStatistics()}
	var rows int64
	decoder := descriptor.Decoder{Expected: len(m.GetChunks())} // they have one schema
	for i, data := range m.GetChunks() {
		d, err := decoder.Decode(data)
		if err != nil {
			return FragmentResult{}, badMessage("fragment: chunk %d: %v", i, err)
		}
		if err := CheckPlaces(d, lends); err != nil {
			return FragmentResult{}, fmt.Errorf("fragment: chunk %d: %w", i, err)
		}
		rows += d.Rows // does not overflow: so many chunks of at most descriptor.MaxRows
		r.Chunks = append(r.Chunks, chunk.New(d, data, nil))
	}
	if rows != m.GetRows() {
		return FragmentResult{}, badMessage("fragment: its chunks have %d rows, not %d", rows, m.GetRows())
	}
	return r, nil
}

// CheckPlaces reports whether every extent of a descriptor lies inside a region that its sender may name. Call it
// for descriptors from a peer before mapping or reading anything.
func CheckPlaces(d *descriptor.Descriptor, lends Lends) error {
	for _, x := range d.Extents {
		capacity, ok := lends(x.Region)
		switch {
		case !ok:
			return &Error{State: stateProtocol, Cause: ErrForeignMemory, Message: fmt.Sprintf("%v: a chunk in region %d", ErrForeignMemory, x.Region)}
		case !(memregion.Range{Length: capacity}).Contains(x.Range):
			return &Error{
				State: stateProtocol, Cause: ErrForeignMemory,
				Message: fmt.Sprintf("%v: a chunk at %v of region %d, which has %d bytes", ErrForeignMemory, x.Range, x.Region, capacity),
			}
		}
	}
	return nil
}
