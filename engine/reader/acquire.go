package reader

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// acquire makes the extents of a chunk's first replica safe to read in this process.
func (r *Reader) acquire(ctx context.Context, d *descriptor.Descriptor, v Verification) error {
	for i := range d.Extents {
		if err := r.AcquireExtent(ctx, &d.Extents[i], v); err != nil {
			return err
		}
	}
	return nil
}

// AcquireExtent compares the checksum as v says, which is not laxer than Config.Verify.
func (r *Reader) AcquireExtent(ctx context.Context, x *descriptor.Extent, v Verification) error {
	m, err := r.Reach(x.Region)
	if err != nil {
		return err
	}
	if err := m.view.Check(x.Range); err != nil {
		return err
	}
	data, err := m.view.Bytes(x.Range)
	if err != nil {
		return err
	}
	compared := false
	compare := func() error {
		compared = true
		return r.verifyMended(m, x, data)
	}
	var verify func() error
	if v.first(uint64(x.Generation) < m.trusted.Load(), r.invalidateAltered(m), r.config.Fabric.Lines != nil) {
		verify = compare
	}
	if r.config.SkipChecksums {
		verify = nil
	}
	if r.config.ForDomain != nil {
		own := verify
		verify = func() error {
			if err := r.config.ForDomain(ctx, x); err != nil {
				return err
			}
			if own == nil {
				return nil
			}
			return own()
		}
	}
	if err := r.acquired.Acquire(ctx, x.Region, x.Generation, data, verify); err != nil {
		return err
	}
	once := v == VerifyFirst && r.config.Verification.Laxer(v) && !r.config.SkipChecksums
	if !compared && (v == VerifyAlways || once && !r.comparedOnce.has(x.ExtentID)) { // it was acquired before, or by another goroutine just now
		if err := compare(); err != nil {
			return err
		}
	}
	if once && compared {
		r.comparedOnce.note(x.ExtentID)
	}
	return nil
}

// Unanswered says that the node which acquires for this process could not be asked, or did not answer: nothing is known
// of the bytes.
type Unanswered struct{ Err error }

func (e *Unanswered) Error() string { return e.Err.Error() }

func (e *Unanswered) Unwrap() error { return e.Err }

// unanswered returns the reason if a failed acquire says nothing about the bytes; else nil.
func unanswered(failed error) error {
	var e *Unanswered
	if errors.As(failed, &e) {
		return e.Err
	}
	return nil
}

// Reach gives the mapping of a region whose lender is there, borrowing it on first use.
func (r *Reader) Reach(id memregion.RegionID) (*Region, error) {
	if r.config.Lender != nil {
		if node, there := r.config.Lender(id); !there {
			return nil, fmt.Errorf("%w: region %d of node %q", catalog.ErrLenderGone, id, node)
		}
	}
	if m := r.Find(id); m != nil {
		return m, nil
	}
	if err := r.unmapped(id); r.config.Borrow == nil || r.config.Lost[id] != nil {
		return nil, err
	}
	r.borrowing.Lock()
	defer r.borrowing.Unlock()
	if m := r.Find(id); m != nil {
		return m, nil
	}
	if err := r.config.Borrow(id); err != nil {
		return nil, err
	}
	return r.Find(id), nil
}

func (r *Reader) unmapped(region memregion.RegionID) error {
	if err := r.config.Lost[region]; err != nil {
		return err
	}
	return fmt.Errorf("%w: region %d is not mapped in this process", memregion.ErrRegionGone, region)
}

// verifyMended is verify, but where pages were found gone, and zeros were put in their place in this process alone,
// the file's bytes count if they are there again.
func (r *Reader) verifyMended(m *Region, x *descriptor.Extent, data []byte) error {
	err := r.verify(x, data)
	if err == nil || m.guard.Faults() == 0 {
		return err
	}
	if err := m.view.Remap(x.Range); err != nil {
		return err
	}
	return r.verify(x, data)
}

// verify compares an extent with the checksum it was sealed with.
func (r *Reader) verify(x *descriptor.Extent, data []byte) error {
	r.verified.Add(x.Seal.Length)
	if got := xxh3.Hash(data[:x.Seal.Length]); got != x.Seal.Checksum {
		return fmt.Errorf("%w: extent %v of region %d has checksum %016x, it was sealed with %016x", coherence.ErrChecksum, x.Range, x.Region, got, x.Seal.Checksum)
	}
	return nil
}

func (r *Reader) Resolve(region memregion.RegionID, extent memregion.Range) ([]byte, error) {
	m := r.Find(region)
	if m == nil {
		return nil, r.unmapped(region)
	}
	return m.view.Bytes(extent)
}

// Prefault makes the pages of a chunk's first replica present in this process.
func (r *Reader) Prefault(ctx context.Context, d *descriptor.Descriptor) error {
	for i := range d.Extents {
		m, err := r.Reach(d.Extents[i].Region)
		if err != nil {
			return err
		}
		if err := m.view.Prefault(ctx, d.Extents[i].Range); err != nil {
			return err
		}
	}
	return nil
}

// Drop has this machine's caches forget data.
func (r *Reader) Drop(step coherence.Step, data []byte) {
	coherence.Flusher{Lines: r.config.Fabric.Lines, Counters: &r.counters}.Drop(r.config.Fabric.Class, step, data)
}

// Trusted is the first generation of a region that this process wrote itself and that was not altered since; there is
// none when another process was at the region's file.
func (r *Reader) Trusted(id memregion.RegionID) coherence.Generation {
	m := r.Find(id)
	switch {
	case m == nil:
		return 0
	case r.invalidateAltered(m):
		return math.MaxUint64
	}
	return coherence.Generation(m.trusted.Load())
}
