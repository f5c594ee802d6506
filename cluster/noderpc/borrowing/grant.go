package borrowing

import (
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

// Grant is the right to write one extent of another node once, and the window to do it through. It implements
// chunk.Grant and chunk.Growing. It is for one goroutine. Every Grant ends with Seal or Abort.
type Grant struct {
	space  *Space
	given  noderpc.Granted
	writer coherence.WriterCore
	window *memregion.Window
	// staged is what the writer means to write, where its own loads of the window may be answered by the lender's cache
	// (decision 0016): its checksum must not be of what was lost. nil elsewhere: the window is written in place.
	staged []byte
	over   bool // sealed, or given back
}

var (
	_ chunk.Grant   = (*Grant)(nil)
	_ chunk.Growing = (*Grant)(nil)
)

// poison shows padding that a writer forgot, as in package coherence.
const poison = 0xDB

// open maps what was granted.
func (g *Grant) open(given noderpc.Granted) error {
	if given.Class != coherence.Coherent && g.space.options.Lines == nil {
		return fmt.Errorf("%w: region %d is on an %v fabric and this process has nothing to flush with", coherence.ErrConfig, given.Extent.Region, given.Class)
	}
	window, err := g.space.view.Window(given.Range)
	if err != nil {
		return err
	}
	g.given, g.window = given, window
	g.writer = coherence.NewWriterCore(given.Class, given.Extent.Generation, given.Range)
	if given.Class == coherence.IncoherentHomeSnoop {
		g.staged = make([]byte, given.Range.Length)
	}
	return nil
}

// store brings what is staged into the window.
func (g *Grant) store() {
	if g.staged != nil {
		copy(g.window.Bytes(), g.staged)
	}
}

// Bytes implements chunk.Grant; nil after Clean and Abort. Another slice after Grow.
func (g *Grant) Bytes() []byte {
	switch {
	case g.window == nil:
		return nil
	case g.staged != nil:
		return g.staged
	}
	return g.window.Bytes()
}

// Range implements chunk.Grant.
func (g *Grant) Range() memregion.Range { return g.writer.Range() }

// Generation implements chunk.Grant.
func (g *Grant) Generation() coherence.Generation { return g.given.Extent.Generation }

// Shrink implements chunk.Grant. The lender hears of it with the seal: until then the tail is unused.
func (g *Grant) Shrink(length int64) error {
	if length%memregion.PageSize != 0 {
		return fmt.Errorf("%w: %d bytes are no whole pages", coherence.ErrInput, length)
	}
	list, err := g.writer.Shrink(length)
	if err != nil {
		return err
	}
	g.space.flusher.DoAll(list, g.given.Range, g.window.Bytes()) // R3
	if err := g.window.Shrink(length); err != nil {
		return err
	}
	if g.staged != nil {
		g.staged = g.staged[:length:length]
	}
	r := g.writer.Range()
	r.Length = length
	g.writer.Shrunk(r)
	return nil
}

// Copy implements chunk.Grant.
func (g *Grant) Copy(at int64, from []byte) (near bool, err error) {
	bytes := g.Bytes()
	if bytes == nil || at < 0 || at > int64(len(bytes)) || int64(len(from)) > int64(len(bytes))-at {
		return false, fmt.Errorf("%w: copy of %d bytes to offset %d of generation %d, which has %d", coherence.ErrInput, len(from), at, g.Generation(), len(bytes))
	}
	if g.staged != nil {
		copy(g.staged[at:], from)
		return true, nil
	}
	return coherence.CopyInto(&g.writer, g.space.options.Chooser, g.space.options.Counters, bytes, at, from), nil
}

// Grow implements chunk.Growing.
func (g *Grant) Grow(length, used int64) error {
	// Only what the writer stored must be in memory before the lender reads it; the grant stays a writer's (R3).
	stored := coherence.NewWriterCore(g.given.Class, g.Generation(), g.Range())
	list, err := stored.Clean()
	if err != nil || g.over || !g.writer.Writing() {
		return errors.Join(err, fmt.Errorf("%w: generation %d is not being written", coherence.ErrOrder, g.Generation()))
	}
	s := g.space
	g.store()
	s.flusher.DoAll(list, g.given.Range, g.window.Bytes())
	request := noderpc.ReallocateRequest{Extent: g.given.Extent, Size: length, Used: used, Ticket: noderpc.NewTicket()}
	given, err := s.lender.Reallocate(s.ctx, request)
	if err != nil {
		s.unheard(request.Ticket, err)
		return err
	}
	longer := &Grant{space: s}
	if err := longer.open(given); err != nil {
		s.Owe(given.Extent)
		return err
	}
	s.flusher.Drop(given.Class, coherence.StepAcquire, longer.window.Bytes()) // what this processor has of memory into which another one copied
	copy(longer.staged, g.staged)
	old := *g
	*g = *longer
	// The old one is given back only now, and not by the lender with the copy: had that answer been lost, this process
	// would have gone on storing into memory of others.
	if err := old.Abort(); err != nil {
		return err
	}
	return nil
}

// Clean implements chunk.Grant: step 3, less its report, which goes with the seal.
func (g *Grant) Clean() error {
	list, err := g.writer.Clean()
	if err != nil {
		return err
	}
	g.store()
	g.staged = nil
	g.space.options.Fault.At(faults.BorrowWritten)
	if err := g.close(list); err != nil {
		return err
	}
	g.space.options.Counters.Cleans.Add(1)
	g.space.options.Fault.At(faults.BorrowCleaned)
	return nil
}

// close flushes and unmaps (R1).
func (g *Grant) close(list []coherence.Action) error {
	if g.window == nil {
		return nil
	}
	window := g.window
	g.window = nil
	g.space.flusher.DoAll(list, g.given.Range, window.Bytes())
	return window.Close()
}

// Seal implements chunk.Grant.
func (g *Grant) Seal(seal coherence.Seal) error {
	if g.over || g.writer.Writing() {
		return fmt.Errorf("%w: generation %d is not clean, or over", coherence.ErrOrder, g.Generation())
	}
	s := g.space
	err := s.lender.Seal(s.ctx, noderpc.SealRequest{Extent: g.given.Extent, Keep: g.Range().Length, Seal: seal})
	if err != nil {
		return err // Abort follows
	}
	g.over = true
	s.options.Fault.At(faults.BorrowSealed)
	s.options.Counters.Seals.Add(1)
	s.options.Counters.SealedBytes.Add(uint64(seal.Length))
	return nil
}

// Abort implements chunk.Grant. After Seal or an earlier Abort it does nothing. What the lender did not hear is
// owed: the memory is not this process' any more in any case.
func (g *Grant) Abort() error {
	if g.over {
		return nil
	}
	g.over = true
	var list []coherence.Action
	if g.writer.Writing() {
		var err error
		if list, err = g.writer.Abort(); err != nil {
			return err
		}
	}
	s := g.space
	err := g.close(list)
	// Settling, because a seal may have come further than its answer.
	freed := s.lender.Free(s.ctx, noderpc.FreeRequest{Extents: []catalog.ExtentID{g.given.Extent}, Settling: true})
	s.options.Counters.Aborts.Add(1)
	if !heard(freed) {
		s.Owe(g.given.Extent)
		return err
	}
	return errors.Join(err, freed)
}

// fill marks fresh memory where invariants are checked.
func fill(b []byte) {
	if !invariants.Enabled {
		return
	}
	for i := range b {
		b[i] = poison
	}
}
