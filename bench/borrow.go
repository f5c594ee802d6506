package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/keeper"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// attachment is a table of another process, read in place by this one, without a query engine in between.
type attachment struct {
	client  *noderpc.Client
	keeper  *keeper.Keeper
	views   map[memregion.RegionID]*memregion.View
	trusted map[memregion.RegionID]coherence.Generation
	reader  *coherence.Reader
	lease   catalog.LeaseID
	chunks  int
	batches []arrow.RecordBatch
	record  int   // bytes of the table's record, which is all that a commit of it sends to every node
	pages   int64 // bytes of its pages of descriptors, which come when they are asked for
}

// borrowTable does all that a process must do to get at a table of a running node, from nothing:
//
//	connect ─► map the regions ─► lease a snapshot ─► descriptors: fetched, decoded, validated ─► acquire ─► record batches
//
// The regions are those of the node, and in a cluster also those of all other nodes that the table may lie in.
// The caller closes the attachment.
func borrowTable(ctx context.Context, socket string, table catalog.TableName) (*attachment, error) {
	return borrowChunks(ctx, socket, table, math.MaxInt64)
}

// borrowChunks is borrowTable of the first chunks of a table.
func borrowChunks(ctx context.Context, socket string, table catalog.TableName, most int64) (_ *attachment, err error) {
	a := &attachment{
		views: map[memregion.RegionID]*memregion.View{}, trusted: map[memregion.RegionID]coherence.Generation{},
		reader: coherence.NewReader(coherence.Coherent, nil, nil),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := a.connect(ctx, socket); err != nil {
		return nil, err
	}
	version, err := a.snapshot(ctx, table)
	if err != nil {
		return nil, err
	}
	if n := version.DeletedRows(); n > 0 {
		return nil, fmt.Errorf("%d rows of table %v are deleted: this reads whole chunks", n, table)
	}
	a.batches = make([]arrow.RecordBatch, 0, min(int64(version.NumChunks()), most))
	for position, err := range version.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if int64(position.Index) == most {
			break
		}
		batch, err := a.read(ctx, position.Chunk)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", position.Index, err)
		}
		a.chunks++
		if batch.NumRows() > 0 {
			a.batches = append(a.batches, batch)
		}
	}
	return a, a.keeper.Check(a.lease)
}

func (a *attachment) connect(ctx context.Context, socket string) (err error) {
	if a.client, err = noderpc.Dial(ctx, socket); err != nil {
		return err
	}
	a.keeper = keeper.New(a.client, keeper.Options{})
	description, err := a.client.Describe(ctx)
	if err != nil {
		return err
	}
	for _, region := range description.Regions {
		view, err := memregion.Borrow(region.Spec)
		if err != nil {
			return err
		}
		a.views[region.ID], a.trusted[region.ID] = view, region.Trusted
	}
	return nil
}

func (a *attachment) snapshot(ctx context.Context, table catalog.TableName) (*catalog.TableVersion, error) {
	lease, err := a.client.Lease(ctx, catalog.Holder{Domain: coherence.Domain(fmt.Sprintf("bench-%d", os.Getpid())), Description: "benchmark"})
	if err != nil {
		return nil, err
	}
	a.lease = lease.ID()
	if err := a.keeper.Hold(lease); err != nil {
		return nil, err
	}
	for _, region := range lease.Record.Regions {
		if a.views[region.ID] != nil {
			continue
		}
		view, err := memregion.Borrow(region.Spec)
		if err != nil {
			return nil, fmt.Errorf("region %d of node %s: %w", region.ID, region.Node, err)
		}
		a.views[region.ID], a.trusted[region.ID] = view, region.Trusted
	}
	snapshot, err := catalog.NewRemoteSnapshot(lease.Record, countedPages{a.client, &a.pages}, catalog.RemoteOptions{})
	if err != nil {
		return nil, err
	}
	version, ok := snapshot.Table(table)
	if !ok {
		return nil, fmt.Errorf("the node has no table %v", table)
	}
	record, err := version.Encode()
	a.record = len(record)
	return version, err
}

// countedPages counts the bytes of pages.
type countedPages struct {
	catalog.Pages
	bytes *int64
}

// Page implements catalog.Pages.
func (p countedPages) Page(ctx context.Context, id catalog.PageID) ([]byte, error) {
	page, err := p.Pages.Page(ctx, id)
	*p.bytes += int64(len(page))
	return page, err
}

// read acquires a chunk and lays record batches over its bytes.
func (a *attachment) read(ctx context.Context, c *catalog.Chunk) (arrow.RecordBatch, error) {
	d := c.Descriptor()
	for i := range d.Extents {
		x := &d.Extents[i]
		data, err := a.resolve(x.Region, x.Range)
		if err != nil {
			return nil, err
		}
		var verify func() error
		if x.Generation < a.trusted[x.Region] { // of an earlier life of the node
			verify = func() error {
				if xxh3.Hash(data[:x.Seal.Length]) != x.Seal.Checksum {
					return coherence.ErrChecksum
				}
				return nil
			}
		}
		if err := a.reader.Acquire(ctx, x.Region, x.Generation, data, verify); err != nil {
			return nil, err
		}
	}
	return d.Record(a.resolve)
}

func (a *attachment) resolve(region memregion.RegionID, extent memregion.Range) ([]byte, error) {
	view := a.views[region]
	if view == nil {
		return nil, fmt.Errorf("%w: region %d", memregion.ErrRegionGone, region)
	}
	return view.Bytes(extent)
}

// mapped is where the lender's memory lies in this process.
func (a *attachment) mapped() (list []span) {
	for _, view := range a.views {
		base, length := view.Mapping()
		list = append(list, span{uintptr(base), uintptr(base) + uintptr(length)})
	}
	return list
}

// close gives the lease back and unmaps. No batch may be used any more.
func (a *attachment) close() error {
	for _, batch := range a.batches {
		batch.Release()
	}
	var err error
	if a.keeper != nil {
		err = a.keeper.Close(context.Background())
	}
	for _, view := range a.views {
		err = errors.Join(err, view.Close())
	}
	if a.client != nil {
		err = errors.Join(err, a.client.Close())
	}
	return err
}
