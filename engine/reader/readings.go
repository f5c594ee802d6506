package reader

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/memregion"
)

// Another process may alter a region's file at any time, also while a statement reads it (E3). memregion notices it
// (M12) and cannot say which bytes they were; checksums can. So a statement looks twice:
//
//	look ─► acquire ─► load, load, load ─► look ─► rows leave
//	  │        │                             │
//	  │        │                             └ news: every chunk read so far is acquired again, and with it its checksum compared
//	  │        └ the first time, or after news: the checksum is compared
//	  └ news: all that this process has acquired of the region is forgotten
//
// A look is one system call; there is one at every chunk and at every batch of rows. Bytes that are altered and put
// back between two looks of a statement which has read them are not noticed: then the chunk is right whenever it is
// looked at.

// Readings are the chunks that one execution, or one planning, of a statement has read so far. Safe for concurrent use.
type Readings struct {
	reader       *Reader
	verification Verification
	// leasedElsewhere: what is read lies under another node's lease, which may be over before this process hears of it.
	leasedElsewhere bool
	volume          *Volume // of the execution; nil while the statement is planned

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

// Readings are none yet. v says when what will be read is compared; it is not laxer than the Reader's own.
func (r *Reader) Readings(v Verification) *Readings { return &Readings{reader: r, verification: v} }

// LeasedElsewhere says whether they are a part of another node's statement, whose lease is the only one.
func (r *Readings) LeasedElsewhere(yes bool) *Readings {
	r.leasedElsewhere = yes
	return r
}

// Volume is what the execution has read so far; nil while the statement is planned.
func (r *Readings) Volume() *Volume { return r.volume }

// Begin forgets what an earlier execution read, and gives what this one will have read. Preconditions: nothing of
// that is still to be handed out.
func (r *Readings) Begin() *Volume {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks, r.lies, r.failed = nil, nil, nil
	r.volume = &Volume{}
	return r.volume
}

// note comes before the chunk is acquired, so that nothing is loaded under fewer alterations than since.
func (r *Readings) note(table string, number int, replica *descriptor.Descriptor) reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.chunks) == 0 {
		r.since = r.reader.alterations()
	}
	noted := reading{table, number, replica}
	r.chunks = append(r.chunks, noted)
	r.count(replica, 1)
	return noted
}

// drop takes back one note: nothing of the replica was used, because it could not be read.
func (r *Readings) drop(noted reading) {
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
func (r *Readings) count(replica *descriptor.Descriptor, n int) {
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

// doubtful reports whether another process was at a region since the first of the chunks was read.
func (r *Readings) doubtful() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.chunks) > 0 && r.since != r.reader.alterations()
}

// InRegions lists where the chunks lie.
func (r *Readings) InRegions() []memregion.RegionID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.lies))
}

// fail notes that a chunk could not be read.
func (r *Readings) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// Blame gives the reason for which a statement failed: err, unless chunks are damaged that it has read. DuckDB may say
// that it was interrupted
// when another thread could not read a chunk; and altered bytes are good for any error, such as a number out of range.
func (r *Readings) Blame(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	if failed != nil {
		return failed
	}
	if damaged := r.Confirm(ctx); damaged != nil && ctx.Err() == nil {
		return damaged
	}
	return err
}

// Confirm is the second look: nil means that what was loaded of the chunks so far is what was sealed.
func (r *Readings) Confirm(ctx context.Context) error {
	r.mu.Lock()
	chunks, since := r.chunks, r.since
	r.mu.Unlock()
	if len(chunks) == 0 {
		return nil
	}
	now := r.reader.look()
	if now == since {
		return nil
	}
	for _, c := range chunks {
		if err := r.reader.acquire(ctx, c.replica, r.verification); err != nil {
			if ctx.Err() != nil {
				return err
			}
			if cause := unanswered(err); cause != nil {
				return cause
			}
			return &DamagedError{Table: c.table, Chunk: c.number, Node: r.reader.NodeOf(c.replica), Cause: err, Used: true, explain: r.reader.config.Explain}
		}
	}
	// Chunks that were noted meanwhile were acquired after the look, and so under no fewer alterations than now.
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = now
	return nil
}
