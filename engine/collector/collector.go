package collector

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/delta"
	"github.com/csmsql/csmsql/engine/gathering"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/upkeep"
)

// answerWithin bounds how long an answer is waited for: the node may be stopped, which its lease only shows later.
const answerWithin = 2 * time.Second

// Collector puts rows of INSERTs into tables: those of this node, and what others hand over. Safe for concurrent use.
type Collector struct {
	gathering.Queue
	gathering.Writer
	// HandedOver counts insertions that another node has committed, and Settled those of which it had to be found out.
	HandedOver, Settled atomic.Int64

	node     *member.Node
	receipts receipt.Book
	meetings meetings
}

// New is the collector of a node; one that is alone, or an engine that borrows (nil), hands over nothing.
func New(node *member.Node, keeper *upkeep.Keeper, deltas *delta.Store) *Collector {
	c := &Collector{node: node}
	if node != nil {
		c.Writer = gathering.Writer{Catalog: node.Catalog, Keeper: keeper, Deltas: deltas}
	}
	if node != nil && node.Self != nil {
		incarnation := strconv.FormatInt(time.Now().UnixNano(), 36)
		c.receipts = receipt.Book{Store: node.Store, Node: node.Self.Name, Incarnation: incarnation}
	}
	c.Store = c.store
	return c
}

// store commits insertions of one table: here, or at the table's collector. It is the queue's Store.
func (c *Collector) store(ctx context.Context, table catalog.Table, list []*gathering.Insertion) error {
	if c.node.Self == nil {
		_, err := c.Commit(ctx, table, list)
		return err
	}
	own, handed := false, false
	for _, in := range list {
		own, handed = own || in.Receipt == nil, handed || in.Receipt != nil
	}
	if !handed && c.meetings.meet(table.ID, time.Now()) { // HN2
		if taken, err := c.handOver(ctx, table, list); taken || err != nil {
			return err
		}
	}
	met, err := c.Commit(ctx, table, list)
	if met {
		c.meetings.met(table.ID, time.Now())
	}
	if err == nil && own {
		c.meetings.committed(table.ID, c.node.Self.Name, time.Now())
	}
	return err
}

// handOver has the collector of a table commit insertions. Not taken: they are to be committed here.
func (c *Collector) handOver(ctx context.Context, table catalog.Table,
	list []*gathering.Insertion) (taken bool, err error) {
	request := noderpc.CollectRequest{
		Table: table.ID, Columns: columnsOf(table.Columns), Seen: c.node.Catalog.Applied().Revision(),
	}
	var asked gathering.Insertion
	for _, in := range list {
		for _, r := range in.Rows {
			request.Rows = r.Append(request.Rows)
		}
		for _, named := range in.Assumed {
			asked.Assume(named)
		}
		if len(request.Rows) > noderpc.MaxCollectBytes || len(asked.Assumed) > noderpc.MaxCollectNames {
			return false, nil
		}
	}
	for _, n := range asked.Assumed {
		request.Names = append(request.Names, noderpc.TableNamed(n))
	}
	name := member.Steward(table.ID, c.node.Online())
	if name == "" || name == c.node.Self.Name {
		return false, nil
	}
	call, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	peer, err := c.node.Peer(call, name)
	if err != nil {
		c.meetings.failed(table.ID, time.Now())
		return false, nil //nolint:nilerr // committing them here may work (HN3)
	}
	r, err := c.receipts.Take(call)
	if r == nil || err != nil {
		return false, nil //nolint:nilerr // likewise
	}
	request.Receipt = *r
	collected, err := peer.Collect(call, request)
	if err == nil {
		r.Revision = collected.Revision
		c.receipts.Return(r, true)
		if collected.Others {
			c.meetings.met(table.ID, time.Now())
		}
		c.handedOver(ctx, r.Revision, len(list))
		return true, nil
	}
	c.meetings.failed(table.ID, time.Now())
	return c.settle(ctx, r, len(list), err)
}

// handedOver ends a hand-over that was committed: what the session does next sees it.
func (c *Collector) handedOver(ctx context.Context, revision catalog.Revision, insertions int) {
	c.HandedOver.Add(int64(insertions))
	// It is durable. That this process does not see it yet is no reason to call it failed.
	_ = c.node.Catalog.See(context.WithoutCancel(ctx), revision)
}

// settle finds out what became of a hand-over that was not answered, or with an error (HN1).
func (c *Collector) settle(ctx context.Context, r *receipt.Receipt, insertions int,
	cause error) (taken bool, err error) {
	c.Settled.Add(int64(insertions))
	happened, err := c.receipts.Settle(context.WithoutCancel(ctx), r)
	switch {
	case err != nil:
		return true, fmt.Errorf("%w: rows were handed over: %w", catalog.ErrOutcomeUnknown, errors.Join(cause, err))
	case happened:
		c.handedOver(ctx, r.Revision, insertions)
		return true, nil
	}
	return false, ctx.Err()
}

// Collect commits what another node hands over: noderpc.Collector.
func (c *Collector) Collect(ctx context.Context, request noderpc.CollectRequest) (noderpc.Collected, error) {
	if err := c.node.Catalog.See(ctx, request.Seen); err != nil {
		return noderpc.Collected{}, err
	}
	v, ok := c.node.Catalog.Applied().TableOf(request.Table, catalog.TableName{})
	if !ok || string(columnsOf(v.Table().Columns)) != string(request.Columns) { // GA3
		err := fmt.Errorf("%w: table %d has changed since the rows were made", catalog.ErrConflict, request.Table)
		return noderpc.Collected{}, err
	}
	in := &gathering.Insertion{Table: v.Table(), Receipt: &request.Receipt}
	for _, n := range request.Names {
		in.Assume(snapshot.Named(n))
	}
	rows, err := constantrows.Decode(in.Table.Columns, request.Rows)
	if err != nil {
		return noderpc.Collected{}, fmt.Errorf("rows that node %q hands over: %w", request.Receipt.Node, err)
	}
	for _, r := range rows {
		in = in.With(in.Table, r)
	}
	if err := c.Insert(ctx, in); err != nil {
		return noderpc.Collected{}, err
	}
	others := c.meetings.collected(request.Table, request.Receipt.Node, time.Now())
	return noderpc.Collected{Revision: request.Receipt.Revision, Others: others}, nil
}

// columnsOf identifies the columns of a table, as constantrows.Same compares them.
func columnsOf(columns *arrow.Schema) []byte {
	h := sha256.New()
	for _, f := range columns.Fields() {
		_, _ = fmt.Fprintf(h, "%q %v %t %q %q\n", f.Name, f.Type, f.Nullable, f.Metadata.Keys(), f.Metadata.Values())
	}
	meta := columns.Metadata()
	_, _ = fmt.Fprintf(h, "%q %q", meta.Keys(), meta.Values())
	return h.Sum(nil)
}
