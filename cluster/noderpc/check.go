package noderpc

import (
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/memregion"
)

// What follows looks at what a peer sent before anything else does (N5). Each returns what is wrong in the words of the
// peer that has to mend it; the callers say whose fault it is.

// The window of the address plan; memregion checks it again before it maps.
const (
	windowStart memregion.Addr = 0x1000_0000_0000
	windowEnd   memregion.Addr = 0x5000_0000_0000
)

// checkLabel is for the names that we make ourselves: they stand in logs and on terminals as they are.
func checkLabel(what, s string) error {
	if strings.IndexFunc(s, unicode.IsControl) >= 0 {
		return fmt.Errorf("%s %q has control characters", what, s)
	}
	return checkText(what, s, maxNameBytes)
}

// checkText is for what users name and describe: SQL allows every character in a quoted name.
func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%s has %d bytes, %d are allowed", what, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %q is not UTF-8", what, s)
	}
	return nil
}

func checkFilePath(what, path string) error {
	switch {
	case len(path) > maxPathBytes:
		return fmt.Errorf("%s has %d bytes, %d are allowed", what, len(path), maxPathBytes)
	case strings.IndexByte(path, 0) >= 0:
		return fmt.Errorf("%s %q has a zero byte", what, path)
	case !filepath.IsAbs(path):
		return fmt.Errorf("%s %q is not absolute: the node's working directory is not the caller's", what, path)
	}
	return nil
}

func checkTTL(ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return fmt.Errorf("the lease's time %v is not between %v and %v", ttl, MinTTL, MaxTTL)
	}
	return nil
}

func checkSpec(s memregion.Spec) error {
	switch {
	case s.Base%memregion.Granule != 0 || s.Base < windowStart || s.Base >= windowEnd:
		return fmt.Errorf("base %#x is no multiple of 1 GiB between %#x and %#x", s.Base, windowStart, windowEnd)
	case s.Capacity <= 0 || s.Capacity%memregion.PageSize != 0 || s.Capacity > int64(windowEnd-s.Base):
		return fmt.Errorf("capacity %d at %#x is no positive multiple of %d below %#x", s.Capacity, s.Base, memregion.PageSize, windowEnd)
	case !s.Fabric.Known():
		return fmt.Errorf("fabric %q is not known here", s.Fabric)
	case s.Start < 0 || s.Start%memregion.PageSize != 0 || s.Start > math.MaxInt64-s.Capacity:
		return fmt.Errorf("start %d is no multiple of %d within a device", s.Start, memregion.PageSize)
	}
	if err := checkLabel("boot", s.BootID); err != nil {
		return err
	}
	return checkFilePath("path", s.Path)
}

// checkSpecs also sees to it that no two regions would be mapped over each other.
func checkSpecs(specs []memregion.Spec) error {
	if len(specs) > maxRegions {
		return fmt.Errorf("%d regions, %d are allowed", len(specs), maxRegions)
	}
	seen := map[memregion.RegionID]bool{}
	for _, s := range specs {
		if err := checkSpec(s); err != nil {
			return fmt.Errorf("region %d: %w", s.ID, err)
		}
		if seen[s.ID] {
			return fmt.Errorf("region %d is there twice", s.ID)
		}
		seen[s.ID] = true
	}
	ordered := slices.Clone(specs)
	slices.SortFunc(ordered, func(a, b memregion.Spec) int {
		if a.Base < b.Base {
			return -1
		}
		return 1
	})
	for i := 1; i < len(ordered); i++ {
		below, above := ordered[i-1], ordered[i]
		if below.Base+memregion.Addr(below.Capacity) > above.Base {
			return fmt.Errorf("regions %d and %d overlap at %#x", below.ID, above.ID, above.Base)
		}
	}
	return nil
}

func checkFrontend(f Frontend) error {
	if f.SocketDirectory != "" {
		if err := checkFilePath("frontend's directory", f.SocketDirectory); err != nil {
			return err
		}
	}
	if f.Address == "" {
		return nil
	}
	if err := checkLabel("frontend's address", f.Address); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(f.Address); err != nil {
		return fmt.Errorf("frontend's address %q is no host:port", f.Address)
	}
	return nil
}

func checkHolder(h catalog.Holder) error {
	if err := checkLabel("domain", string(h.Domain)); err != nil {
		return err
	}
	if err := checkText("description", h.Description, maxTextBytes); err != nil {
		return err
	}
	if h.MaxAge < 0 {
		return fmt.Errorf("an age of %v is negative", h.MaxAge)
	}
	if h.TTL == 0 {
		return nil
	}
	return checkTTL(h.TTL)
}

// check is done by the client, for an early error, and by the server, because the client may be another's.
func (r *LoadRequest) check() error {
	for _, err := range []error{
		checkText("schema", r.Table.Schema, maxNameBytes),
		checkText("table", r.Table.Name, maxNameBytes),
		checkText("format", r.Format, maxNameBytes),
		checkText("placement", r.Options.Placement, maxTextBytes),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case r.Table.Name == "":
		return fmt.Errorf("no table is named")
	case len(r.Files) == 0:
		return fmt.Errorf("no file is named")
	case len(r.Files) > maxFiles:
		return fmt.Errorf("%d files are named, %d are allowed in one load", len(r.Files), maxFiles)
	case r.Options.Mode < LoadCreate || r.Options.Mode > LoadAppend:
		return fmt.Errorf("load mode %d is none of create, replace, append", r.Options.Mode)
	case !slices.Contains([]string{"", FormatParquet, FormatCSV, FormatArrow}, r.Format):
		return fmt.Errorf("format %q is none of %s, %s, %s", r.Format, FormatParquet, FormatCSV, FormatArrow)
	case r.Options.Replicas < 0 || r.Options.Replicas > maxReplicas:
		return fmt.Errorf("%d replicas are asked for, at most %d can be", r.Options.Replicas, maxReplicas)
	case len(r.Options.Parameters) > maxParameters:
		return fmt.Errorf("%d parameters, %d are allowed", len(r.Options.Parameters), maxParameters)
	}
	for _, file := range r.Files {
		if err := checkFilePath("file", file); err != nil {
			return err
		}
	}
	for name, value := range r.Options.Parameters {
		if err := checkText("parameter", name, maxNameBytes); err != nil {
			return err
		}
		if len(value) > maxTextBytes || !utf8.ValidString(value) { // a delimiter may well be a control character
			return fmt.Errorf("parameter %q is longer than %d bytes, or not UTF-8", name, maxTextBytes)
		}
	}
	return nil
}

func (r TPCHRequest) check() error {
	if !(r.ScaleFactor > 0) || r.ScaleFactor > maxScaleFactor { // not above 0 is NaN, too
		return fmt.Errorf("scale factor %v is not above 0 and at most %d", r.ScaleFactor, maxScaleFactor)
	}
	if err := checkText("placement", r.Placement, maxTextBytes); err != nil {
		return err
	}
	if r.Replicas < 0 || r.Replicas > maxReplicas {
		return fmt.Errorf("%d replicas are asked for, at most %d can be", r.Replicas, maxReplicas)
	}
	return checkText("schema", r.Schema, maxNameBytes)
}
