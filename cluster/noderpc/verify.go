package noderpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// VerifyRequest asks for the comparison of sealed bytes with their checksums.
type VerifyRequest struct {
	// Tables whose chunks are looked at; none: all. An empty schema is the node's default.
	Tables []catalog.TableName
}

// VerifyResult is what was found. Bytes are of all replicas.
type VerifyResult struct {
	Tables   int64            `json:"tables"`
	Chunks   int64            `json:"chunks"`
	Replicas int64            `json:"replicas"`
	Bytes    int64            `json:"bytes"`
	Damaged  []DamagedReplica `json:"damaged"`
	// More are damaged beside those listed, of which there are at most MaxDamaged.
	More int64 `json:"more,omitempty"`
}

// MaxDamaged bounds the list of a VerifyResult.
const MaxDamaged = 10_000

// DamagedReplica is one replica of a chunk whose bytes are not those that were sealed, or cannot be had.
type DamagedReplica struct {
	Schema   string `json:"schema"`
	Table    string `json:"table"`
	Chunk    int64  `json:"chunk"`
	FirstRow int64  `json:"firstRow"`
	Rows     int64  `json:"rows"`
	Node     string `json:"node"`
	Reason   string `json:"reason"`
	// Spared: another replica is whole, so the rows can be read.
	Spared bool `json:"spared"`
}

func (r VerifyRequest) check() error {
	if len(r.Tables) > maxVerifyTables {
		return fmt.Errorf("%d tables are named, %d are allowed", len(r.Tables), maxVerifyTables)
	}
	for _, t := range r.Tables {
		if err := checkNames(t.Schema, t.Name); err != nil {
			return err
		}
	}
	return nil
}

// maxVerifyTables bounds the tables that one call names.
const maxVerifyTables = 1 << 12

func encodeVerify(r VerifyRequest) *nodepb.VerifyRequest {
	m := &nodepb.VerifyRequest{}
	for _, t := range r.Tables {
		m.Tables = append(m.Tables, &nodepb.TableName{Schema: t.Schema, Name: t.Name})
	}
	return m
}

func decodeVerify(m *nodepb.VerifyRequest) (r VerifyRequest, err error) {
	for _, t := range m.GetTables() {
		r.Tables = append(r.Tables, catalog.TableName{Schema: t.GetSchema(), Name: t.GetName()})
	}
	if err := r.check(); err != nil {
		return VerifyRequest{}, badArgument("verify: %v", err)
	}
	return r, nil
}

func encodeVerified(r VerifyResult) *nodepb.LoadEvent {
	m := &nodepb.VerifyResult{Tables: r.Tables, Chunks: r.Chunks, Replicas: r.Replicas, Bytes: r.Bytes, More: r.More}
	for _, d := range r.Damaged[:min(len(r.Damaged), MaxDamaged)] {
		m.Damaged = append(m.Damaged, &nodepb.DamagedReplica{
			Table: &nodepb.TableName{Schema: d.Schema, Name: d.Table}, Chunk: d.Chunk, FirstRow: d.FirstRow, Rows: d.Rows, Node: d.Node,
			Reason: text(d.Reason, maxTextBytes), Spared: d.Spared,
		})
	}
	return &nodepb.LoadEvent{Event: &nodepb.LoadEvent_Verified{Verified: m}}
}

// The list is never nil, so that JSON has [] and not null.
func decodeVerified(m *nodepb.VerifyResult) (VerifyResult, error) {
	r := VerifyResult{Tables: m.GetTables(), Chunks: m.GetChunks(), Replicas: m.GetReplicas(), Bytes: m.GetBytes(), More: m.GetMore(), Damaged: []DamagedReplica{}}
	if err := checkCounts(r.Tables, r.Chunks, r.Replicas, r.Bytes, r.More); err != nil {
		return VerifyResult{}, badMessage("verify: %v", err)
	}
	if len(m.GetDamaged()) > MaxDamaged {
		return VerifyResult{}, badMessage("verify: %d damaged replicas are listed, %d are allowed", len(m.GetDamaged()), MaxDamaged)
	}
	for _, e := range m.GetDamaged() {
		d := DamagedReplica{
			Schema: e.GetTable().GetSchema(), Table: e.GetTable().GetName(), Chunk: e.GetChunk(), FirstRow: e.GetFirstRow(), Rows: e.GetRows(),
			Node: e.GetNode(), Reason: e.GetReason(), Spared: e.GetSpared(),
		}
		err := checkNames(d.Schema, d.Table)
		if err == nil {
			err = checkCounts(d.Chunk, d.FirstRow, d.Rows)
		}
		if err == nil {
			err = checkLabels(d.Node)
		}
		if err == nil {
			err = checkText("reason", d.Reason, maxTextBytes)
		}
		if err != nil {
			return VerifyResult{}, badMessage("verify: %v", err)
		}
		r.Damaged = append(r.Damaged, d)
	}
	return r, nil
}

func (h handlers) Verify(m *nodepb.VerifyRequest, stream grpc.ServerStreamingServer[nodepb.LoadEvent]) error {
	request, err := decodeVerify(m)
	if err != nil {
		return err
	}
	return reporting(stream, encodeVerified, func(ctx context.Context, progress func(Progress)) (VerifyResult, error) {
		return h.server.node.Verify(ctx, request, progress)
	})
}

// Verify has the node compare sealed bytes with the checksums they were sealed with: its own, and in a cluster those of
// all nodes. That there are damaged ones is no error. progress (nil: not reported) is called on this goroutine. When
// the context ends, so does the work.
func (c *Client) Verify(ctx context.Context, request VerifyRequest,
	progress func(Progress)) (result VerifyResult, err error) {
	if err := request.check(); err != nil {
		return result, badArgument("verify: %v", err)
	}
	call, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.rpc.Verify(call, encodeVerify(request))
	if err != nil {
		return result, c.failed(ctx, "verify", err)
	}
	err = follow(stream, progress, func(m *nodepb.LoadEvent) (err error) {
		event, ok := m.GetEvent().(*nodepb.LoadEvent_Verified)
		if !ok {
			return errUnknownEvent
		}
		result, err = decodeVerified(event.Verified)
		return err
	})
	return result, c.failed(ctx, "verify", err)
}
