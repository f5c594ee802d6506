package chunk

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Image rebuilds the bytes of a sealed chunk's extents from a batch of the same rows and types, in ordinary memory:
// extent by extent as the descriptor has them, up to the sealed length. Copy takes them for the originals. The
// checksums decide whether they are what was sealed: what differs is ErrDiffers, naming the column.
func Image(ctx context.Context, d *descriptor.Descriptor, batch arrow.RecordBatch) ([][]byte, error) {
	if batch.NumRows() != d.Rows {
		return nil, fmt.Errorf("%w: %d rows, there were %d", ErrDiffers, batch.NumRows(), d.Rows)
	}
	space := &heap{}
	again, err := NewWriter(space, d.Owner, 0).Seal(ctx, batch, SealOptions{NullCountsOnly: true, SkipValidation: true})
	if err != nil {
		return nil, err
	}
	made := again.Descriptor()
	if len(made.Columns) != len(d.Columns) {
		return nil, fmt.Errorf("%w: %d columns, there were %d", ErrDiffers, len(made.Columns), len(d.Columns))
	}
	images := make([][]byte, len(d.Extents))
	for i := range images {
		images[i] = make([]byte, d.Extents[i].Seal.Length)
	}
	p := painter{images, made.Extents, space.extents}
	for i := range d.Columns {
		column := d.Schema.Field(i)
		if have := made.Schema.Field(i); !arrow.TypeEqual(have.Type, column.Type) {
			return nil, fmt.Errorf("%w: column %q is %v, it was %v", ErrDiffers, column.Name, have.Type, column.Type)
		}
		if !p.node(&d.Columns[i], &made.Columns[i]) {
			return nil, fmt.Errorf("%w: the values of column %q", ErrDiffers, column.Name)
		}
	}
	for i, image := range images {
		if xxh3.Hash(image) != d.Extents[i].Seal.Checksum {
			return nil, fmt.Errorf("%w: the checksum of extent %d", ErrDiffers, i)
		}
	}
	return images, nil
}

// painter copies buffers to where they were.
type painter struct {
	images [][]byte
	made   []descriptor.Extent
	bytes  map[coherence.Generation][]byte
}

// node is false where the buffers are others than they were.
func (p *painter) node(was, is *descriptor.Node) bool {
	if was.Length != is.Length || was.NullCount != is.NullCount || was.Offset != is.Offset || len(was.Buffers) != len(is.Buffers) ||
		len(was.Children) != len(is.Children) || (was.Dictionary == nil) != (is.Dictionary == nil) {
		return false
	}
	for i, b := range was.Buffers {
		a := is.Buffers[i]
		if a.Present() != b.Present() || a.Length != b.Length || a.Checksum != b.Checksum {
			return false
		}
		if b.Present() {
			from := p.bytes[p.made[a.Extent-1].Generation]
			copy(p.images[b.Extent-1][b.Offset:b.Offset+b.Length], from[a.Offset:a.Offset+a.Length])
		}
	}
	for i := range was.Children {
		if !p.node(&was.Children[i], &is.Children[i]) {
			return false
		}
	}
	return was.Dictionary == nil || p.node(was.Dictionary, is.Dictionary)
}

// heap is a Space of ordinary memory, for what is never published. For one goroutine.
type heap struct {
	next    coherence.Generation
	extents map[coherence.Generation][]byte
}

func (h *heap) Region() memregion.RegionID { return 1 }

func (h *heap) Discard(generations ...coherence.Generation) error {
	for _, g := range generations {
		delete(h.extents, g)
	}
	return nil
}

func (h *heap) Grant(_ string, size int64) (Grant, error) {
	if size < 0 || size > maximumImage {
		return nil, errors.New("an image of this size cannot be made")
	}
	h.next++
	raw := make([]byte, size+memregion.LineSize)
	skip := (memregion.LineSize - int64(address(raw))%memregion.LineSize) % memregion.LineSize
	g := &heapGrant{h, h.next, raw[skip : skip+size : skip+size]}
	if h.extents == nil {
		h.extents = map[coherence.Generation][]byte{}
	}
	h.extents[h.next] = g.data
	return g, nil
}

// maximumImage is beyond what any chunk has.
const maximumImage = 1 << 40

type heapGrant struct {
	heap       *heap
	generation coherence.Generation
	data       []byte
}

func (g *heapGrant) Bytes() []byte { return g.data }

// Range lets every grant have addresses of its own, as in a region.
func (g *heapGrant) Range() memregion.Range {
	return memregion.Range{Offset: int64(g.generation) * maximumImage, Length: int64(len(g.data))}
}

func (g *heapGrant) Generation() coherence.Generation { return g.generation }

func (g *heapGrant) Copy(at int64, from []byte) (near bool, err error) {
	copy(g.data[at:], from)
	return true, nil
}

func (g *heapGrant) Shrink(length int64) error {
	g.data = g.data[:length]
	g.heap.extents[g.generation] = g.data
	return nil
}

func (g *heapGrant) Clean() error                { return nil }
func (g *heapGrant) Seal(_ coherence.Seal) error { return nil }
func (g *heapGrant) Abort() error                { return g.heap.Discard(g.generation) }
