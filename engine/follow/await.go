package follow

import (
	"context"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
)

// Await implements Source.
func (h *Hub) Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error) {
	var mu sync.Mutex
	var changed []catalog.TableID
	news := make(chan error, 1)
	for id := range seen {
		stop, err := h.Table(id, func(_ *catalog.TableVersion, err error) {
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains(changed, id) {
				changed = append(changed, id)
			}
			place(news, err)
		})
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	now, _, _ := h.contents() // after the watches began: nothing is missed between
	var others []catalog.TableID
	for id, number := range seen {
		if v, ok := now.TableOf(id, catalog.TableName{}); !ok || v.Version() != number {
			others = append(others, id)
		}
	}
	if len(others) > 0 {
		return others, nil
	}
	select {
	case err := <-news:
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(changed), err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// place puts news in their place, if none are there (FW2); the last news, which are why there are no more, in any case.
// One goroutine at a time does it.
func place(news chan error, last error) {
	if last != nil {
		select {
		case <-news:
		default:
		}
	}
	select {
	case news <- last:
	default:
	}
}
