package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// NewRegionID hands out the number of a region to be made.
func (c *Catalog) NewRegionID(ctx context.Context) (memregion.RegionID, error) {
	id, err := c.newIdentity(ctx)
	return memregion.RegionID(id), err
}

// PutRegion records a region. The high-water mark on record never goes down by it.
func (c *Catalog) PutRegion(ctx context.Context, record RegionRecord) error {
	return c.changeRegion(ctx, record.ID, func(old *RegionRecord) *RegionRecord {
		if old != nil {
			record.Generations = max(record.Generations, old.Generations)
		}
		return &record
	})
}

// AddRegion records a region that make places among those that there are. No other node records one meanwhile: two
// nodes that start at once get different addresses.
func (c *Catalog) AddRegion(ctx context.Context,
	make func(taken []RegionRecord) (RegionRecord, error)) (RegionRecord, error) {
	for {
		var taken []RegionRecord
		revision, err := c.store.Scan(ctx, []string{keys.RegionPrefix}, func(item store.Item) error {
			g, err := decodeRegion(item.Value)
			if err == nil {
				taken = append(taken, *g)
			}
			return err
		})
		if err != nil {
			return RegionRecord{}, fmt.Errorf("add a region: %w", err)
		}
		record, err := make(taken)
		if err != nil {
			return record, err
		}
		_, err = c.store.Commit(ctx, store.Transaction{
			Compares: []store.Compare{
				store.NothingNewer(keys.RegionPrefix, revision), unchanged(keys.Region(record.ID), 0)},
			Puts: []store.Item{{Key: keys.Region(record.ID), Value: record.Encode()}},
		})
		if isConflict(err) {
			continue
		}
		if err != nil {
			return record, fmt.Errorf("add region %d: %w", record.ID, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.regions[record.ID] = &record
		return record, nil
	}
}

// Region finds a region's record.
func (c *Catalog) Region(id memregion.RegionID) (RegionRecord, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.mu.regions[id]; g != nil {
		return *g, true
	}
	return RegionRecord{}, false
}

// ReserveGenerations puts on record that generations below upTo may be used: coherence.HomeConfig asks for it.
func (c *Catalog) ReserveGenerations(ctx context.Context, region memregion.RegionID, upTo coherence.Generation) error {
	return c.changeRegion(ctx, region, func(old *RegionRecord) *RegionRecord {
		if old == nil || old.Generations >= upTo {
			return nil
		}
		next := *old
		next.Generations = upTo
		return &next
	})
}

// DropRegion forgets a region. The caller knows that no chunk lies in it any more.
func (c *Catalog) DropRegion(ctx context.Context, region memregion.RegionID) error {
	if _, err := c.store.Commit(ctx, store.Transaction{Deletes: []string{keys.Region(region)}}); err != nil {
		return fmt.Errorf("drop region %d: %w", region, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.regions, region)
	return nil
}

// changeRegion reads, changes and writes a region's record; another writer in between means to try again.
func (c *Catalog) changeRegion(ctx context.Context, id memregion.RegionID,
	change func(*RegionRecord) *RegionRecord) error {
	for {
		next, err := c.tryRegion(ctx, id, change)
		if isConflict(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("region %d: %w", id, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if next != nil {
			c.mu.regions[id] = next
		}
		return nil
	}
}

func (c *Catalog) tryRegion(ctx context.Context, id memregion.RegionID,
	change func(*RegionRecord) *RegionRecord) (*RegionRecord, error) {
	item, ok, err := c.store.Get(ctx, keys.Region(id))
	if err != nil {
		return nil, err
	}
	var old *RegionRecord
	if ok {
		if old, err = decodeRegion(item.Value); err != nil {
			return nil, err
		}
	}
	next := change(old)
	if next == nil && old == nil {
		return nil, fmt.Errorf("it has no record; PutRegion comes first")
	}
	if next == nil {
		return old, nil
	}
	_, err = c.store.Commit(ctx, store.Transaction{
		Compares: []store.Compare{unchanged(keys.Region(id), item.Revision)},
		Puts:     []store.Item{{Key: keys.Region(id), Value: next.Encode()}},
	})
	return next, err
}

// Regions lists the recorded regions by number.
func (c *Catalog) Regions() []RegionRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]RegionRecord, 0, len(c.mu.regions))
	for _, g := range c.mu.regions {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b RegionRecord) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// LiveExtent is an extent that a current version needs: what a lender adopts when it comes back.
type LiveExtent struct {
	Table TableName
	Chunk int
	Owner string
	descriptor.Extent
}

// LiveExtents visits every extent of every current version, of all replicas, in the order of tables and chunks, and
// then those that only versions have that are kept; each once, whatever shares it. Everything else in the regions was
// never published, or is not needed any more.
func (c *Catalog) LiveExtents(ctx context.Context, visit func(LiveExtent) error) error {
	contents := c.Applied()
	var once map[ExtentID]bool // what was visited, where that may come again
	if len(contents.families()) > 0 {
		once = map[ExtentID]bool{}
	}
	for _, v := range contents.everyVersion() {
		if err := c.liveIn(ctx, v, once, visit); err != nil {
			return err
		}
	}
	return nil
}

func (c *Catalog) liveIn(ctx context.Context, v *TableVersion, once map[ExtentID]bool,
	visit func(LiveExtent) error) error {
	chunk := 0
	for _, ref := range v.Pages() {
		headers, err := v.PageExtents(ctx, ref)
		if err != nil {
			return err
		}
		ids := []ExtentID{}
		for _, h := range headers {
			for x := range h.All() {
				ids = append(ids, x.ExtentID)
				if once[x.ExtentID] {
					continue
				}
				if once != nil {
					once[x.ExtentID] = true
				}
				if err := visit(LiveExtent{v.Table().Name, chunk, h.Owner, *x}); err != nil {
					return err
				}
			}
			chunk++
		}
		c.setExtents(ref.ID, ids)
	}
	return nil
}
