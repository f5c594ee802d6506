package memregion

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/filelock"
	"github.com/csmsql/csmsql/memregion/emulated"
)

// On a fabric whose caches are emulated, a process maps its domain's cache of the region, and package emulated moves
// lines between that and the region's file. The cache is two files beside it, so that it outlives the process as a real
// one does: what its programs see, and the shadow, by which modified lines are recognized. They are as long as the
// region may become, and have holes where nothing was ever fetched: a new cache is full of zeros, whatever the memory
// holds.
//
//	csmsql-…-1.region            the memory
//	csmsql-…-1.region.cache      the lender's cache of it, and .shadow
//	csmsql-…-1.region.n2.cache   the cache of the domain n2, and .shadow

// cached is a process' way to its domain's cache of one region.
type cached struct {
	play   *emulated.Cache // nil in a guest, whose domain's process does it
	pages  *os.File        // what is mapped for programs
	shadow *os.File        // nil in a guest
	heap   []byte          // in race builds: what is used in the place of pages
	maps   [][]byte        // to be unmapped
	// temporary files are removed in the end.
	temporary bool
}

// Domain is the machine that this process is a part of, on fabrics whose caches are emulated. A lender and a
// borrower give it along; on other fabrics it is nil.
type Domain struct {
	name      string
	play      *emulated.Domain // nil in a guest
	temporary bool             // its caches end with this process
}

// NewDomain is a domain of which this process is the only one that flushes: a node. The seed is the adversary's. It is
// nil where caches are real.
func NewDomain(kind FabricKind, name string, seed uint64) *Domain {
	if !kind.emulated() {
		return nil
	}
	return &Domain{name: name, play: emulated.NewDomain(name, seed)}
}

// TemporaryDomain is a domain that ends with this process: its caches are removed when they are closed.
func TemporaryDomain(kind FabricKind, name string, seed uint64) *Domain {
	d := NewDomain(kind, name, seed)
	if d != nil {
		d.temporary = true
	}
	return d
}

// GuestDomain is a domain of which this process only maps the caches: another process keeps them right, and this one
// flushes nothing. It is nil where caches are real. In race builds, in which caches are not shared, it is a domain of
// its own.
func GuestDomain(kind FabricKind, name string) *Domain {
	switch {
	case !kind.emulated():
		return nil
	case heapCaches:
		return TemporaryDomain(kind, fmt.Sprintf("%s-guest-%d", name, os.Getpid()), uint64(os.Getpid()))
	}
	return &Domain{name: name}
}

// Lines is the domain's processor; nil in a guest.
func (d *Domain) Lines() *emulated.Domain { return d.play }

// cachePath names a domain's cache. What follows the region's own name in it cannot be a region's name.
func cachePath(spec Spec, domain string, home bool) string {
	if home {
		return spec.Path + cacheSuffix
	}
	return spec.Path + "." + url.PathEscape(domain) + cacheSuffix
}

const (
	cacheSuffix  = ".cache"
	shadowSuffix = ".shadow"
)

// removeCaches forgets what domains have cached of a region that is over, or that is about to begin.
func removeCaches(spec Spec) error {
	if !spec.Fabric.emulated() {
		return nil
	}
	caches, err := cachesOf(spec.Path)
	if err != nil {
		return err
	}
	var failed error
	for _, path := range caches {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// cachesOf lists the files of all domains' caches of a region.
func cachesOf(region string) (paths []string, err error) {
	names, err := os.ReadDir(filepath.Dir(region))
	for _, entry := range names {
		path := filepath.Join(filepath.Dir(region), entry.Name())
		if strings.HasPrefix(path, region+".") && (strings.HasSuffix(path, cacheSuffix) || strings.HasSuffix(path, cacheSuffix+shadowSuffix)) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// openCached opens the domain's cache of a region, or makes one. home says that this is the lender's domain. It is nil
// where the caches are real.
func openCached(memory *os.File, spec Spec, domain *Domain, home bool) (c *cached, err error) {
	if !spec.Fabric.emulated() {
		return nil, nil
	}
	if domain == nil {
		return nil, fmt.Errorf("memregion: region %d: %w: on fabric %s a process must say which domain it belongs to", spec.ID, ErrBadSpec, spec.Fabric)
	}
	c = &cached{temporary: domain.temporary}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("memregion: region %d: the emulated cache of domain %q: %w", spec.ID, domain.name, err), c.close())
			c = nil
		}
	}()
	home = home && !domain.temporary
	path := cachePath(spec, domain.name, home)
	if c.pages, err = openCache(path, spec.Capacity); err != nil {
		return c, err
	}
	if domain.play == nil {
		return c, nil
	}
	if c.shadow, err = openCache(path+shadowSuffix, spec.Capacity+emulated.IntentBytes); err != nil {
		return c, err
	}
	return c, c.attach(memory, spec, domain, home)
}

func openCache(path string, size int64) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := status(file)
	if err == nil && st.Size < size { // also when the region has grown
		err = file.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// attach maps what the play works on. It has maps of its own, that can be written: the program's may be protected.
func (c *cached) attach(memory *os.File, spec Spec, domain *Domain, home bool) error {
	o := emulated.Options{Line: spec.Fabric.lineBytes(), Size: func() int64 {
		st, err := status(memory)
		if err != nil {
			return 0
		}
		return min(st.Size, spec.Capacity)
	}}
	var err error
	if heapCaches {
		c.heap = make([]byte, spec.Capacity)
		o.Copy, o.Shadow = c.heap, make([]byte, spec.Capacity+emulated.IntentBytes)
	} else if o.Copy, err = c.mapFile(c.pages, spec.Capacity, true); err != nil {
		return err
	} else if o.Shadow, err = c.mapFile(c.shadow, spec.Capacity+emulated.IntentBytes, true); err != nil {
		return err
	}
	if o.Memory, err = c.mapFile(memory, spec.Capacity, true); err != nil {
		return err
	}
	if spec.Fabric.HomeSnooped() && !home && !heapCaches {
		lenders, err := openCache(cachePath(spec, "", true), spec.Capacity)
		if err != nil {
			return err
		}
		defer lenders.Close() // its map stays
		if o.Home, err = c.mapFile(lenders, spec.Capacity, false); err != nil {
			return err
		}
	}
	c.play = domain.play.Attach(o)
	if heapCaches {
		return nil
	}
	return c.findLeft()
}

func (c *cached) mapFile(file *os.File, length int64, writable bool) (memory []byte, err error) {
	protection := unix.PROT_READ
	if writable {
		protection |= unix.PROT_WRITE
	}
	err = filelock.Control(file, func(fd int) error {
		memory, err = unix.Mmap(fd, 0, int(length), protection, unix.MAP_SHARED)
		return err
	})
	if err == nil {
		c.maps = append(c.maps, memory)
	}
	return memory, err
}

// findLeft looks for lines that a former process of the domain has modified. It skips holes, which were never stored
// into.
func (c *cached) findLeft() error {
	const piece = 1 << 16
	ours, theirs := make([]byte, piece), make([]byte, piece)
	st, err := status(c.pages)
	if err != nil {
		return err
	}
	for at := int64(0); at < st.Size; {
		data, err := c.pages.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil
		}
		if err != nil {
			return err
		}
		hole, err := c.pages.Seek(data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		for at = data; at < hole; at += piece {
			n := min(piece, hole-at)
			if err := errors.Join(readAt(c.pages, ours[:n], at), readAt(c.shadow, theirs[:n], at)); err != nil {
				return err
			}
			for page := int64(0); page < n; page += PageSize {
				end := min(page+PageSize, n)
				if !bytes.Equal(ours[page:end], theirs[page:end]) {
					c.play.Left(at+page, end-page)
				}
			}
		}
		at = hole
	}
	return nil
}

// readAt fills b; what lies past the file's end was never stored into.
func readAt(file *os.File, b []byte, at int64) error {
	n, err := file.ReadAt(b, at)
	clear(b[n:])
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// onHeap is where programs have the cache in race builds; nil elsewhere.
func (c *cached) onHeap() []byte {
	if c == nil {
		return nil
	}
	return c.heap
}

// show informs the play where programs map the region from start on. Call hide before that is unmapped.
func (c *cached) show(memory []byte, start int64) (hide func()) {
	if c == nil || c.play == nil {
		return func() {}
	}
	return c.play.Show(memory, start)
}

// zeroed is what the lender's kernel does to pages before they are lent; open is what writing of another lender's
// begins with.
func (c *cached) zeroed(r Range) {
	if c != nil && c.play != nil {
		c.play.Zeroed(r.Offset, r.Length)
	}
}

func (c *cached) open(r Range) {
	if c != nil && c.play != nil {
		c.play.Open(r.Offset, r.Length)
	}
}

// close ends it; what is cached stays.
func (c *cached) close() (err error) {
	if c == nil {
		return nil
	}
	if c.play != nil {
		c.play.Detach()
	}
	for _, memory := range c.maps {
		err = errors.Join(err, unix.Munmap(memory))
	}
	c.maps = nil
	for _, file := range []*os.File{c.pages, c.shadow} {
		if file != nil && c.temporary {
			_ = os.Remove(file.Name()) // the region may be gone, and all caches of it
		}
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// cachedBacking is a region's file with the lender's cache of it: what is reserved can be stored into, and what is
// punched takes no memory.
type cachedBacking struct {
	fileBacking
	cached *cached
}

func (b cachedBacking) reserve(r Range) error {
	if err := b.fileBacking.reserve(r); err != nil {
		return err
	}
	return b.each(0, r)
}

func (b cachedBacking) punch(r Range) error {
	if err := b.fileBacking.punch(r); err != nil {
		return err
	}
	return b.each(punchMode, r)
}

func (b cachedBacking) each(mode uint32, r Range) error {
	if b.cached.heap != nil {
		return nil
	}
	return b.cached.play.During(func() error {
		straight := func(call func() error) error { return call() }
		return errors.Join(fallocate(b.cached.pages, mode, r, straight), fallocate(b.cached.shadow, mode, r, straight))
	})
}
