package thesis

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/zeebo/xxh3"
)

// Flushed is Table 5.2: how long it takes to flush a table whose lines were flushed before (empty) and all of whose
// bytes were stored just now (touched).
type Flushed struct {
	Place          string
	Empty, Touched []time.Duration
	Lines          int // of one flush
}

// Flush does Table 5.2.
func (w *World) Flush(ctx context.Context) (list []Flushed, err error) {
	places, err := w.places(ctx, w.setting.Bytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, freeAll(places)) }()
	n := int(w.setting.Bytes / 8)
	list = make([]Flushed, len(places))
	for run := range w.setting.Runs {
		for k := range places {
			i := (k + run) % len(places)
			p, f := places[i], &list[i]
			f.Place = p.name
			storeAll(p.bytes, 64, n, 1)
			if w.setting.InjectFault {
				p.bytes[len(p.bytes)/2]++
			}
			flush := func() {
				w.lines.FenceStore()
				f.Lines = w.lines.Flush(p.bytes)
				w.lines.FenceFull()
			}
			f.Touched = append(f.Touched, quietly(flush))
			f.Empty = append(f.Empty, quietly(flush))
			if want := len(p.bytes) / w.lines.LineSize(); f.Lines != want {
				return nil, fmt.Errorf("%s: %d lines were flushed, there are %d", p.name, f.Lines, want)
			}
			if got, want := totalAll(p.bytes, 64, n, 1), expectedTotal(uint64(n), 64); got != want {
				return nil, wrong("flushing "+p.name+" memory", got, want)
			}
		}
	}
	return list, ctx.Err()
}

// Width is one point of Figure 5.2.
type Width struct {
	Place   string
	Write   bool
	Bits    int
	Threads int
	Times   []time.Duration
	Bytes   int64
	// Published is their GiB/s; 0: they have no such point.
	Published float64
}

// Rate is the median in GiB/s.
func (p Width) Rate() float64 { return rate(p.Bytes, p.Times) }

func rate(bytes int64, times []time.Duration) float64 {
	return float64(bytes) / (1 << 30) / median(times).Seconds()
}

// Widths does Figure 5.2: as many elements of each width as there are of the widest.
func (w *World) Widths(ctx context.Context) (points []Width, err error) {
	places, err := w.places(ctx, w.setting.AccessBytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, freeAll(places)) }()
	n := int(w.setting.AccessBytes / 8)
	for _, threads := range w.setting.Threads {
		w.setting.Say("%d threads", threads)
		for b, bits := range []int{8, 16, 32, 64} {
			for _, p := range places {
				point := Width{Place: p.name, Bits: bits, Threads: threads, Bytes: int64(n) * int64(bits/8)}
				write := point
				write.Write = true
				for range w.setting.Runs {
					write.Times = append(write.Times, quietly(func() { storeAll(p.bytes, bits, n, threads) }))
					if w.setting.InjectFault {
						p.bytes[0]++
					}
					var sum uint64
					point.Times = append(point.Times, quietly(func() { sum = totalAll(p.bytes, bits, n, threads) }))
					if want := expectedTotal(uint64(n), bits); sum != want {
						return nil, wrong(fmt.Sprintf("%s, %d bits, %d threads", p.name, bits, threads), sum, want)
					}
				}
				write.Published = publishedWidths[widthKey{p.name, true, threads}][b]
				point.Published = publishedWidths[widthKey{p.name, false, threads}][b]
				points = append(points, write, point)
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
		}
	}
	return points, nil
}

// Stride is one point of Figure 5.3.
type Stride struct {
	Place  string
	Write  bool
	Stride int // in elements of 64 bits
	Times  []time.Duration
	Bytes  int64
	// Published is their GiB/s.
	Published float64
}

// Rate is the median in GiB/s: of all elements, each of which is accessed once.
func (p Stride) Rate() float64 { return rate(p.Bytes, p.Times) }

// Strides does Figure 5.3, with a thread for each processor, once: the long strides take most of all the time.
func (w *World) Strides(ctx context.Context) (points []Stride, err error) {
	places, err := w.places(ctx, w.setting.AccessBytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, freeAll(places)) }()
	threads := runtime.GOMAXPROCS(0)
	n := int(w.setting.AccessBytes / 8)
	storeAll(places[0].bytes, 64, n, threads)
	want, sum := xxh3.Hash(places[0].bytes), expectedTotal(uint64(n), 64)
	for i := range 12 {
		for _, p := range places {
			point := Stride{Place: p.name, Stride: 1 << i, Bytes: int64(n) * 8}
			write := point
			write.Write = true
			what := fmt.Sprintf("%s, stride %d", p.name, point.Stride)
			w.setting.Say("%s", what)
			clear(p.bytes)
			write.Times = append(write.Times, quietly(func() { storeStrided(words(p.bytes), point.Stride, threads) }))
			if w.setting.InjectFault {
				p.bytes[0]++
			}
			if got := xxh3.Hash(p.bytes); got != want {
				return nil, wrong(what+", writing", got, want)
			}
			var got uint64
			point.Times = append(point.Times, quietly(func() { got = totalStrided(words(p.bytes), point.Stride, threads) }))
			if got != sum {
				return nil, wrong(what+", reading", got, sum)
			}
			write.Published = publishedStrides[strideKey{p.name, true}][i]
			point.Published = publishedStrides[strideKey{p.name, false}][i]
			points = append(points, write, point)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	return points, nil
}
