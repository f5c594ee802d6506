package reader

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// DamagedError says that bytes of a sealed chunk are not there or not what was sealed.
type DamagedError struct {
	Table string
	Chunk int
	Node  string
	Cause error
	// Replicas is in how many places the chunk is to be found; in none of them could it be read. 0 is 1.
	Replicas int
	// Used: rows of it may have been handed out before the damage was noticed.
	Used bool
	// explain says what else is lost of the table, and whether it can be rebuilt; nil: nothing is known of it. It may
	// look at the catalog.
	explain func(*DamagedError) Loss
	Region  memregion.RegionID // where it lies; 0: nowhere
}

func (e *DamagedError) Error() string {
	switch gone := errors.Is(e.Cause, catalog.ErrLenderGone); {
	case gone && e.Replicas > 1:
		return fmt.Sprintf("chunk %d of table %s lies on nodes %s, none of which is there", e.Chunk, e.Table, e.Node)
	case gone:
		return fmt.Sprintf("chunk %d of table %s lies on node %s, which is not there", e.Chunk, e.Table, e.Node)
	}
	return fmt.Sprintf("chunk %d of table %s on node %s is damaged: %v", e.Chunk, e.Table, e.Node, e.Cause)
}

// Unwrap gives the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }

// SQLState is XX001, data_corrupted, or 58030, io_error, when the backing went away.
func (e *DamagedError) SQLState() string {
	if errors.Is(e.Cause, catalog.ErrLenderGone) {
		return catalog.ErrLenderGone.SQLState()
	}
	if errors.Is(e.Cause, memregion.ErrRegionGone) || errors.Is(e.Cause, memregion.ErrRegionShort) {
		return "58030"
	}
	return "XX001"
}

// Detail says which chunks of the table can be read nowhere.
func (e *DamagedError) Detail() string {
	if e.explain == nil {
		return ""
	}
	return e.explain(e).Detail
}

// Hint says what to do.
func (e *DamagedError) Hint() string {
	reload := ""
	if e.explain != nil {
		reload = e.explain(e).Reload
	}
	if reload != "" && e.Used {
		return "It was altered while it was read: no row of this result can be trusted. " + reload + " Or restore the region's file."
	}
	if reload != "" {
		return reload
	}
	if errors.Is(e.Cause, catalog.ErrLenderGone) {
		if e.Replicas > 1 {
			return "Start one of them again: its tables come back with it. Other tables can be asked meanwhile."
		}
		return fmt.Sprintf("Start node %s again: its tables come back with it. Other tables can be asked meanwhile. A table with replicas = 2 can do without a node.", e.Node)
	}
	if e.Used {
		return "It was altered while it was read: no row of this result can be trusted. Load the table again from its source, or restore the region's file."
	}
	return "No row of the chunk was used. Load the table again from its source, or restore the region's file."
}

// Loss is what can be said of chunks that can be read nowhere.
type Loss struct {
	Detail string // which they are
	Reload string // how they come back; empty: they have no source on record
}

// damageMax bounds how many damaged extents are remembered.
const damageMax = 4096

// Damage is what this process found damaged. A damaged replica of a chunk that has others is tried last, and rebuilt
// (see repair); other chunks are rebuilt from where their rows came (see reload). Safe for concurrent use.
type Damage struct {
	log   *slog.Logger
	count atomic.Int64 // replicas that could not be read where another was

	mu      sync.Mutex // guards the rest; leaf lock
	extents map[catalog.ExtentID]catalog.TableName
	any     atomic.Bool // there are extents; without the lock
}

// note remembers a replica that could not be read, and says so once. others: there are some to be read instead.
func (d *Damage) note(one *descriptor.Descriptor, err *DamagedError, others bool) {
	if others {
		d.count.Add(1)
	}
	if !IsChecksum(err.Cause) || len(one.Extents) == 0 {
		return // its node is not there, or not yet
	}
	schema, name, _ := strings.Cut(err.Table, ".")
	d.mu.Lock()
	defer d.mu.Unlock()
	id := one.Extents[0].ExtentID
	if _, known := d.extents[id]; known {
		return
	}
	if len(d.extents) >= damageMax {
		clear(d.extents)
	}
	if d.extents == nil {
		d.extents = map[catalog.ExtentID]catalog.TableName{}
	}
	d.extents[id] = catalog.TableName{Schema: schema, Name: name}
	d.any.Store(true)
	if d.log != nil && others {
		d.log.Warn("a replica is damaged; another one is read", "table", err.Table, "chunk", err.Chunk, "node", err.Node, "error", err.Cause)
	}
}

// IsChecksum reports whether bytes were found that are not what was sealed.
func IsChecksum(err error) bool { return errors.Is(err, coherence.ErrChecksum) }

// Has reports whether the replica whose first extent that is is damaged.
func (d *Damage) Has(first catalog.ExtentID) bool {
	if !d.any.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, damaged := d.extents[first]
	return damaged
}

// Tables are those of which a replica is damaged.
func (d *Damage) Tables() map[catalog.TableName]bool {
	if !d.any.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	names := map[catalog.TableName]bool{}
	for name := range maps.Values(d.extents) {
		names[name] = true
	}
	return names
}

// Found counts what was noted.
func (d *Damage) Found() int {
	if !d.any.Load() {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.extents)
}

// PassedOver counts the replicas that could not be read where another was.
func (d *Damage) PassedOver() int64 { return d.count.Load() }

// Any reports, without a lock, whether anything was noted.
func (d *Damage) Any() bool { return d.any.Load() }
