package thesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Allocated is Table 5.4: sizes at random from 0 to 5000 bytes, granted in this process, and by another one when it is
// asked.
type Allocated struct{ Local, Remote []time.Duration }

// allocations are how many a run makes in each place.
const allocations = 100

// Allocate does Table 5.4.
func (w *World) Allocate(ctx context.Context) (a Allocated, err error) {
	random := rand.New(rand.NewPCG(5, 4))
	home := w.local.homes[homeOf(coherence.Coherent)]
	for range w.setting.Runs {
		sizes := make([]int64, allocations)
		for i := range sizes {
			sizes[i] = 1 + random.Int64N(5000) // an empty extent is not granted
		}
		var grants []*coherence.Grant
		var local, remote []memregion.Range
		var given []noderpc.Granted
		for _, size := range sizes {
			begin := time.Now()
			g, err := home.Grant("bench", home.Domain(), size)
			a.Local = append(a.Local, time.Since(begin))
			if err != nil {
				return a, err
			}
			grants, local = append(grants, g), append(local, g.Range())

			begin = time.Now()
			r, err := w.client.Grant(ctx, grantOf(homeOf(coherence.Coherent), size))
			a.Remote = append(a.Remote, time.Since(begin))
			if err != nil {
				return a, err
			}
			given, remote = append(given, r), append(remote, r.Range)
		}
		err := errors.Join(w.checkRanges(local, sizes), w.checkRanges(remote, sizes))
		for _, g := range grants {
			err = errors.Join(err, g.Abort())
		}
		for _, g := range given {
			err = errors.Join(err, w.client.Free(ctx, noderpc.FreeRequest{Extents: extents(g)}))
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// checkRanges checks that every extent is long enough and that no two overlap (TH1).
func (w *World) checkRanges(ranges []memregion.Range, sizes []int64) error {
	for i, r := range ranges {
		if r.Length < sizes[i] {
			return fmt.Errorf("%d bytes were wanted and %v was given", sizes[i], r)
		}
	}
	if w.setting.InjectFault {
		ranges[0] = ranges[1]
	}
	return Disjoint(ranges)
}

// Disjoint is an error if two ranges overlap.
func Disjoint(ranges []memregion.Range) error {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b memregion.Range) int { return int(a.Offset - b.Offset) })
	for i := range sorted[1:] {
		if sorted[i].End() > sorted[i+1].Offset {
			return fmt.Errorf("%v and %v overlap", sorted[i], sorted[i+1])
		}
	}
	return nil
}
