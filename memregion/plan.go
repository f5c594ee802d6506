package memregion

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/bytesize"
)

// The address plan: regions of all nodes lie in one window, so that an address means the same byte everywhere.
const (
	windowStart Addr = 0x1000_0000_0000
	windowEnd   Addr = 0x5000_0000_0000
	// quietStart begins the part of the window that is tried first. Since Go 1.26 the heap starts at a random address,
	// on amd64 anywhere below 0x4000_0000_0000, so a region planned there would now and then meet a heap. Above lies
	// nothing: position-independent programs start at 0x5500_0000_0000. The race detector's shadow (0x2000…, 0x3000…)
	// is below, too.
	quietStart Addr = 0x4000_0000_0000
)

// Placement is a stretch of address space that a region occupies or may occupy.
type Placement struct {
	Base   Addr
	Length int64
}

func (p Placement) end() Addr { return p.Base + Addr(p.Length) }

func (p Placement) overlaps(o Placement) bool { return p.Base < o.end() && o.Base < p.end() }

// ChooseBase returns a Granule-aligned base for a region of the capacity. The same seed, taken and process image
// give the same base; different seeds spread, so that nodes which plan without knowing each other seldom collide.
// It avoids taken and whatever this process has mapped. Errors: ErrBadSize, ErrNoAddress.
func ChooseBase(taken []Placement, capacity int64, seed string) (Addr, error) {
	if capacity <= 0 || capacity > int64(windowEnd-windowStart) {
		return 0, fmt.Errorf("memregion: choose a base for %d bytes: %w: must be 1 to %d", capacity, ErrBadSize, windowEnd-windowStart)
	}
	busy, err := occupied()
	if err != nil {
		return 0, err
	}
	for _, p := range taken {
		busy = append(busy, occupant{Placement: p, name: "taken"})
	}
	length := (capacity + Granule - 1) / Granule * Granule
	for _, window := range []Placement{{quietStart, int64(windowEnd - quietStart)}, {windowStart, int64(windowEnd - windowStart)}} {
		if base, ok := firstGap(busy, window, length, seed); ok {
			return base, nil
		}
	}
	return 0, fmt.Errorf("memregion: choose a base for %s: %w between %#x and %#x", bytesize.Text(capacity), ErrNoAddress, windowStart, windowEnd)
}

// firstGap walks the window granule by granule from where the seed says, wraps around once, and jumps over what is
// busy.
func firstGap(busy []occupant, window Placement, length int64, seed string) (Addr, bool) {
	slots := (window.Length-length)/Granule + 1 // possible bases
	if window.Length < length {
		return 0, false
	}
	hash := fnv.New64a()
	hash.Write([]byte(seed)) // never fails
	start := int64(hash.Sum64() % uint64(slots))
	for walked := int64(0); walked < slots; {
		slot := (start + walked) % slots
		candidate := Placement{window.Base + Addr(slot*Granule), length}
		blocker := conflict(busy, candidate)
		if blocker == nil {
			return candidate.Base, true
		}
		past := int64(blocker.end()-window.Base+Granule-1) / Granule // first slot after the blocker
		walked += max(1, min(past, slots)-slot)
	}
	return 0, false
}

// conflict is the busy range that ends highest of those which overlap p, or nil.
func conflict(busy []occupant, p Placement) *occupant {
	var found *occupant
	for i := range busy {
		if busy[i].overlaps(p) && (found == nil || busy[i].end() > found.end()) {
			found = &busy[i]
		}
	}
	return found
}

// occupant is a mapped range of this process and what /proc calls it.
type occupant struct {
	Placement
	name string
}

// occupied lists what this process has mapped.
func occupied() ([]occupant, error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("memregion: list mapped ranges: %w", err)
	}
	return parseMaps(text), nil
}

// parseMaps reads lines such as `7f00-7f20 rw-p 00000000 00:00 0    [heap]`; lines it cannot read it skips.
func parseMaps(text []byte) []occupant {
	var busy []occupant
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 5 {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(low, 16, 64)
		end, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil || end < start {
			continue
		}
		name := "anonymous memory"
		if len(fields) > 5 {
			name = strings.Join(fields[5:], " ")
		}
		busy = append(busy, occupant{Placement{Addr(start), int64(end - start)}, name})
	}
	return busy
}

// addressTakenError names the mapping that is in the way (M8).
func addressTakenError(spec Spec) error {
	want := Placement{spec.Base, spec.Capacity}
	text := "an unknown mapping"
	if busy, err := occupied(); err == nil {
		if i := slices.IndexFunc(busy, func(o occupant) bool { return o.overlaps(want) }); i >= 0 {
			text = fmt.Sprintf("%s at %#x–%#x", busy[i].name, busy[i].Base, busy[i].end())
		}
	}
	return fmt.Errorf("memregion: map region %d at %#x–%#x: %w: %s is there", spec.ID, want.Base, want.end(), ErrAddressTaken, text)
}

// validate rejects a spec that comes damaged from outside before the kernel sees it.
func (s Spec) validate() error {
	problem := ""
	switch {
	case s.Base%Granule != 0 || s.Base < windowStart || s.Base >= windowEnd:
		problem = fmt.Sprintf("base %#x is not a multiple of 1 GiB between %#x and %#x", s.Base, windowStart, windowEnd)
	case s.Capacity <= 0 || s.Capacity%PageSize != 0:
		problem = fmt.Sprintf("capacity %d is not a positive multiple of %d", s.Capacity, PageSize)
	case s.Capacity > int64(windowEnd-s.Base):
		problem = fmt.Sprintf("capacity %s at %#x ends past %#x", bytesize.Text(s.Capacity), s.Base, windowEnd)
	case !s.Fabric.Known():
		problem = fmt.Sprintf("fabric %q is not one of %q, %q, %q, %q", s.Fabric, FabricShm, FabricFile, FabricDevice, FabricEmulated)
	case s.Start < 0 || s.Start%PageSize != 0 || s.Start > math.MaxInt64-s.Capacity || s.Start > 0 && !s.Fabric.device():
		problem = fmt.Sprintf("a region on fabric %s cannot begin at %d", s.Fabric, s.Start)
	case s.Path == "" || strings.ContainsRune(s.Path, 0):
		problem = fmt.Sprintf("path %q cannot name a file", s.Path)
	}
	if problem == "" {
		return nil
	}
	return fmt.Errorf("memregion: region %d: %w: %s", s.ID, ErrBadSpec, problem)
}

// BootID is the kernel's name of the current boot. A shm region of another boot is gone.
func BootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("memregion: read the boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// minimumDefaultCapacity is the least that DefaultCapacity calls sensible.
const minimumDefaultCapacity = 16 << 20

// DefaultCapacity proposes a hard cap for a region in dir: half of what the file system has free, at most half of
// the memory that this process may use (the machine's, or its control group's if that is less), in whole MiB.
func DefaultCapacity(dir string) (int64, error) {
	_, free, err := fabricSpace(dir)
	if err != nil {
		return 0, err
	}
	memory, err := MemoryLimit()
	if err != nil {
		return 0, err
	}
	capacity := min(free, memory) / 2 / (1 << 20) * (1 << 20)
	if capacity < minimumDefaultCapacity {
		return 0, fmt.Errorf("memregion: plan a region in %s: %w: only %s are free there: choose another directory or free some space",
			dir, ErrRegionTooLarge, bytesize.Text(free))
	}
	return capacity, nil
}

// CheckCapacity returns ErrRegionTooLarge when a region of the capacity can never fit the file system of dir. Space
// that is merely in use now is no error here: it is one at allocation, if it still is in use then.
func CheckCapacity(dir string, capacity int64) error {
	total, _, err := fabricSpace(dir)
	if err != nil {
		return err
	}
	if total == 0 || capacity <= total { // 0: a tmpfs without limit
		return nil
	}
	return fmt.Errorf("memregion: %w: it would have %s, and %s has %s: pass --region with at most %s, or another directory",
		ErrRegionTooLarge, bytesize.Text(capacity), dir, bytesize.Text(total), bytesize.Text(total))
}

// fabricSpace is the size of dir's file system and what of it is free to us, in bytes.
func fabricSpace(dir string) (total, free int64, err error) {
	var fs unix.Statfs_t
	for {
		if err = unix.Statfs(dir, &fs); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("memregion: ask for the space of %s: %w", dir, err)
	}
	unit := int64(fs.Bsize)
	total, free = int64(fs.Blocks)*unit, int64(fs.Bavail)*unit
	if total == 0 {
		free = int64(windowEnd - windowStart) // a tmpfs without limit: memory decides
	}
	return total, free, nil
}

// MemoryLimit is the machine's memory, or the smallest limit of the control groups (version 2) that this process is in,
// in bytes.
func MemoryLimit() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("memregion: ask for the machine's memory: %w", err)
	}
	limit := int64(uint64(info.Totalram) * uint64(info.Unit))
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return limit, nil // no control groups here
	}
	for line := range strings.Lines(string(groups)) {
		group, found := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for found {
			limit = min(limit, groupLimit(group, limit))
			if group == "/" || group == "." {
				break
			}
			group = filepath.Dir(group)
		}
	}
	return limit, nil
}

func groupLimit(group string, otherwise int64) int64 {
	text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "memory.max"))
	if err != nil {
		return otherwise
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is not a number
	if err != nil {
		return otherwise
	}
	return limit
}
