package engine

import (
	"context"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/lease"
)

// prefault makes the pages of all tables present in this process, each chunk's in the replica that queries would read. What cannot be had is for the query to
// tell that wants it.
func (e *Engine) prefault(ctx context.Context) error {
	var at noderpc.Progress
	return e.eachChunk(ctx, nil, func(_ *lease.Lease, t *catalog.TableVersion, p catalog.Position) error {
		err := e.reader.EachReplica(ctx, t.Table().Name.String(), p.Index, p.Chunk, func(d *descriptor.Descriptor) (failed, _ error) {
			return e.reader.Prefault(ctx, d), nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			e.config.Log.Warn("a chunk cannot be made present", "table", t.Table().Name, "chunk", p.Index, "error", err)
		}
		at.Rows, at.Bytes = at.Rows+p.Rows(), at.Bytes+p.Chunk.Bytes()
		e.config.Progress(at)
		return nil
	}, func(t *catalog.TableVersion) {
		at = noderpc.Progress{Step: t.Table().Name.String(), RowsTotal: t.Rows(), BytesTotal: t.Bytes()}
	})
}
