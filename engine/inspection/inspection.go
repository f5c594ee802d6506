package inspection

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Inspector inspects the chunks that one process can read. Its calls are inside of the engine's lifetime.
type Inspector struct {
	Reader *reader.Reader
	// Snapshot pins the tables as they are, or were at most maxAge ago, and returns how old they may be.
	Snapshot func(ctx context.Context, maxAge time.Duration) (*lease.Lease, time.Duration, error)
	Log      *slog.Logger
}

// Visit is called for a chunk of a table, under the lease of its snapshot.
type Visit func(*lease.Lease, *catalog.TableVersion, catalog.Position) error

// Check compares every chunk with the checksums it was sealed with. The error, XX001, names the first of which no
// replica is whole.
func (i *Inspector) Check(ctx context.Context) error {
	return i.Each(ctx, nil, func(l *lease.Lease, t *catalog.TableVersion, p catalog.Position) error {
		return l.ErrorOr(i.Reader.Check(ctx, t.Table().Name.String(), p.Index, p.Chunk), nil)
	}, nil)
}

// Verify compares all replicas of tables' chunks (none named: of all tables) with the checksums they were sealed
// with, and lists those that are damaged or cannot be had. They are remembered, as if a query had found them: read
// last, and rebuilt if the node does that. progress (nil: not reported) is called on this goroutine.
func (i *Inspector) Verify(ctx context.Context, tables []catalog.TableName,
	progress func(noderpc.Progress)) (noderpc.VerifyResult, error) {
	result := noderpc.VerifyResult{Damaged: []noderpc.DamagedReplica{}}
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	var at noderpc.Progress
	err := i.Each(ctx, tables, func(l *lease.Lease, t *catalog.TableVersion, p catalog.Position) error {
		name, d := t.Table().Name, p.Chunk.Descriptor()
		bad, whole, err := i.Reader.Damaged(ctx, name.String(), p.Index, p.Chunk)
		if err != nil {
			return err
		}
		for _, b := range bad {
			if lost := l.ErrorOr(b, nil); lost != error(b) {
				return lost
			}
			if len(result.Damaged) == noderpc.MaxDamaged {
				result.More++
				continue
			}
			result.Damaged = append(result.Damaged, noderpc.DamagedReplica{
				Schema: name.Schema, Table: name.Name, Chunk: int64(p.Index), FirstRow: p.FirstRow, Rows: p.Rows(),
				Node: b.Node, Reason: b.Cause.Error(), Spared: whole,
			})
		}
		result.Chunks++
		result.Replicas += int64(d.Replicas())
		result.Bytes += d.Bytes() * int64(d.Replicas())
		at.Rows, at.Bytes = at.Rows+p.Rows(), at.Bytes+p.Chunk.Bytes()
		progress(at)
		return nil
	}, func(t *catalog.TableVersion) {
		result.Tables++
		at = noderpc.Progress{Step: t.Table().Name.String(), RowsTotal: t.Rows(), BytesTotal: t.Bytes()}
	})
	return result, err
}

// Prefault makes the pages of all tables present in this process, each chunk's in the replica that queries would read.
// What cannot be had is reported by the query that needs it.
func (i *Inspector) Prefault(ctx context.Context, progress func(noderpc.Progress)) error {
	var at noderpc.Progress
	return i.Each(ctx, nil, func(_ *lease.Lease, t *catalog.TableVersion, p catalog.Position) error {
		present := func(d *descriptor.Descriptor) (failed, _ error) { return i.Reader.Prefault(ctx, d), nil }
		err := i.Reader.EachReplica(ctx, t.Table().Name.String(), p.Index, p.Chunk, present)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			i.Log.Warn("a chunk cannot be made present", "table", t.Table().Name, "chunk", p.Index, "error", err)
		}
		at.Rows, at.Bytes = at.Rows+p.Rows(), at.Bytes+p.Chunk.Bytes()
		progress(at)
		return nil
	}, func(t *catalog.TableVersion) {
		at = noderpc.Progress{Step: t.Table().Name.String(), RowsTotal: t.Rows(), BytesTotal: t.Bytes()}
	})
}

// Each visits the chunks of one snapshot's tables, or of the named ones; begin (or nil) is called with every table.
func (i *Inspector) Each(ctx context.Context, names []catalog.TableName, visit Visit,
	begin func(*catalog.TableVersion)) error {
	s, _, err := i.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer s.Release()
	tables := s.Snapshot.Tables()
	if len(names) > 0 {
		tables = nil
		for _, name := range names {
			name.Schema = cmp.Or(name.Schema, duckdb.SchemaName)
			t, exists := s.Snapshot.Table(name)
			if !exists {
				return sqlerror.New("42P01", "relation %q does not exist", name)
			}
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	for _, t := range tables {
		if begin != nil {
			begin(t)
		}
		for p, err := range t.Chunks(ctx) {
			if err != nil {
				return err
			}
			if err := visit(s, t, p); err != nil {
				return err
			}
		}
	}
	return nil
}
