package thesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Case is one way to create the table of Table 5.5: 1 GiB of uint64.
type Case struct {
	Remote bool
	Class  coherence.Class
	Path   coherence.Path // of memory that is not coherent
	Before Before         // of memory of another process that is incoherent
}

// Before says which domains have stored into memory before it is granted to a foreign writer.
type Before uint8

const (
	// Borrowers: only borrowers, since its lender flushed it the last time.
	Borrowers Before = iota
	// CleanedAhead: its lender, as its kernel does when it zeroes pages, and it has flushed them since in the
	// background.
	CleanedAhead
	// JustStored: its lender, just before, so that it flushes before the writer gets the memory.
	JustStored
)

func (c Case) String() string {
	place := "local"
	if c.Remote {
		place = "remote"
	}
	if c.Class == coherence.Coherent {
		return place + ", coherent"
	}
	switch c.Before {
	case CleanedAhead:
		place += ", cleaned ahead by the lender"
	case JustStored:
		place += ", just stored into by the lender"
	}
	return fmt.Sprintf("%s, %v, %v", place, c.Class, c.Path)
}

// Parts are how long the parts of one creation took.
type Parts struct {
	// Allocate has the lender's flush before a foreign writer on memory that is not coherent and that it has stored
	// into.
	Allocate time.Duration
	// Map makes the memory present in this process, and takes it away again: remote writers map what they are granted,
	// for as long as they write.
	Map time.Duration
	// Write has the flushes of paths that flush as they go.
	Write    time.Duration
	Checksum time.Duration // of what is written, block by block, while it is in the cache
	Flush    time.Duration
	// Seal has the lender's flush after a foreign writer, and its look, where its cache is snooped.
	Seal      time.Duration
	Serialize time.Duration
	Send      time.Duration // published, and another process has decoded and validated the descriptor
}

// Overhead is what all that is not the write, the checksum or the mapping takes, as a share of the write itself.
func (p Parts) Overhead(itself time.Duration) float64 {
	return float64(p.Allocate+p.Write+p.Flush+p.Seal+p.Serialize+p.Send-itself) / float64(itself)
}

// Total of the thesis' parts.
func (p Parts) Total() time.Duration {
	return p.Allocate + p.Write + p.Flush + p.Seal + p.Serialize + p.Send
}

// Created is what creating the table in all ways gave.
type Created struct {
	Cases []Case
	Parts [][]Parts // by case, then by run
	// Ahead is, for each run, what the lender did when it cleaned the table's memory ahead: how long it worked, and
	// when it was done.
	Ahead []Ahead
	// Chosen are the paths that the measurement of package coherence chose, in own memory and in another process'.
	Chosen map[bool]coherence.Path
}

// Ahead is a lender's work beside everything else.
type Ahead struct{ Worked, Done time.Duration }

// Of are the runs of a case.
func (c *Created) Of(one Case) []Parts { return c.Parts[slices.Index(c.Cases, one)] }

// Median has the median of each part of a case.
func (c *Created) Median(one Case) (m Parts) {
	runs := c.Of(one)
	of := func(part func(*Parts) *time.Duration) {
		times := make([]time.Duration, len(runs))
		for i := range runs {
			times[i] = *part(&runs[i])
		}
		*part(&m) = median(times)
	}
	of(func(p *Parts) *time.Duration { return &p.Allocate })
	of(func(p *Parts) *time.Duration { return &p.Map })
	of(func(p *Parts) *time.Duration { return &p.Write })
	of(func(p *Parts) *time.Duration { return &p.Checksum })
	of(func(p *Parts) *time.Duration { return &p.Flush })
	of(func(p *Parts) *time.Duration { return &p.Seal })
	of(func(p *Parts) *time.Duration { return &p.Serialize })
	of(func(p *Parts) *time.Duration { return &p.Send })
	return m
}

// Overhead is a case's, as a share of the write itself: an ordinary copy to coherent memory of the same place, in the
// same run. The median of all runs.
func (c *Created) Overhead(one Case) float64 {
	itself := c.Of(Case{Remote: one.Remote, Class: coherence.Coherent})
	var shares []float64
	for i, p := range c.Of(one) {
		shares = append(shares, p.Overhead(itself[i].Write))
	}
	slices.Sort(shares)
	return shares[len(shares)/2]
}

// Create does Table 5.5 in every way, one after the other in each run (TH2).
func (w *World) Create(ctx context.Context) (*Created, error) {
	c := &Created{Chosen: map[bool]coherence.Path{}}
	for _, remote := range []bool{true, false} {
		c.Cases = append(c.Cases, Case{Remote: remote, Class: coherence.Coherent})
		for _, copier := range copiers(w.lines) {
			c.Cases = append(c.Cases, Case{Remote: remote, Class: coherence.Incoherent, Path: copier.Path()})
		}
	}
	c.Cases = append(c.Cases, Case{Remote: true, Class: coherence.IncoherentHomeSnoop})
	if err := w.choose(ctx, c); err != nil {
		return nil, err
	}
	for _, before := range []Before{CleanedAhead, JustStored} {
		c.Cases = append(c.Cases, Case{Remote: true, Class: coherence.Incoherent, Path: c.Chosen[true], Before: before})
	}
	if err := w.use(ctx, coherence.Incoherent); err != nil { // a lender cleans ahead when others write into its memory
		return nil, err
	}
	c.Parts = make([][]Parts, len(c.Cases))
	rows := newBlocks(w.setting.Bytes)
	for run := -1; run < w.setting.Runs; run++ { // the first one finds untouched pages
		for k := range c.Cases {
			i := (k + max(run, 0)) % len(c.Cases)
			parts, ahead, err := w.create(ctx, c.Cases[i], rows)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", c.Cases[i], err)
			}
			if run >= 0 {
				c.Parts[i] = append(c.Parts[i], parts)
				if c.Cases[i].Before == CleanedAhead {
					c.Ahead = append(c.Ahead, ahead)
				}
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// choose lets the measurement that production uses find the path for each place.
func (w *World) choose(ctx context.Context, c *Created) error {
	places, err := w.places(ctx, 1<<20)
	if err != nil {
		return err
	}
	for _, p := range places {
		c.Chosen[p.name == "remote"] = coherence.NewChooser(w.lines, time.Now).For(p.bytes).Path()
	}
	return freeAll(places)
}

// blocks are the table's bytes: windows into one small source, each a word further on, so that writing is bounded by
// memory and not by where the values come from, and a block at a wrong place is seen.
type blocks struct {
	source   []byte
	bytes    int
	count    int
	checksum uint64 // of all of them
}

const blockBytes = 256 << 10

func newBlocks(bytes int64) *blocks {
	b := &blocks{bytes: int(bytes), count: int((bytes + blockBytes - 1) / blockBytes)}
	b.source = make([]byte, blockBytes+8*(b.count-1))
	state := uint64(1)
	for i, w := 0, words(b.source); i < len(w); i++ {
		state = state*6364136223846793005 + 1442695040888963407
		w[i] = state
	}
	hash := xxh3.New()
	for i := range b.count {
		_, _ = hash.Write(b.block(i)) // never fails
	}
	b.checksum = hash.Sum64()
	return b
}

func (b *blocks) block(i int) []byte {
	n := min(blockBytes, b.bytes-i*blockBytes)
	return b.source[8*i : 8*i+n]
}

// write copies all blocks and adds up how long that, and their checksum, takes.
func (b *blocks) write(parts *Parts, copyTo func(at int64, from []byte) error) (checksum uint64, err error) {
	hash := xxh3.New()
	for i := range b.count {
		from := b.block(i)
		begin := time.Now()
		if err := copyTo(int64(i)*blockBytes, from); err != nil {
			return 0, err
		}
		stored := time.Now()
		_, _ = hash.Write(from) // never fails
		parts.Write += stored.Sub(begin)
		parts.Checksum += time.Since(stored)
	}
	return hash.Sum64(), nil
}

var schema = arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Uint64}}, nil)

// send makes the descriptor of the table and sends it.
func (w *World) send(parts *Parts, x descriptor.Extent, publish func() error) error {
	begin := time.Now()
	rows := x.Seal.Length / 8
	d := descriptor.Descriptor{
		Rows: rows, Owner: "bench", Schema: schema, Extents: []descriptor.Extent{x}, Statistics: []descriptor.Statistics{{}},
		Columns: []descriptor.Node{{Length: rows, Buffers: []descriptor.Buffer{{}, {Extent: 1, Length: x.Seal.Length, Checksum: x.Seal.Checksum}}}},
	}
	encoded, err := d.Encode()
	if err != nil {
		return err
	}
	made := time.Now()
	if err := publish(); err != nil {
		return err
	}
	got, err := w.setting.Send(encoded)
	if err != nil {
		return err
	}
	parts.Serialize, parts.Send = made.Sub(begin), time.Since(made)
	if got != rows {
		return wrong("the descriptor", uint64(got), uint64(rows))
	}
	return nil
}

func (w *World) createLocal(_ context.Context, c Case, rows *blocks) (parts Parts, err error) {
	home := w.local.homes[homeOf(coherence.Coherent)]
	if c.Class != coherence.Coherent {
		home = w.local.homes[homeOfPath(c.Path)]
	}
	begin := time.Now()
	g, err := home.Grant("bench", home.Domain(), w.setting.Bytes)
	if err != nil {
		return parts, err
	}
	parts.Allocate = time.Since(begin)
	defer func() { err = errors.Join(err, g.Abort()) }() // nothing, once it is sealed
	begin = time.Now()
	if err := populate(g.Bytes()); err != nil {
		return parts, err
	}
	parts.Map = time.Since(begin)
	checksum, err := rows.write(&parts, func(at int64, from []byte) error { _, err := g.Copy(at, from); return err })
	if err != nil {
		return parts, err
	}
	begin = time.Now()
	if err := g.Clean(); err != nil {
		return parts, err
	}
	parts.Flush = time.Since(begin)
	begin = time.Now()
	x := descriptor.Extent{
		ExtentID: descriptor.ExtentID{Region: home.Region(), Generation: g.Generation()}, Range: g.Range(),
		Seal: coherence.Seal{Length: w.setting.Bytes, Checksum: checksum},
	}
	if err := g.Seal(x.Seal); err != nil {
		return parts, err
	}
	parts.Seal = time.Since(begin)
	if err := w.send(&parts, x, func() error { return home.Publish(g.Generation()) }); err != nil {
		return parts, errors.Join(err, home.Discard(g.Generation()))
	}
	return parts, errors.Join(w.check(w.local.memory.Bytes(x.Range), rows), home.Retire(g.Generation()))
}

// create does one case. The lender's background work is over by then, except in the case JustStored.
func (w *World) create(ctx context.Context, c Case, rows *blocks) (parts Parts, ahead Ahead, err error) {
	before, err := w.setting.Cleaned()
	if err != nil {
		return parts, ahead, err
	}
	if !c.Remote {
		if _, err := w.settle(ctx, before); err != nil {
			return parts, ahead, err
		}
		parts, err = w.createLocal(ctx, c, rows)
		return parts, ahead, err
	}
	class := c.Class
	if c.Before != Borrowers {
		class = coherence.Coherent // for any writer, the lender flushes nothing there
	}
	if err := w.use(ctx, class); err != nil {
		return parts, ahead, err
	}
	if c.Before != JustStored {
		if ahead, err = w.settle(ctx, before); err != nil {
			return parts, ahead, err
		}
	}
	parts, err = w.createRemote(ctx, c, rows)
	return parts, ahead, err
}

// use leaves memory for the next grant as a writer on a fabric of that class does.
func (w *World) use(ctx context.Context, class coherence.Class) error {
	given, err := w.client.Grant(ctx, grantOf(homeOf(class), w.setting.Bytes))
	if err != nil {
		return err
	}
	return w.client.Free(ctx, noderpc.FreeRequest{Extents: extents(given)})
}

// settle waits until the lender has nothing more to clean ahead, and says for how long it did, and how long it worked
// since before.
func (w *World) settle(ctx context.Context, before Cleaned) (done Ahead, err error) {
	const look = time.Millisecond
	for begin := time.Now(); ; {
		now, err := w.setting.Cleaned()
		done = Ahead{Worked: now.Worked - before.Worked, Done: time.Since(begin)}
		if err != nil || now.Left == 0 {
			return done, err
		}
		select {
		case <-ctx.Done():
			return done, ctx.Err()
		case <-time.After(look):
		}
	}
}

func (w *World) createRemote(ctx context.Context, c Case, rows *blocks) (parts Parts, err error) {
	begin := time.Now()
	given, err := w.client.Grant(ctx, grantOf(homeOf(c.Class), w.setting.Bytes))
	if err != nil {
		return parts, err
	}
	parts.Allocate = time.Since(begin)
	defer func() { err = errors.Join(err, w.client.Free(ctx, noderpc.FreeRequest{Extents: extents(given)})) }()
	begin = time.Now()
	window, err := w.view.Window(given.Range)
	if err != nil {
		return parts, err
	}
	defer func() { err = errors.Join(err, window.Close()) }()
	if err := populate(window.Bytes()); err != nil {
		return parts, err
	}
	parts.Map = time.Since(begin)
	x := descriptor.Extent{ExtentID: given.Extent, Range: given.Range, Seal: coherence.Seal{Length: w.setting.Bytes}}
	if x.Seal.Checksum, err = w.writeRemote(&parts, c, given, window, rows); err != nil {
		return parts, err
	}
	begin = time.Now()
	if err := window.Close(); err != nil {
		return parts, err
	}
	parts.Map += time.Since(begin)
	begin = time.Now()
	if err := w.client.Seal(ctx, noderpc.SealRequest{Extent: given.Extent, Keep: given.Range.Length, Seal: x.Seal}); err != nil {
		return parts, err
	}
	parts.Seal = time.Since(begin)
	if err := w.send(&parts, x, func() error { return w.client.Publish(ctx, true, given.Extent) }); err != nil {
		return parts, err
	}
	data, err := w.view.Bytes(given.Range)
	if err != nil {
		return parts, err
	}
	return parts, w.check(data, rows)
}

// writeRemote does steps 2 and 3 as a writer in another domain does them.
func (w *World) writeRemote(parts *Parts, c Case, given noderpc.Granted, window *memregion.Window,
	rows *blocks) (checksum uint64, err error) {
	writer := coherence.NewWriterCore(given.Class, given.Extent.Generation, given.Range)
	var chooser *coherence.Chooser
	if c.Class != coherence.Coherent {
		copier, err := w.lines.Copier(c.Path)
		if err != nil {
			return 0, err
		}
		chooser = coherence.Always(copier)
	}
	var count coherence.Counters
	checksum, err = rows.write(parts, func(at int64, from []byte) error {
		coherence.CopyInto(&writer, chooser, &count, window.Bytes(), at, from)
		return nil
	})
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	list, err := writer.Clean()
	if err != nil {
		return 0, err
	}
	coherence.Flusher{Lines: w.lines, Counters: &count}.DoAll(list, given.Range, window.Bytes())
	parts.Flush = time.Since(begin)
	return checksum, nil
}

// check acquires what was published and compares it with what was to be written (TH1).
func (w *World) check(data []byte, rows *blocks) error {
	w.lines.FenceFull()
	w.lines.Flush(data)
	w.lines.FenceFull()
	got := xxh3.Hash(data[:w.setting.Bytes])
	if w.setting.InjectFault {
		got++
	}
	if got != rows.checksum {
		return wrong("the table", got, rows.checksum)
	}
	return nil
}
