package member

import (
	"cmp"
	"os"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Several lenders may share a device. The catalog has all their regions, and where each lies; a new one is put beside
// them.

// deviceOf reads which device a node's fabric is; nil: none.
func deviceOf(text memregion.FabricKind) (*memregion.DevicePlace, error) {
	place, ok, err := memregion.ParseDevice(string(text))
	if !ok || err != nil {
		return nil, err
	}
	return &place, nil
}

// roomOn finds a range of a device of size bytes for a region of capacity bytes (0: as many as there are) beside
// those that are taken. It is whole pages of the device, which have unit bytes: a capacity is rounded up.
func roomOn(place memregion.DevicePlace, size, unit, capacity int64,
	taken []catalog.RegionRecord) (start, length int64, err error) {
	taken = slices.DeleteFunc(slices.Clone(taken), func(r catalog.RegionRecord) bool { return !sameDevice(r.Path, place.Path) })
	slices.SortFunc(taken, func(a, b catalog.RegionRecord) int { return cmp.Compare(a.Start, b.Start) })
	end, capacity := size/unit*unit, (capacity+unit-1)/unit*unit
	if place.Start > 0 && place.Start%unit != 0 {
		return 0, 0, sqlerror.New("22023", "byte %d of device %s is within one of its pages, which have %d bytes", place.Start, place.Path, unit)
	}
	if place.Start > end-unit {
		return 0, 0, sqlerror.New("22023", "byte %d is not on device %s, which has %d", place.Start, place.Path, size)
	}
	free := int64(0) // from here on, up to the next region
	for i := range len(taken) + 1 {
		next := end
		if i < len(taken) {
			next = taken[i].Start
		}
		start := max(free, place.Start)
		switch room := next - start; {
		case start >= next: // nothing, or it lies before the place
		case room >= capacity && (place.Start < 0 || start == place.Start):
			return start, cmp.Or(capacity, room), nil
		case place.Start >= 0 && i < len(taken):
			return 0, 0, inTheWay(place, taken[i])
		case place.Start >= 0:
			return 0, 0, sqlerror.New("53200", "device %s ends %d bytes after byte %d: a region of %d does not fit", place.Path, room, place.Start, capacity)
		}
		if i < len(taken) {
			if free = taken[i].Start + taken[i].Capacity; place.Start >= taken[i].Start && place.Start < free {
				return 0, 0, inTheWay(place, taken[i])
			}
		}
	}
	return 0, 0, sqlerror.New("53200", "device %s has no room for a region of %d bytes beside the %d that lie there", place.Path, capacity, len(taken)).
		WithHint("Ask for a smaller one with --region.")
}

func inTheWay(place memregion.DevicePlace, r catalog.RegionRecord) error {
	return sqlerror.New("55006", "bytes %d to %d of device %s are region %d of node %q", r.Start, r.Start+r.Capacity-1, place.Path, r.ID, r.Node).
		WithHint("Leave the offset out, to have the region put where there is room, or ask for a smaller one with --region.")
}

// sameDevice reports whether two names are of one device, also through links.
func sameDevice(a, b string) bool {
	if a == b {
		return true
	}
	first, err := os.Stat(a)
	second, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(first, second)
}

// liesThere refuses a device, or an offset, other than that of the node's region: nothing moves there by itself.
func liesThere(f fabric.Fabric, r catalog.RegionRecord) error {
	if f.Device == nil || sameDevice(r.Path, f.Device.Path) && (f.Device.Start < 0 || f.Device.Start == r.Start) {
		return nil
	}
	return sqlerror.New("55000", "region %d of this node lies on device %s from byte %d on", r.ID, r.Path, r.Start).
		WithHint("Start the node with --fabric " + r.FabricText() + ", or another one with a data directory of its own.")
}
