package memregion

import "fmt"

// Sizes that the whole product agrees on, in bytes.
const (
	// PageSize is the alignment and the granularity of an extent.
	PageSize = 4096
	// LineSize is the alignment of a buffer inside an extent: two 64-byte cache lines, because the adjacent-line
	// prefetcher of many CPUs fetches pairs, and one line of POWER.
	LineSize = 128
	// Granule is the alignment of a region's base address and of its capacity in address space.
	Granule = 1 << 30
)

// RegionID names a region for ever; the catalog hands it out.
type RegionID uint64

// Addr is a virtual address that means the same byte in every process that maps the region at its planned base.
type Addr uint64

// Range is a piece of one region: bytes [Offset, Offset+Length) counted from the region's start.
type Range struct {
	Offset int64
	Length int64
}

// End is the first byte after the range.
func (r Range) End() int64 { return r.Offset + r.Length }

// Contains reports whether o lies wholly inside r. It is safe for hostile values: nothing overflows.
func (r Range) Contains(o Range) bool {
	return o.Offset >= r.Offset && o.Length >= 0 && o.Length <= r.Length && o.Offset-r.Offset <= r.Length-o.Length
}

func (r Range) String() string { return fmt.Sprintf("[%#x,+%d)", r.Offset, r.Length) }

// FabricKind says how a region's bytes reach another process.
type FabricKind string

// The fabrics of this version.
const (
	// FabricShm is a tmpfs file: fast, survives a killed process, gone after a reboot.
	FabricShm FabricKind = "shm"
	// FabricFile is a file on a disk: msync makes it survive a power failure.
	FabricFile FabricKind = "file"
	// FabricEmulated is a tmpfs file that each domain sees through a cache of its own, which is not kept coherent: for
	// tests of what runs on incoherent memory. Kinds with options begin with it, see ParseFabric. Package emulated says
	// how it behaves.
	FabricEmulated FabricKind = "emulated"
	// FabricDevice is a range of a device that is there already, see ParseDevice. Kinds with a property begin with it.
	FabricDevice FabricKind = "device"
)

// Spec is all another process needs to know to map a region; the catalog keeps one per region.
type Spec struct {
	ID       RegionID
	Base     Addr  // planned address, Granule-aligned, the same in every process
	Capacity int64 // hard cap in bytes, PageSize-aligned
	Fabric   FabricKind
	Path     string // the backing file, or the device
	Start    int64  // where in a device the region begins; 0 on other fabrics
	BootID   string // the boot the backing belongs to; meaningless for FabricFile and devices
}
