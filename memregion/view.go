package memregion

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/bytesize"
)

// View is the read side of a mapped region: of a borrower (Borrow) or of the lender itself (Lent.View). It is safe for
// concurrent use.
type View struct {
	mapping *mapping
	lent    *Lent // the map belongs to it, and Close leaves it alone; nil in a borrower
}

// Borrow maps the region of the spec for reading only (M8): a stray store faults instead of damaging a table. The
// whole capacity is mapped, so what the lender backs later is visible without mapping again. It maps at spec.Base;
// when that is taken in this process it maps elsewhere and Relocated says so, which is fine because nothing in a
// region is an absolute pointer.
//
// The caller owns the View and closes it when no slice of it is in use any more.
// Errors: ErrBadSpec, ErrRegionGone.
func Borrow(spec Spec) (*View, error) { return BorrowIn(nil, false, spec) }

// BorrowIn is Borrow of a process that belongs to a domain, as it must on fabrics whose caches are emulated; on others
// domain is nil. home says that it is the lender's domain, too.
func BorrowIn(domain *Domain, home bool, spec Spec) (*View, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	flags := os.O_RDONLY
	if domain != nil && domain.play != nil {
		flags = os.O_RDWR // its cache writes back
	}
	file, err := openBacking(spec, flags)
	if err != nil {
		return nil, err
	}
	cached, err := openCached(file, spec, domain, home)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	m, err := mapRegion(file, cached, spec, unix.PROT_READ, true, watchKinds(false))
	if err != nil {
		return nil, errors.Join(err, cached.close(), file.Close())
	}
	return &View{mapping: m}, nil
}

// Bytes returns the bytes of r, to be read only, valid until Close. It checks the bounds, and that the backing
// reached to r's end when it was last asked; the kernel is asked only when r lies past that, so the usual call
// costs a few nanoseconds. A backing truncated since is found by Check (one fstat), which belongs before a scan,
// and by Guarded during it. Errors: ErrOutOfRange, ErrRegionShort, ErrRegionGone, ErrClosed.
func (v *View) Bytes(r Range) ([]byte, error) {
	m := v.mapping
	if m.closed.Load() {
		return nil, fmt.Errorf("memregion: region %d: %w", m.spec.ID, ErrClosed)
	}
	if err := m.checkBounds(r); err != nil {
		return nil, err
	}
	if r.End() > m.size.Load() {
		if err := v.Check(r); err != nil {
			return nil, err
		}
	}
	return m.memory[r.Offset:r.End():r.End()], nil
}

// Check asks the kernel whether the backing is still there for r. It costs one fstat, about a microsecond.
// Errors: ErrOutOfRange, ErrRegionShort, ErrRegionGone, ErrClosed.
func (v *View) Check(r Range) error {
	m := v.mapping
	if err := m.checkBounds(r); err != nil {
		return err
	}
	st, err := m.spec.status(m.file)
	if m.closed.Load() {
		return fmt.Errorf("memregion: region %d: %w", m.spec.ID, ErrClosed)
	}
	if err != nil {
		return fmt.Errorf("memregion: region %d: ask for the size of %s: %w", m.spec.ID, m.spec.Path, err)
	}
	m.size.Store(st.Size)
	switch {
	case st.Nlink == 0:
		return fmt.Errorf("memregion: region %d: %w: %s was removed", m.spec.ID, ErrRegionGone, m.spec.Path)
	case st.Size == 0 && r.Length > 0:
		return fmt.Errorf("memregion: region %d: %w: %s was emptied", m.spec.ID, ErrRegionGone, m.spec.Path)
	case r.End() > st.Size:
		return fmt.Errorf("memregion: region %d: %w: %v ends after %s, which has %d bytes", m.spec.ID, ErrRegionShort, r, m.spec.Path, st.Size)
	}
	return nil
}

// Remap maps the pages of r from the file again. It undoes what a guard in C does where a page was gone (it puts
// one of zeros there, which would stay for ever, also when the file is long and right again), and changes nothing
// elsewhere: others may be reading r meanwhile. Preconditions: no writer holds r. Errors: as Check.
func (v *View) Remap(r Range) error {
	if err := v.Check(r); err != nil {
		return err
	}
	if v.lent != nil {
		return v.lent.remap(r)
	}
	return v.mapping.remap(r, unix.PROT_READ)
}

// Look asks the kernel whether the backing was altered by a call that is not the lender's, and returns how often that
// was found so far. What was verified before the number grew must be verified again. It may grow without an alteration,
// see WatchKind. An alteration is counted when the system call that makes it has returned, one through a foreign map
// when that is unmapped (M12). Costs one system call.
func (v *View) Look() (alterations uint64) { return v.mapping.watch.look() }

// Alterations is what the last Look of any caller returned.
func (v *View) Alterations() uint64 { return v.mapping.watch.count.Load() }

// Watch is by what Look notices.
func (v *View) Watch() WatchKind { return v.mapping.watch.kind }

func (m *mapping) checkBounds(r Range) error {
	if whole := (Range{Length: m.spec.Capacity}); !whole.Contains(r) {
		return fmt.Errorf("memregion: region %d: %v: %w of %s", m.spec.ID, r, ErrOutOfRange, bytesize.Text(m.spec.Capacity))
	}
	return nil
}

// Base is where this process has the region, which differs from Spec().Base when Relocated.
func (v *View) Base() Addr { return v.mapping.base }

// Relocated reports whether the planned address was taken.
func (v *View) Relocated() bool { return v.mapping.base != v.mapping.spec.Base }

// Spec is what was borrowed.
func (v *View) Spec() Spec { return v.mapping.spec }

// Mapping is the address range of the whole map, for a guard that must distinguish a fault on a region from another.
func (v *View) Mapping() (addr Addr, length int64) { return v.mapping.base, v.mapping.spec.Capacity }

// Hold keeps the map where it is until release is called, also beyond Close: for bytes that were handed to a reader
// that may outlive the View. Their contents are undefined after Close, since the region may have another lender then.
// Call release once. Errors: ErrClosed.
func (v *View) Hold() (release func() error, err error) {
	if err := v.mapping.hold(); err != nil {
		return nil, err
	}
	return v.mapping.release, nil
}

// Close unmaps, or lets the last holder do it (Hold). Other slices from Bytes must not be touched afterwards. The View
// of a Lent is closed with the Lent; its own Close does nothing. A second Close does nothing.
func (v *View) Close() error {
	if v.lent != nil {
		return nil
	}
	return v.mapping.close()
}
