//go:build !amd64 && !arm64 && !ppc64le

package coherence

// Nothing of this architecture is known to us.
func probeCopies() (unit int, stream, through func(to, from *byte, units int), behind func(to, from, flushed *byte, units int)) {
	return 1, nil, nil, nil
}
