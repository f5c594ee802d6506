//go:build !amd64 && !arm64 && !ppc64le

package coherence

// No instruction of this architecture is known to us: NewCPULines returns ErrUnsupported, coherent fabrics work.
func probe() (Features, func(*byte, int, int) int) { return Features{}, nil }

func fenceStore() {}

func fenceFull() {}
