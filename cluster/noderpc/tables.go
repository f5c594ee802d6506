package noderpc

import (
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// Tables gives tables of a snapshot that was leased without them (catalog.Holder.Partial).
func (c *Client) Tables(ctx context.Context, lease catalog.LeaseID,
	asked record.TablesAsked) (a record.TablesAnswer, err error) {
	tokens, unknown := c.take([]catalog.LeaseID{lease}, false)
	if len(unknown) > 0 {
		return a, leaseOver(lease)
	}
	m := &nodepb.TablesRequest{Lease: tokens[0], Id: uint64(asked.ID), All: asked.All}
	for _, name := range asked.Names {
		m.Names = append(m.Names, encodeName(name))
	}
	if asked.From != (hugetable.TableName{}) {
		m.From = encodeName(asked.From)
	}
	if _, err := decodeTablesAsked(m); err != nil {
		return a, err
	}
	call, cancel := c.call(ctx)
	defer cancel()
	answer, err := c.rpc.Tables(call, m)
	if err != nil {
		return a, c.failed(ctx, "get tables of a snapshot", err)
	}
	return decodeTables(answer)
}

// leaseOver is the error of asking under a lease that is over.
func leaseOver(id catalog.LeaseID) error {
	return &Error{
		State: stateSnapshotOld, Cause: catalog.ErrLeaseOver,
		Message: fmt.Sprintf("tables of the snapshot of lease %d: %v", id, catalog.ErrLeaseOver),
	}
}

func (h handlers) Tables(ctx context.Context, m *nodepb.TablesRequest) (*nodepb.TablesResponse, error) {
	held, foreign, err := h.split(ctx, "tables", []*nodepb.LeaseToken{m.GetLease()})
	if err != nil {
		return nil, err
	}
	if len(foreign) > 0 {
		return nil, leaseOver(catalog.LeaseID(foreign[0]))
	}
	asked, err := decodeTablesAsked(m)
	if err != nil {
		return nil, err
	}
	answer, err := h.server.node.Tables(ctx, held[0], asked)
	if err != nil {
		return nil, err
	}
	made := &nodepb.TablesResponse{Tables: answer.Tables, Kept: answer.Kept, Answered: uint32(answer.Answered)}
	if answer.Next != (hugetable.TableName{}) {
		made.Next = encodeName(answer.Next)
	}
	return made, nil
}

func encodeName(name hugetable.TableName) *nodepb.QualifiedName {
	return &nodepb.QualifiedName{Schema: []byte(name.Schema), Name: []byte(name.Name)}
}

// decodeName gives none for none.
func decodeName(m *nodepb.QualifiedName) (name hugetable.TableName, err error) {
	if len(m.GetSchema()) > maxNameBytes || len(m.GetName()) > maxNameBytes {
		return name, fmt.Errorf("a name of %d and %d bytes, %d are allowed", len(m.GetSchema()), len(m.GetName()), maxNameBytes)
	}
	return hugetable.TableName{Schema: string(m.GetSchema()), Name: string(m.GetName())}, nil
}

func decodeTablesAsked(m *nodepb.TablesRequest) (asked record.TablesAsked, err error) {
	if n := len(m.GetNames()); n > maxTablesAsked {
		return asked, badArgument("tables: %d names, %d are allowed", n, maxTablesAsked)
	}
	asked.ID, asked.All = hugetable.TableID(m.GetId()), m.GetAll()
	for _, name := range append(slices.Clone(m.GetNames()), m.GetFrom()) {
		decoded, err := decodeName(name)
		if err != nil {
			return asked, badArgument("tables: %v", err)
		}
		asked.Names = append(asked.Names, decoded)
	}
	last := len(asked.Names) - 1
	asked.Names, asked.From = asked.Names[:last], asked.Names[last]
	return asked, nil
}

// decodeTables looks at how many there are; what a record holds is looked at by the catalog.
func decodeTables(m *nodepb.TablesResponse) (a record.TablesAnswer, err error) {
	if n := len(m.GetTables()) + len(m.GetKept()); n > maxTables {
		return a, badMessage("%d tables and former versions in one answer, %d are allowed", n, maxTables)
	}
	if m.GetAnswered() > maxTablesAsked {
		return a, badMessage("%d names were answered, %d can be asked for", m.GetAnswered(), maxTablesAsked)
	}
	a = record.TablesAnswer{Tables: m.GetTables(), Kept: m.GetKept(), Answered: int(m.GetAnswered())}
	if a.Next, err = decodeName(m.GetNext()); err != nil {
		return a, badMessage("tables: %v", err)
	}
	return a, nil
}
