package facts

import (
	"context"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/memregion"
)

// Located is where one chunk lies.
type Located struct {
	Rows   int64              // that are stored
	Dead   int64              // of them: deleted
	Bytes  int64              // of one replica
	First  catalog.ExtentID   // of the first replica; zero if the chunk has no bytes
	Others []catalog.ExtentID // of each other one
}

// Living is how many of the rows are the table's.
func (l *Located) Living() int64 { return l.Rows - l.Dead }

// Replicas is how many there are.
func (l *Located) Replicas() int { return 1 + len(l.Others) }

// Extent is the first of replica i.
func (l *Located) Extent(i int) catalog.ExtentID {
	if i == 0 {
		return l.First
	}
	return l.Others[i-1]
}

// locate fills in chunks and regions. Preconditions: f.mu is held.
func (f *Facts) locate(ctx context.Context) error {
	if f.regions != nil {
		return nil
	}
	chunks, regions := []Located{}, map[memregion.RegionID]bool{}
	for _, ref := range f.Version.Pages() {
		headers, err := f.Version.PageExtents(ctx, ref)
		if err != nil {
			return err
		}
		for _, h := range headers {
			gone, err := f.Version.Deleted(ctx, len(chunks))
			if err != nil {
				return err
			}
			l := Located{Rows: h.Rows, Dead: gone.Count()}
			for i, x := range h.Extents {
				l.Bytes += x.Range.Length
				if i == 0 {
					l.First = x.ExtentID
				}
			}
			for _, other := range h.Others {
				l.Others = append(l.Others, other[0].ExtentID)
			}
			for x := range h.All() {
				regions[x.Region] = true
			}
			chunks = append(chunks, l)
		}
	}
	f.chunks, f.regions = chunks, regions
	return nil
}

// Regions are the regions in which there are chunks, as far as Chunks was called for them.
func (f *Facts) Regions() []memregion.RegionID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.regions))
}

// Chunks are where the chunks of a version lie.
func (c *Cache) Chunks(ctx context.Context, v *catalog.TableVersion) ([]Located, error) {
	f := c.Of(v)
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.regions != nil
	if err := f.locate(ctx); err != nil || known {
		return f.chunks, err
	}
	bytes := int64(0)
	for i := range f.chunks {
		bytes += locatedBytes + locatedReplica*int64(len(f.chunks[i].Others))
	}
	c.grew(f, bytes)
	return f.chunks, nil
}
