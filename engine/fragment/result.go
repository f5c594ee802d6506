package fragment

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// owner is whose quota results of fragments count against.
const owner = "csm.fragment"

// keep writes rows as chunks of this node's memory that other nodes may read; if shuffled, in partitions, of which it
// counts the chunks.
//
// The memory is the writer's and not that of the node that will read: a partition's bytes cross the fabric once in
// either case, but to write into another's memory takes a grant, a seal and a publication by message for each pair of
// nodes, where messages are to grow with the nodes (D6 of exec/plan/distribute). And a result that lies where it was
// made is given back, if anything fails, by the one node that knows of it; and another node may read a partition than
// the one it was meant for.
func (s *Server) keep(ctx context.Context, rows Rows, columns *arrow.Schema,
	shuffle *distribute.Shuffle) (chunks []*catalog.Chunk, partitions []int, err error) {
	target := s.Keeper.Target(ctx, catalog.TableName{Name: owner}, columns)
	target.Owner, target.Intermediate = owner, true
	if shuffle != nil {
		if err := partitioned(&target, shuffle); err != nil {
			return nil, nil, err
		}
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	for batches := 0; ; {
		batch, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return nil, nil, err
		}
		if batches++; batches == 1 {
			s.Fault.At(faults.FragmentHalfDone)
		}
	}
	chunks, partitions, err = w.FinishParts(ctx)
	if err != nil || len(chunks) == 0 {
		return nil, partitions, err
	}
	if shuffle != nil {
		s.Fault.At(faults.PartitionsSealed)
	}
	if err := s.Node.Homes.Publish(member.ExtentsOf(chunks)...); err != nil {
		return nil, nil, errors.Join(err, target.Discard(chunks))
	}
	return chunks, partitions, nil
}

// partitionsMax bounds what another node may ask for.
const partitionsMax = 1 << 12

// partitioned makes a target one in partitions, all of them in its space.
func partitioned(target *ingest.Target, by *distribute.Shuffle) error {
	if by.Partitions < 1 || by.Partitions > partitionsMax || len(by.Columns) == 0 {
		return sqlerror.New("08P01", "a fragment is to be written in %d partitions by %d columns", by.Partitions, len(by.Columns))
	}
	for _, c := range by.Columns {
		if fields := target.Schema.NumFields(); c < 0 || c >= fields {
			return sqlerror.New("08P01", "a fragment is to be written in partitions by column %d, and has %d", c, fields)
		}
		if err := ingest.CanHash(target.Schema.Field(c)); err != nil {
			return err
		}
	}
	spaces := slices.Repeat([]catalog.Space{target.Space}, by.Partitions)
	target.Hash = &ingest.Hash{Columns: by.Columns, Spaces: spaces}
	return nil
}

func (s *Server) release(chunks []*catalog.Chunk) {
	if len(chunks) == 0 {
		return
	}
	ids := member.ExtentsOf(chunks)
	if err := s.Node.Homes.Retire(ids...); err != nil {
		s.Log.Warn("release the result of a fragment", "error", err)
	}
	s.Node.Book().GivenBack(ids...)
	s.Fault.At(faults.FragmentReleased)
}

// nullable is the schema with every column nullable, as those of a query's result are.
func nullable(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i := range fields {
		fields[i].Nullable = true
	}
	return arrow.NewSchema(fields, nil)
}
