package memregion

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/internal/filelock"
)

// A device is memory that exists already, has a fixed size, and is shared by every process that can open it: a DAX
// device, a ThymesisFlow window (/dev/mishmem-*), a PCI BAR (resource2, resource2_wc), or a file that stands for one. A
// region is a range of it:
//
//	/dev/dax0.0   ├──── region 1 of node a ────┼── region 1025 of node b ──┼───── unowned ──────┤
//	              Start                        Start
//
// So nothing is created, grown or removed. A lender locks its range and not the file (M7). Alterations are not noticed:
// other lenders have the device open to write their own ranges.

// The properties of devices, of which a kind has at most one.
const (
	optionIncoherent = ",incoherent"
)

// DevicePlace is which device a region is to lie on, and where.
type DevicePlace struct {
	Path  string // absolute
	Start int64  // bytes; negative: wherever there is room
}

// ParseDevice reads what an operator writes for a fabric that is a device:
//
//	device:PATH[@OFFSET][,incoherent|,home-snoop]
//
// OFFSET is in bytes, or has a suffix KiB, MiB, GiB. Without a property all processes that map the device have coherent
// caches: processes of one machine. For others ok is false. Errors: ErrBadSpec.
func ParseDevice(text string) (place DevicePlace, ok bool, err error) {
	rest, ok := strings.CutPrefix(text, string(FabricDevice)+":")
	if !ok {
		return place, false, nil
	}
	bad := func(format string, args ...any) (DevicePlace, bool, error) {
		return DevicePlace{}, true, fmt.Errorf("memregion: fabric %q: %w: %s", text, ErrBadSpec, fmt.Sprintf(format, args...))
	}
	for _, property := range []string{optionIncoherent, optionHomeSnoop} {
		rest = strings.TrimSuffix(rest, property)
	}
	place = DevicePlace{Path: rest, Start: -1}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		place.Path = rest[:at]
		if place.Start, err = parseOffset(rest[at+1:]); err != nil {
			return bad("the offset %q: %v", rest[at+1:], err)
		}
	}
	if !filepath.IsAbs(place.Path) {
		return bad("the device's path %q is not absolute", place.Path)
	}
	return place, true, nil
}

func parseOffset(text string) (int64, error) {
	unit := int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if number, found := strings.CutSuffix(text, suffix); found {
			text, unit = strings.TrimSpace(number), size
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0, errors.New("it is no number of bytes, KiB, MiB or GiB")
	case n < 0 || n > math.MaxInt64/unit || n*unit%PageSize != 0:
		return 0, fmt.Errorf("it is no multiple of %d", PageSize)
	}
	return n * unit, nil
}

// deviceKind is the kind that the text of a device's fabric has.
func deviceKind(text string) FabricKind {
	for _, property := range []string{optionIncoherent, optionHomeSnoop} {
		if strings.HasSuffix(text, property) {
			return FabricDevice + FabricKind(property)
		}
	}
	return FabricDevice
}

// FabricText is what an operator writes for the fabric of a region, without the seed of an emulated one.
func (s Spec) FabricText() string {
	if !s.Fabric.device() {
		return string(s.Fabric)
	}
	property := strings.TrimPrefix(string(s.Fabric), string(FabricDevice))
	return fmt.Sprintf("%s:%s@%d%s", FabricDevice, s.Path, s.Start, property)
}

// Fixed reports whether a region cannot become larger than it was made: what lies behind it may be another lender's.
func (k FabricKind) Fixed() bool { return k.device() }

// device reports whether regions are ranges of something that exists already.
func (k FabricKind) device() bool {
	return k == FabricDevice || k == FabricDevice+optionIncoherent || k == FabricDevice+optionHomeSnoop
}

// DeviceSize asks how many bytes a device has, and by how many it is mapped: where a region begins on it, and how long
// it is, is a multiple of unit, which is a power of two and at least PageSize. Errors: ErrUnsupported for what cannot
// be mapped.
func DeviceSize(path string) (size, unit int64, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("memregion: open the device: %w", err)
	}
	defer file.Close() // read only
	if size, err = deviceSize(file); err == nil {
		unit, err = deviceUnit(file)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("memregion: ask for the size of %s: %w", path, err)
	}
	return size, unit, nil
}

// deviceUnit is the length of the pages of a device: the kernel's, but DAX devices, and files of huge pages, have
// larger ones, and of those the kernel maps, unmaps and protects no parts.
func deviceUnit(file *os.File) (int64, error) {
	page := max(int64(os.Getpagesize()), PageSize)
	st, err := status(file)
	if err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		var system unix.Statfs_t
		err := filelock.Control(file, func(fd int) error { return unix.Fstatfs(fd, &system) })
		if err == nil && system.Type == unix.HUGETLBFS_MAGIC {
			page = max(page, system.Bsize)
		}
		return page, err
	case unix.S_IFCHR:
		text, err := os.ReadFile(fmt.Sprintf("/sys/dev/char/%d:%d/align", unix.Major(st.Rdev), unix.Minor(st.Rdev)))
		if errors.Is(err, os.ErrNotExist) { // not DAX, or a kernel before 5.10
			return page, nil
		}
		if err != nil {
			return 0, err
		}
		align, err := strconv.ParseInt(strings.TrimSpace(string(text)), 0, 64)
		if err == nil && (align <= 0 || align&(align-1) != 0) {
			err = fmt.Errorf("%w: it has pages of %d bytes", ErrUnsupported, align)
		}
		return max(page, align), err
	}
	return page, nil
}

// unit is by how many bytes the kernel maps file.
func (s Spec) unit(file *os.File) (int64, error) {
	if !s.Fabric.device() {
		return int64(os.Getpagesize()), nil
	}
	unit, err := deviceUnit(file)
	if err != nil {
		return 0, fmt.Errorf("memregion: region %d: ask for the pages of %s: %w", s.ID, s.Path, err)
	}
	if s.Start%unit != 0 || s.Capacity%unit != 0 {
		return 0, fmt.Errorf("memregion: region %d: %w: %s has pages of %s, so a region's offset and size must be multiples of that, which %d and %d are not",
			s.ID, ErrBadSpec, s.Path, bytesize.Text(unit), s.Start, s.Capacity)
	}
	return unit, nil
}

// deviceSize asks a file (a PCI BAR is one, in sysfs) or a disk itself, and sysfs for other devices.
func deviceSize(file *os.File) (size int64, err error) {
	st, err := status(file)
	if err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return st.Size, nil
	case unix.S_IFBLK:
		err = filelock.Control(file, func(fd int) error {
			n, err := unix.IoctlGetInt(fd, unix.BLKGETSIZE64)
			size = int64(n)
			return err
		})
		return size, err
	case unix.S_IFCHR:
		name := fmt.Sprintf("/sys/dev/char/%d:%d/size", unix.Major(st.Rdev), unix.Minor(st.Rdev))
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, fmt.Errorf("%w: the kernel does not say its size: %w", ErrUnsupported, err)
		}
		return strconv.ParseInt(strings.TrimSpace(string(text)), 0, 64)
	}
	return 0, fmt.Errorf("%w: it is neither a file nor a device", ErrUnsupported)
}

// status is fstat of a region's backing, with the size that the region has of it.
func (s Spec) status(file *os.File) (unix.Stat_t, error) {
	st, err := status(file)
	if err != nil || !s.Fabric.device() {
		return st, err
	}
	size, err := deviceSize(file)
	st.Size = min(max(size-s.Start, 0), s.Capacity)
	return st, err
}

// openDevice opens a device, of which a lender then locks its range.
func openDevice(spec Spec, flags int) (*os.File, error) {
	file, err := os.OpenFile(spec.Path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV) {
		return nil, fmt.Errorf("memregion: region %d: %w: device %s is not there", spec.ID, ErrRegionGone, spec.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("memregion: region %d: open device: %w", spec.ID, err)
	}
	size, err := deviceSize(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("memregion: region %d: ask for the size of %s: %w", spec.ID, spec.Path, err), file.Close())
	}
	if spec.Start > size-spec.Capacity && flags != os.O_RDONLY {
		err := fmt.Errorf("memregion: region %d: %w: %s from %s on do not fit device %s, which has %s", spec.ID, ErrRegionTooLarge,
			bytesize.Text(spec.Capacity), bytesize.Text(spec.Start), spec.Path, bytesize.Text(size))
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// lockRange makes us the only lender of a range of the device until the descriptor is closed, be it by the kernel after
// SIGKILL (M7). Other machines' locks are not seen: there the catalog, in which ranges may not overlap, is what keeps
// lenders apart.
func lockRange(file *os.File, spec Spec) error {
	err := filelock.TakeRange(file, spec.Start, spec.Capacity)
	if errors.Is(err, filelock.ErrTaken) {
		return fmt.Errorf("memregion: region %d: %w: bytes [%d, %d) of %s, or some of them, are locked", spec.ID, ErrLentElsewhere,
			spec.Start, spec.Start+spec.Capacity, spec.Path)
	}
	if err != nil {
		return fmt.Errorf("memregion: region %d: lock a range of %s: %w", spec.ID, spec.Path, err)
	}
	return nil
}

// deviceBacking is of a device that is no file: all of its memory is there.
type deviceBacking struct{}

func (deviceBacking) reserve(Range) error { return nil }
func (deviceBacking) punch(Range) error   { return nil }

// backingOf is what reserves memory for a region.
func backingOf(file *os.File, spec Spec, watch *watch) (backing, error) {
	if spec.Fabric.device() {
		st, err := status(file)
		if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			return deviceBacking{}, err
		}
		if strings.HasPrefix(spec.Path, "/sys/") { // a PCI BAR
			return deviceBacking{}, nil
		}
	}
	return fileBacking{file, watch, spec.Start}, nil
}

// discard ends a backing that was not lent yet, and removes what was created for it.
func (s Spec) discard(file *os.File) error {
	if s.Fabric.device() {
		return filelock.Give(file)
	}
	return errors.Join(filelock.Give(file), os.Remove(s.Path))
}
