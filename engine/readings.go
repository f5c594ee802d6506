package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/memregion"
)

// Somebody else may alter a region's file at any time, also while a statement reads it (E3). memregion notices it (M12) and cannot say which
// bytes they were; checksums can. So a statement looks twice:
//
//	look ─► acquire ─► load, load, load ─► look ─► rows leave
//	  │        │                             │
//	  │        │                             └ news: every chunk read so far is acquired again, and with it its checksum compared
//	  │        └ the first time, or after news: the checksum is compared
//	  └ news: all that this process has acquired of the region is forgotten
//
// A look is one system call; there is one at every chunk and at every batch of rows. Bytes that are altered and put back between two looks of a
// statement which has read them are not noticed: then the chunk is right whenever it is looked at.

// readings are the chunks that one execution, or one planning, of a statement has read so far. Safe for concurrent use.
type readings struct {
	regions      *regions
	verification Verification
	volume       *volume // of the execution; nil while the statement is planned

	mu     sync.Mutex // guards the rest; above the locks of regions and of the reader
	chunks []reading
	lies   map[memregion.RegionID]int // how many of chunks lie where
	since  uint64                     // alterations that were known before the first of chunks was acquired
	failed error                      // the first chunk that could not be read
}

type reading struct {
	table   string
	number  int
	replica *descriptor.Descriptor // the one that is read
}

// readings are those of the node itself; Session.readings gives a statement's.
func (r *regions) readings() *readings { return &readings{regions: r, verification: r.verification} }

func (s *Session) readings() *readings {
	return &readings{regions: s.engine.regions, verification: s.verification()}
}

// begin forgets what an earlier execution read, and gives what this one will have read. Preconditions: nothing of that is still to be
// handed out.
func (r *readings) begin() *volume {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks, r.lies, r.failed = nil, nil, nil
	r.volume = &volume{}
	return r.volume
}

// note comes before the chunk is acquired, so that nothing is loaded under fewer alterations than since.
func (r *readings) note(table string, number int, replica *descriptor.Descriptor) reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.chunks) == 0 {
		r.since = r.regions.alterations()
	}
	noted := reading{table, number, replica}
	r.chunks = append(r.chunks, noted)
	r.count(replica, 1)
	return noted
}

// drop takes back one note: nothing of the replica was used, because it could not be read.
func (r *readings) drop(noted reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.chunks) - 1; i >= 0; i-- {
		if r.chunks[i] == noted {
			// Not in place: confirm goes through the list without the lock.
			r.chunks = append(slices.Clone(r.chunks[:i]), r.chunks[i+1:]...)
			r.count(noted.replica, -1)
			return
		}
	}
}

// count requires mu.
func (r *readings) count(replica *descriptor.Descriptor, n int) {
	if r.lies == nil {
		r.lies = map[memregion.RegionID]int{}
	}
	for i := range replica.Extents {
		id := replica.Extents[i].Region
		if r.lies[id] += n; r.lies[id] == 0 {
			delete(r.lies, id)
		}
	}
}

// doubtful tells whether somebody was at a region since the first of the chunks was read.
func (r *readings) doubtful() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.chunks) > 0 && r.since != r.regions.alterations()
}

// inRegions lists where the chunks lie.
func (r *readings) inRegions() []memregion.RegionID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.lies))
}

// fail notes that a chunk could not be read.
func (r *readings) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// blame gives the reason for which a statement failed: err, unless chunks are damaged that it has read. DuckDB may say that it was interrupted
// when another thread could not read a chunk; and altered bytes are good for any error, such as a number out of range.
func (r *readings) blame(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	if failed != nil {
		return failed
	}
	if damaged := r.confirm(ctx); damaged != nil && ctx.Err() == nil {
		return damaged
	}
	return err
}

// confirm is the second look: nil means that what was loaded of the chunks so far is what was sealed.
func (r *readings) confirm(ctx context.Context) error {
	r.mu.Lock()
	chunks, since := r.chunks, r.since
	r.mu.Unlock()
	if len(chunks) == 0 {
		return nil
	}
	now := r.regions.look()
	if now == since {
		return nil
	}
	for _, c := range chunks {
		if err := r.regions.acquire(ctx, c.replica, r.verification); err != nil {
			if ctx.Err() != nil {
				return err
			}
			if nobody := unasked(err); nobody != nil {
				return nobody
			}
			return &DamagedError{Table: c.table, Chunk: c.number, Node: r.regions.nodeOf(c.replica), Cause: err, Used: true, explain: r.regions.explain}
		}
	}
	// Chunks that were noted meanwhile were acquired after the look, and so under no fewer alterations than now.
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = now
	return nil
}
