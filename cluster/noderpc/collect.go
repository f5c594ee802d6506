package noderpc

import (
	"cmp"
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// MaxCollectBytes bounds the rows of one Collect, and MaxCollectNames how differently its table was named.
const (
	MaxCollectBytes = 64 << 10
	MaxCollectNames = 16
)

const (
	maxSearchPath   = 256     // schemas
	maxTokenBytes   = 1 << 10 // of a receipt
	maxColumnsBytes = 64      // of what identifies columns
)

// Collector commits rows for other nodes. Package collector has it.
type Collector interface {
	// Collect commits rows, and answers when they are durable. Of an error nothing is known: the caller settles its
	// receipt.
	Collect(ctx context.Context, request CollectRequest) (Collected, error)
}

// CollectRequest asks a node to commit rows of a table.
type CollectRequest struct {
	Table catalog.TableID
	// Columns identifies its columns as the rows were made for, and Rows are these as constantrows writes them.
	Columns, Rows []byte
	// Seen is the revision in which the caller has seen the table.
	Seen catalog.Revision
	// Names are how statements named the table that have not asked whether it is still meant: it has to be.
	Names []TableNamed
	// Receipt is the caller's, which the commit leaves.
	Receipt receipt.Receipt
}

// TableNamed is a table as a statement names it.
type TableNamed struct {
	Schema, Name string   // Schema is empty if it was not written
	Path         []string // the session's search_path
}

// Collected is what became of them.
type Collected struct {
	// Revision of the commit.
	Revision catalog.Revision
	// Others have put rows into the table just before: other nodes than the caller.
	Others bool
}

func (r *CollectRequest) check() error {
	switch {
	case r.Table == 0:
		return fmt.Errorf("no table")
	case len(r.Rows) == 0 || len(r.Rows) > MaxCollectBytes:
		return fmt.Errorf("%d bytes of rows: 1 to %d are allowed", len(r.Rows), MaxCollectBytes)
	case len(r.Columns) == 0 || len(r.Columns) > maxColumnsBytes:
		return fmt.Errorf("%d bytes that identify columns: 1 to %d are allowed", len(r.Columns), maxColumnsBytes)
	case r.Seen < 0 || r.Receipt.Since < 0:
		return fmt.Errorf("a revision below 0")
	case r.Receipt.Slot < 0 || r.Receipt.Slot >= receipt.Slots:
		return fmt.Errorf("receipt %d: a node has %d", r.Receipt.Slot, receipt.Slots)
	case len(r.Names) > MaxCollectNames:
		return fmt.Errorf("%d names: %d are allowed", len(r.Names), MaxCollectNames)
	case r.Receipt.Node == "" || r.Receipt.Token == "":
		return fmt.Errorf("a receipt without a node or a token")
	}
	for _, n := range r.Names {
		if len(n.Path) > maxSearchPath {
			return fmt.Errorf("a search path of %d schemas: %d are allowed", len(n.Path), maxSearchPath)
		}
		if err := cmp.Or(checkNames(n.Schema, n.Name), checkNames(n.Path...)); err != nil {
			return err
		}
	}
	if err := checkNames(r.Receipt.Node); err != nil {
		return err
	}
	return checkText("token", r.Receipt.Token, maxTokenBytes)
}

// Collect hands over rows to be committed. An error leaves open whether they are.
func (c *Client) Collect(ctx context.Context, r CollectRequest) (Collected, error) {
	if err := r.check(); err != nil {
		return Collected{}, badArgument("collect: %v", err)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.coordination.Collect(call, encodeCollect(r))
	if err != nil {
		return Collected{}, c.failed(ctx, fmt.Sprintf("collect rows of table %d", r.Table), err)
	}
	if m.GetRevision() <= 0 {
		return Collected{}, badMessage("rows were committed with revision %d", m.GetRevision())
	}
	return Collected{Revision: catalog.Revision(m.GetRevision()), Others: m.GetOthers()}, nil
}

func (h coordinationHandlers) Collect(ctx context.Context, m *nodepb.CollectRequest) (*nodepb.CollectResponse, error) {
	if h.server.options.Collector == nil {
		return nil, h.alone()
	}
	r, err := decodeCollect(m)
	p := PeerOf(ctx)
	if err == nil && p.Identity.Name != "" && p.Identity.Name != r.Receipt.Node {
		err = fmt.Errorf("the receipt is of node %q, and the caller is %v", r.Receipt.Node, p.Identity)
	}
	if err != nil {
		h.server.options.Refusals.Call(ctx, refusal.Argument, p, "Collect", err)
		return nil, badMessage("collect: %v", err)
	}
	collected, err := h.server.options.Collector.Collect(ctx, r)
	return &nodepb.CollectResponse{Revision: int64(collected.Revision), Others: collected.Others}, err
}

func encodeCollect(r CollectRequest) *nodepb.CollectRequest {
	var named []*nodepb.TableNamed
	for _, n := range r.Names {
		named = append(named, &nodepb.TableNamed{Schema: n.Schema, Name: n.Name, Path: n.Path})
	}
	return &nodepb.CollectRequest{
		Names: named,
		Table: uint64(r.Table), Columns: r.Columns, Rows: r.Rows, Seen: int64(r.Seen), Receipt: &nodepb.Receipt{
			Node: r.Receipt.Node, Slot: uint32(r.Receipt.Slot), Since: int64(r.Receipt.Since), Token: r.Receipt.Token,
		},
	}
}

func decodeCollect(m *nodepb.CollectRequest) (CollectRequest, error) {
	of := m.GetReceipt()
	r := CollectRequest{
		Table: catalog.TableID(m.GetTable()), Columns: m.GetColumns(), Rows: m.GetRows(),
		Seen: catalog.Revision(m.GetSeen()),
		Receipt: receipt.Receipt{
			Node: of.GetNode(), Slot: int(min(of.GetSlot(), receipt.Slots)), // which is one too many
			Since: catalog.Revision(of.GetSince()), Token: of.GetToken(),
		},
	}
	for _, n := range m.GetNames() {
		r.Names = append(r.Names, TableNamed{n.GetSchema(), n.GetName(), n.GetPath()})
	}
	return r, r.check()
}
