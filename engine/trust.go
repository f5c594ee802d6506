package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
)

// intact is nil as long as no page of a region was found gone.
func (r *regions) intact() error {
	if r.faults() == 0 {
		return nil
	}
	return failure("58030", "pages of lent memory on node %s are gone: somebody truncated the region's file", r.node).
		hint("Nothing was written. Restart the node: it tells which tables have lost rows.")
}

// guardedSpace hands out no memory, and seals nothing, once pages of the region were found gone: what a writer stored there lies in
// no file, and nobody else would ever see it.
type guardedSpace struct {
	catalog.Space
	regions *regions
}

type guardedGrant struct {
	catalog.Grant
	regions *regions
}

func (s guardedSpace) Grant(owner string, size int64) (catalog.Grant, error) {
	if err := s.regions.intact(); err != nil {
		return nil, err
	}
	g, err := s.Space.Grant(owner, size)
	if err != nil {
		return nil, err
	}
	return guardedGrant{g, s.regions}, nil
}

// Seal comes after the last store into the extent, and after its checksum was taken.
func (g guardedGrant) Seal(seal coherence.Seal) error {
	if err := g.regions.intact(); err != nil {
		return err
	}
	return g.Grant.Seal(seal)
}

// What a borrower may believe (E3). It reads memory that the node re-uses when the lease is over, and it may be stopped at any
// moment for any time. So a result is believed when the lease is found valid after the last load that it is made of.

// honest replaces an error by that of the lease if it is over: then the bytes that the error complains about may be another table's.
func (l *lease) honest(err error) error {
	if err == nil || l.check == nil {
		return err
	}
	if over := l.check(); over != nil {
		return over
	}
	return err
}

// detach gives a batch that outlives the lease. Whoever gets it may be stopped before it looks at the values, and checks no lease:
// so in a borrower rows leave as copies. In the node itself no lease runs out while the reader is open, and they go out in place.
func (l *lease) detach(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	if l.check == nil {
		batch.Retain()
		return batch, nil
	}
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		copied, err := copyOf(c, schema.Field(i).Type)
		if err != nil {
			return nil, err
		}
		columns[i] = copied
		defer copied.Release()
	}
	return array.NewRecordBatch(arrow.NewSchema(schema.Fields(), nil), columns, batch.NumRows()), ctx.Err()
}

// copyOf shares no byte with a.
func copyOf(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if !arrow.TypeEqual(a.DataType(), want) {
		return conformArray(a, want) // another layout is another array
	}
	return array.Concatenate([]arrow.Array{a}, memory.DefaultAllocator)
}
