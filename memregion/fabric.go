package memregion

import (
	"fmt"
	"strconv"
	"strings"
)

// What a fabric is; the layers above ask these and never compare kinds.

// Known reports whether this version has the fabric.
func (k FabricKind) Known() bool {
	if k.device() {
		return true
	}
	kind, _, err := ParseFabric(string(k))
	return err == nil && kind == k
}

// Durable reports whether bytes survive a power failure once Sync has returned.
func (k FabricKind) Durable() bool { return k == FabricFile }

// EndsWithBoot reports whether no byte outlives the boot of the machine, whatever is synced.
func (k FabricKind) EndsWithBoot() bool { return !k.Durable() && !k.device() }

// HardwareCoherent reports whether every process that maps the region sees a store without a write-back or an
// invalidation of caches: all processes of shm and file share one machine's page cache. So do those of a device without
// a property.
func (k FabricKind) HardwareCoherent() bool {
	return k == FabricShm || k == FabricFile || k == FabricDevice
}

// HomeSnooped reports, of a fabric that is not coherent, whether a borrower's load is answered by the lender's cache if
// the line is there, and that its write-back goes past that cache.
func (k FabricKind) HomeSnooped() bool {
	return (k.emulated() || k.device()) && strings.Contains(string(k), optionHomeSnoop)
}

// emulated reports whether caches are played by the processes that map the region.
func (k FabricKind) emulated() bool {
	return k == FabricEmulated || strings.HasPrefix(string(k), string(FabricEmulated)+",")
}

// lineBytes is what such a cache fetches at once.
func (k FabricKind) lineBytes() int64 {
	if strings.HasSuffix(string(k), optionLongLines) {
		return 128
	}
	return 64
}

// The options of the emulated fabric, in the order in which a kind has them.
const (
	optionHomeSnoop = ",home-snoop"
	optionLongLines = ",128"
)

// ParseFabric reads what an operator writes: a kind, of which the emulated one may have a seed for its adversary,
// the property home-snoop, and the length of its lines, 64 or 128:
//
//	shm    file    emulated    emulated:7    emulated:7,home-snoop,128    device:/dev/dax0.0@2GiB,incoherent
//
// ParseDevice says where on a device; the kind only has its property.
//
// The seed is not a part of the kind: processes that map the same region may have different ones. It is 1 where
// none is given. Errors: ErrBadSpec.
func ParseFabric(text string) (kind FabricKind, seed uint64, err error) {
	const defaultSeed = 1
	if _, ok, err := ParseDevice(text); ok {
		return deviceKind(text), defaultSeed, err
	}
	words := strings.Split(text, ",")
	name, number, seeded := strings.Cut(words[0], ":")
	kind, seed = FabricKind(name), defaultSeed
	if kind != FabricEmulated {
		if (kind == FabricShm || kind == FabricFile) && !seeded && len(words) == 1 {
			return kind, seed, nil
		}
		return "", 0, fmt.Errorf("memregion: fabric %q: %w: it is none of shm, file, device:PATH[@OFFSET][,incoherent|,home-snoop], emulated[:SEED][,home-snoop][,64|128]", text, ErrBadSpec)
	}
	if seeded {
		if seed, err = strconv.ParseUint(number, 10, 64); err != nil {
			return "", 0, fmt.Errorf("memregion: fabric %q: %w: the seed %q is no number", text, ErrBadSpec, number)
		}
	}
	long, snooped := false, false
	for _, word := range words[1:] {
		switch word {
		case "home-snoop":
			snooped = true
		case "128":
			long = true
		case "64":
		default:
			return "", 0, fmt.Errorf("memregion: fabric %q: %w: %q is none of home-snoop, 64, 128", text, ErrBadSpec, word)
		}
	}
	if snooped {
		kind += optionHomeSnoop
	}
	if long {
		kind += optionLongLines
	}
	return kind, seed, nil
}
