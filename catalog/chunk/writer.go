package chunk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/statistics"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// DefaultFirstBytes is the size of a writer's first grant when nothing better is known.
const DefaultFirstBytes = 1 << 20

// Writer makes one chunk: build arrays with its Allocator, Seal the batch. It is for one goroutine. Exactly one of
// Seal and Abort ends it; Abort after Seal does nothing, so that it can be deferred.
type Writer struct {
	space  Space
	owner  string
	arena  *arena
	copied int64
	closed bool
}

// NewWriter returns a writer whose memory comes from space and counts against owner's quota. firstBytes is how large
// the
// chunk will be, as far as the caller knows (zero: DefaultFirstBytes); nothing is granted before the first allocation.
func NewWriter(space Space, owner string, firstBytes int64) *Writer {
	if firstBytes <= 0 {
		firstBytes = DefaultFirstBytes
	}
	return &Writer{space: space, owner: owner, arena: newArena(space, owner, firstBytes)}
}

// Allocator gives memory in the chunk's extents: what builders make with it is not copied when the chunk is sealed.
// When the region is full it falls back to ordinary memory and Seal returns the error; see Err to stop earlier.
func (w *Writer) Allocator() memory.Allocator { return w.arena }

// Err is the error (53200) of the first grant that failed, or nil.
func (w *Writer) Err() error { return w.arena.fault }

// Copied counts the bytes that Seal had to copy because they did not lie in the chunk's extents.
func (w *Writer) Copied() int64 { return w.copied }

// SealOptions say what Seal does beside sealing.
type SealOptions struct {
	// NullCountsOnly skips minima, maxima and distinct estimates.
	NullCountsOnly bool
	// SkipValidation trusts the batch's offsets, codes and views. Only for data that this process made.
	SkipValidation bool
}

// Seal turns the batch into a sealed, unpublished chunk. Buffers that lie in the writer's memory stay where they
// are, all others are copied in once; slices are normalised to offset zero; everything between buffers is zeroed,
// the unused tail goes back to the lender. The batch stays the caller's to release, but arrays that were made with
// the Allocator must not be read any more: read the chunk. On error every grant is given back and the writer is
// done.
func (w *Writer) Seal(ctx context.Context, batch arrow.RecordBatch, options SealOptions) (*Chunk, error) {
	if w.closed {
		return nil, ErrClosed
	}
	c, err := w.seal(ctx, batch, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("seal a chunk of %d rows: %w", batch.NumRows(), err), w.Abort())
	}
	w.closed = true
	return c, nil
}

// Abort gives all memory back. Arrays built with the Allocator must not be read any more.
func (w *Writer) Abort() error {
	if w.closed {
		return nil
	}
	w.closed = true
	if err := w.arena.abort(); err != nil {
		return fmt.Errorf("abort a chunk: %w", err)
	}
	return nil
}

func (w *Writer) seal(ctx context.Context, batch arrow.RecordBatch, options SealOptions) (c *Chunk, err error) {
	defer func() { // a batch that was trusted and should not have been: its offsets can point anywhere
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("%w: %v (columns %v)", descriptor.ErrData, r, batch.Schema().Fields())
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !options.SkipValidation {
		if err := descriptor.ValidateData(batch, false); err != nil {
			return nil, err
		}
	}
	placed, err := w.place(batch)
	if err != nil {
		return nil, err
	}
	defer placed.Release()
	stats, sketches := measure(placed, options)
	d, err := w.describe(placed, stats)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.finish(d); err != nil {
		return nil, err
	}
	encoded, err := d.Encode()
	if err != nil {
		return nil, err
	}
	w.arena.closed = true
	return New(d, encoded, sketches), nil
}

// place brings the batch into the arena; if what builders left behind wastes more than it may, into a tighter one.
func (w *Writer) place(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	placed, err := placeBatch(batch, w.arena, false, &w.copied)
	if err != nil || !w.wasteful(placed) {
		return placed, err
	}
	defer placed.Release()
	tight := newArena(w.space, w.owner, packedBytes(placed))
	again, err := placeBatch(placed, tight, true, &w.copied)
	if err == nil {
		err = w.arena.abort()
	}
	if err != nil {
		return nil, errors.Join(err, tight.abort())
	}
	w.arena = tight
	return again, nil
}

// Waste below both bounds is not worth a copy.
const (
	tolerableWaste    = 256 << 10
	tolerableFraction = 3 // a third
)

func (w *Writer) wasteful(placed arrow.RecordBatch) bool {
	var occupied int64
	for _, p := range w.arena.pieces {
		occupied += p.top
	}
	waste := occupied - packedBytes(placed)
	return waste > tolerableWaste && waste > occupied/tolerableFraction
}

// packedBytes is the space that the batch's buffers need at least.
func packedBytes(batch arrow.RecordBatch) int64 {
	var n int64
	for _, column := range batch.Columns() {
		n += packedDataBytes(column.Data())
	}
	return n
}

func packedDataBytes(data arrow.ArrayData) int64 {
	var n int64
	for _, b := range data.Buffers() {
		if b != nil {
			n += roundUp(int64(b.Len()), memregion.LineSize)
		}
	}
	for _, child := range data.Children() {
		n += packedDataBytes(child)
	}
	if d, ok := data.Dictionary().(*array.Data); ok && d != nil {
		n += packedDataBytes(d)
	}
	return n
}

func measure(batch arrow.RecordBatch, options SealOptions) ([]descriptor.Statistics, []statistics.Sketch) {
	if options.NullCountsOnly {
		return nil, nil
	}
	stats := make([]descriptor.Statistics, batch.NumCols())
	sketches := make([]statistics.Sketch, batch.NumCols())
	for i, column := range batch.Columns() {
		stats[i], sketches[i] = statistics.Of(column)
	}
	return stats, sketches
}

func (w *Writer) describe(batch arrow.RecordBatch, stats []descriptor.Statistics) (*descriptor.Descriptor, error) {
	mapped := make([]descriptor.Mapped, len(w.arena.pieces))
	for i, p := range w.arena.pieces {
		mapped[i].Region, mapped[i].Generation = w.space.Region(), p.grant.Generation()
		mapped[i].Range = p.grant.Range()
		mapped[i].Seal.Length = int64(len(p.data)) // the real one follows in finish
		mapped[i].Data = p.data
	}
	return descriptor.Describe(batch, w.owner, mapped, stats)
}

// finish zeroes what no buffer covers, shrinks, cleans and seals, and completes the descriptor's extents.
func (w *Writer) finish(d *descriptor.Descriptor) error {
	used := make([][]hole, len(w.arena.pieces))
	for i := range d.Columns {
		collect(&d.Columns[i], used)
	}
	renumber := make([]int32, len(used))
	var kept []descriptor.Extent
	var pieces []*piece
	for i, p := range w.arena.pieces {
		if len(used[i]) == 0 {
			if err := p.grant.Abort(); err != nil {
				return fmt.Errorf("give an unused grant back: %w", err)
			}
			continue
		}
		if err := p.finish(used[i], &d.Extents[i]); err != nil {
			w.arena.pieces = append(pieces, w.arena.pieces[i:]...) // the unused ones are back already
			return err
		}
		pieces, kept = append(pieces, p), append(kept, d.Extents[i])
		renumber[i] = int32(len(kept))
	}
	w.arena.pieces, d.Extents = pieces, kept
	for i := range d.Columns {
		renumberBuffers(&d.Columns[i], renumber)
	}
	return w.sealAll(d)
}

// sealAll is the last step: until here every grant can be aborted.
func (w *Writer) sealAll(d *descriptor.Descriptor) error {
	for i, p := range w.arena.pieces {
		if err := p.grant.Seal(d.Extents[i].Seal); err != nil {
			err = fmt.Errorf("seal generation %d: %w", p.grant.Generation(), err)
			for _, x := range d.Extents[:i] {
				err = errors.Join(err, w.space.Discard(x.Generation))
			}
			w.arena.pieces = w.arena.pieces[i:]
			return err
		}
	}
	return nil
}

// finish readies one piece for its seal: every byte of its range is written, then no line is dirty.
func (p *piece) finish(used []hole, x *descriptor.Extent) error {
	top := p.zeroAround(used)
	length := roundUp(top, memregion.PageSize)
	clear(p.data[top:length])
	if length < int64(len(p.data)) {
		if err := p.grant.Shrink(length); err != nil {
			return fmt.Errorf("shrink generation %d: %w", p.grant.Generation(), err)
		}
	}
	x.Range = p.grant.Range()
	x.Seal = coherence.Seal{Length: top, Checksum: xxh3.Hash(p.data[:top])}
	if err := p.grant.Clean(); err != nil {
		return fmt.Errorf("clean generation %d: %w", p.grant.Generation(), err)
	}
	return nil
}

// zeroAround clears the gaps between buffers (K1) and returns the end of the last one, in whole lines.
func (p *piece) zeroAround(used []hole) int64 {
	slices.SortFunc(used, func(a, b hole) int { return int(a.offset - b.offset) })
	var end int64
	for _, u := range used {
		if u.offset > end {
			clear(p.data[end:u.offset])
		}
		end = max(end, u.end())
	}
	top := roundUp(end, memregion.LineSize)
	clear(p.data[end:top])
	return top
}

func collect(n *descriptor.Node, used [][]hole) {
	for _, b := range n.Buffers {
		if b.Present() {
			used[b.Extent-1] = append(used[b.Extent-1], hole{b.Offset, b.Length})
		}
	}
	for i := range n.Children {
		collect(&n.Children[i], used)
	}
	if n.Dictionary != nil {
		collect(n.Dictionary, used)
	}
}

func renumberBuffers(n *descriptor.Node, to []int32) {
	for i := range n.Buffers {
		if n.Buffers[i].Present() {
			n.Buffers[i].Extent = to[n.Buffers[i].Extent-1]
		}
	}
	for i := range n.Children {
		renumberBuffers(&n.Children[i], to)
	}
	if n.Dictionary != nil {
		renumberBuffers(n.Dictionary, to)
	}
}
