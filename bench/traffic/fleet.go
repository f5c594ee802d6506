package traffic

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// messageBytes is about what a small message has.
	messageBytes = 40
	// idleFor is how long it is counted what nodes send without being asked.
	idleFor = 3 * time.Second
	// quiet is how long nothing has come to a node that has heard of every commit.
	quiet = 100 * time.Millisecond
)

// Fleet is a cluster of which each node has a proxy to etcd, and one at the socket where it is reached.
//
//	node 0: etcd ◄── proxy i ◄── node i ◄── proxy i ◄── other nodes, and who attaches
type Fleet struct {
	directory string
	etcd, rpc []*Proxy
}

// Start starts so many nodes, one after the other, with proxies in a directory: start is given where the node is to say
// that it is, and where it finds etcd (empty: it begins the cluster), and returns where it serves both. Close also what
// has failed to start.
func Start(directory string, size int, start func(i int, address, etcd string) (socket, etcdSocket string, err error)) (*Fleet, error) {
	f := &Fleet{directory: directory}
	first := ""
	for i := range size {
		rpc, err := Listen(f.Socket(i))
		if err != nil {
			return f, err
		}
		etcd := ""
		if f.rpc = append(f.rpc, rpc); i > 0 {
			etcd = filepath.Join(directory, fmt.Sprintf("etcd%d", i))
			p, err := Listen(etcd)
			if err != nil {
				return f, err
			}
			p.SetTarget(first)
			f.etcd = append(f.etcd, p)
		}
		socket, member, err := start(i, f.Socket(i), etcd)
		if err != nil {
			return f, err
		}
		if rpc.SetTarget(socket); i == 0 {
			first = member
		}
	}
	return f, nil
}

// Socket is where a node is reached.
func (f *Fleet) Socket(i int) string { return filepath.Join(f.directory, fmt.Sprintf("rpc%d", i)) }

// Close ends the proxies; the nodes end before.
func (f *Fleet) Close() (err error) {
	for _, p := range slices.Concat(f.etcd, f.rpc) {
		err = errors.Join(err, p.Close())
	}
	return err
}

// sentSoFar is what was sent: of each node but the first to etcd and from it, and between nodes.
type sentSoFar struct {
	etcd []Counts
	rpc  Count
	at   time.Time
}

// count waits until nothing more comes to the nodes, and counts.
func (f *Fleet) count(ctx context.Context) (c sentSoFar, err error) {
	tick := time.NewTicker(quiet / 10)
	defer tick.Stop()
	for _, p := range f.etcd {
		for {
			counts, last := p.Counts()
			if time.Since(last) > quiet {
				c.etcd = append(c.etcd, counts)
				break
			}
			select {
			case <-ctx.Done():
				return c, ctx.Err()
			case <-tick.C:
			}
		}
	}
	for _, p := range f.rpc {
		counts, _ := p.Counts()
		c.rpc = c.rpc.Plus(counts.Both())
	}
	c.at = time.Now()
	return c, nil
}

// sent is how many messages, and bytes of them, there are for each statement, or second.
type sent struct{ messages, bytes float64 }

func (s *sent) add(c Count, n float64) {
	s.messages += float64(c.Messages) / n
	s.bytes += float64(c.Bytes) / n
}

// Figure is what the node that is asked sends and receives, and what etcd sends to each other node, at most.
type Figure struct{ own, each sent }

// between is what was sent from one count to another, divided by n.
func between(a, b sentSoFar, n float64) (f Figure) {
	f.own.add(b.rpc.Minus(a.rpc), n)
	for i := range b.etcd {
		d := b.etcd[i].Minus(a.etcd[i])
		if i == 0 { // of the node that is asked
			f.own.add(d.Both(), n)
			continue
		}
		var one sent
		one.add(d.ToClient, n)
		f.each = sent{max(f.each.messages, one.messages), max(f.each.bytes, one.bytes)}
	}
	return f
}

// less takes away what is sent anyway in a time.
func (f Figure) less(idle Figure, took time.Duration, n float64) Figure {
	share := took.Seconds() / n
	return Figure{
		own:  sent{f.own.messages - share*idle.own.messages, f.own.bytes - share*idle.own.bytes},
		each: sent{f.each.messages - share*idle.each.messages, f.each.bytes - share*idle.each.bytes},
	}
}

// Step is something that is done at the second node, so many times in a run.
type Step struct {
	Name    string
	Times   int
	Commits bool
	Do      func(run int) error
}

// Measure counts what each step sends, in the middle of the runs, and what a second without steps does. The first run is
// not counted. The second node, where steps are done, has no member of etcd.
func (f *Fleet) Measure(ctx context.Context, runs int, steps []Step) (figures []Figure, idle Figure, err error) {
	samples := make([][]Figure, len(steps))
	for run := -1; run < runs; run++ {
		before, err := f.count(ctx)
		if err == nil && run < 0 {
			idle, err = f.idle(ctx, before)
		}
		if err != nil {
			return nil, idle, err
		}
		for s, step := range steps {
			if before, err = f.count(ctx); err != nil {
				return nil, idle, err
			}
			if err := step.Do(run); err != nil {
				return nil, idle, fmt.Errorf("%s: %w", step.Name, err)
			}
			after, err := f.count(ctx)
			if err != nil {
				return nil, idle, err
			}
			if n := float64(step.Times); run >= 0 {
				samples[s] = append(samples[s], between(before, after, n).less(idle, after.at.Sub(before.at), n))
			}
		}
	}
	for _, list := range samples {
		figures = append(figures, medianFigure(list))
	}
	return figures, idle, nil
}

// idle is what is sent in a second without statements.
func (f *Fleet) idle(ctx context.Context, before sentSoFar) (Figure, error) {
	select {
	case <-ctx.Done():
		return Figure{}, ctx.Err()
	case <-time.After(idleFor):
	}
	after, err := f.count(ctx)
	return between(before, after, after.at.Sub(before.at).Seconds()), err
}

func medianFigure(list []Figure) (m Figure) {
	middle := func(of func(f *Figure) *float64) {
		var all []float64
		for i := range list {
			all = append(all, *of(&list[i]))
		}
		slices.Sort(all)
		*of(&m) = all[len(all)/2]
	}
	middle(func(f *Figure) *float64 { return &f.own.messages })
	middle(func(f *Figure) *float64 { return &f.own.bytes })
	middle(func(f *Figure) *float64 { return &f.each.messages })
	middle(func(f *Figure) *float64 { return &f.each.bytes })
	return m
}

// Line is one number in clusters of each size; Wanted: it is to stay as it is.
type Line struct {
	Name   string
	Values []float64
	Wanted bool
}

// unseen is what cannot be distinguished from what nodes send anyway: a few bytes, or a message in many statements.
const unseen = 0.25

// Grown is the ratio of the last value to the first, of which what is unseen counts as equal.
func (l Line) Grown() float64 {
	least := unseen
	if strings.HasSuffix(l.Name, "bytes") {
		least *= messageBytes
	}
	return max(l.Values[len(l.Values)-1], least) / max(l.Values[0], least)
}

// Lines are the numbers of figures, by size and step.
func Lines(steps []Step, figures [][]Figure, idles []Figure) (lines []Line) {
	line := func(name string, wanted bool, of func(i int) float64) {
		l := Line{Name: name, Wanted: wanted}
		for i := range figures {
			l.Values = append(l.Values, of(i))
		}
		lines = append(lines, l)
	}
	for s, step := range steps {
		line(step.Name+", messages", true, func(i int) float64 { return figures[i][s].own.messages })
		line(step.Name+", bytes", true, func(i int) float64 { return figures[i][s].own.bytes })
		if step.Commits {
			line("its commit, to each other node, messages", true, func(i int) float64 { return figures[i][s].each.messages })
			line("its commit, to each other node, bytes", true, func(i int) float64 { return figures[i][s].each.bytes })
		}
	}
	line("a second without statements, to each node, messages", false, func(i int) float64 { return idles[i].each.messages })
	line("a second without statements, to each node, bytes", false, func(i int) float64 { return idles[i].each.bytes })
	line("a second without statements, between all nodes, bytes", false, func(i int) float64 { return idles[i].own.bytes })
	return lines
}
