package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/csmsql/csmsql/bench/chart"
	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/bench/thesis"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/memregion"
)

// The sizes of the thesis' evaluation.
const (
	createdRows  = 1 << 27     // of 8 bytes: 1 GiB
	accessedRows = 500_000_000 // of figures 5.2 and 5.3
	slices51     = 20
)

// figures are what thesis found.
type figures struct {
	lines       coherence.Features
	bytes       int64 // of the tables that are flushed and created
	accessed    int64 // and of those of figures 5.2 and 5.3
	flushed     []thesis.Flushed
	described   thesis.Described
	allocated   thesis.Allocated
	created     *thesis.Created
	widths      []thesis.Width
	strides     []thesis.Stride
	transferred []attachSize
}

// measureThesis does the thesis' work, table by table; see package bench/thesis.
func measureThesis(ctx context.Context, o Options) (*Report, error) {
	f := figures{bytes: wholePages(8 * o.rows(createdRows)), accessed: wholePages(8 * o.rows(accessedRows))}
	if f.accessed > f.bytes {
		room, err := sharedRoom()
		if err != nil {
			return nil, err
		}
		f.accessed = max(f.bytes, min(f.accessed, wholePages(room*2/5))) // in two places, and a little beside
	}
	if err := f.inMemory(ctx, o); err != nil {
		return nil, err
	}
	if err := f.transfers(ctx, o); err != nil {
		return nil, err
	}
	return f.report(o), nil
}

func wholePages(n int64) int64 {
	return max((n+memregion.PageSize-1)/memregion.PageSize, 1) * memregion.PageSize
}

// inMemory does all but Figure 5.1.
func (f *figures) inMemory(ctx context.Context, o Options) (err error) {
	var lent thesis.Lent
	p, err := start(ctx, &lent, "lender", strconv.FormatInt(thesis.Capacity(max(f.bytes, f.accessed)), 10))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	directory, err := serving.Directory(serving.SharedMemory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	w, err := thesis.Open(ctx, thesis.Setting{
		Bytes: f.bytes, AccessBytes: f.accessed, Runs: o.Runs, Threads: []int{1, 4, 48},
		Directory: directory, InjectFault: o.sabotage, Say: o.say,
		Send: func(descriptor []byte) (rows int64, err error) {
			err = p.ask(request{Do: "descriptor", Descriptor: descriptor}, &rows)
			return rows, err
		},
		Cleaned: func() (cleaned thesis.Cleaned, err error) {
			err = p.ask(request{Do: "cleaned"}, &cleaned)
			return cleaned, err
		},
	}, lent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	f.lines = w.Lines()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"Table 5.2: flushing", func() (err error) { f.flushed, err = w.Flush(ctx); return err }},
		{"Table 5.3: descriptors", func() (err error) { f.described, err = w.Descriptor(ctx); return err }},
		{"Table 5.4: allocating", func() (err error) { f.allocated, err = w.Allocate(ctx); return err }},
		{"Table 5.5: creating a table", func() (err error) { f.created, err = w.Create(ctx); return err }},
		{"Figure 5.2: element widths and threads", func() (err error) { f.widths, err = w.Widths(ctx); return err }},
		{"Figure 5.3: strides", func() (err error) { f.strides, err = w.Strides(ctx); return err }},
	} {
		o.say("%s", step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// transfers is Figure 5.1: slices of the table of attach, each a twentieth larger. As there, a slice is measured once,
// its descriptor side several times.
func (f *figures) transfers(ctx context.Context, o Options) (err error) {
	largest := o.rows(fullRows)
	node, hello, err := startNode(ctx, o, max(64<<20, 2*bytesOfRow*largest+largest))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.close()) }()
	o.Runs = 1
	n := min(int64(o.Sizes), slices51)
	for k := range n {
		rows := largest * (k + 1) / n
		size, err := attachOne(ctx, o, node, waysTo(hello)[:2], rows)
		if err != nil {
			return fmt.Errorf("figure 5.1: %d rows: %w", rows, err)
		}
		f.transferred = append(f.transferred, size)
	}
	return nil
}

func (f *figures) report(o Options) *Report {
	r := &Report{
		Name: "thesis", Machine: thisMachine(),
		Setting: fmt.Sprintf("the work of the thesis' evaluation (tables 5.2 to 5.5, figures 5.1 to 5.3), medians of %d runs in turns, with the figures that it published beside them. Theirs are of two POWER9 servers and a ThymesisFlow link of 100 Gbit/s; here both places are memory of this host, lent by another process where it says remote, flushed by %s in lines of %d bytes (theirs have 128), and no link is passed: compare shares, and times with care. Checksums, sums and places were compared before any time was taken for true", o.Runs, f.lines.Instruction, f.lines.LineSize),
		Columns: []string{"table", "ours", "thesis", "ours / thesis"}, Samples: map[string][]time.Duration{},
	}
	f.smallTables(r)
	f.creation(r)
	f.paths(r)
	f.transferFigure(r)
	f.widthFigure(r)
	f.strideFigure(r)
	f.goals(r)
	return r
}

// versus adds a line of two times; theirs is 0 where they are of another size.
func (r *Report) versus(what string, times []time.Duration, theirs time.Duration) {
	ours := median(times)
	row := []any{what, ours, "-", "-"}
	if theirs != 0 {
		row[2], row[3] = theirs, float64(ours)/float64(theirs)
	}
	r.Rows = append(r.Rows, row)
	r.Samples[what] = times
}

// full reports whether the tables have the thesis' size.
func (f *figures) full() bool { return f.bytes == 8*createdRows }

func (f *figures) smallTables(r *Report) {
	p := thesis.Published
	theirs := map[string][2]time.Duration{"local": {p.FlushEmptyLocal, p.FlushTouchedLocal}, "remote": {p.FlushEmptyRemote, p.FlushTouchedRemote}}
	if !f.full() {
		theirs = nil
	}
	size := bytesize.Text(f.bytes)
	for _, one := range f.flushed {
		r.versus(fmt.Sprintf("5.2 flush %s, empty, %s", size, one.Place), one.Empty, theirs[one.Place][0])
	}
	for _, one := range f.flushed {
		r.versus(fmt.Sprintf("5.2 flush %s, touched, %s", size, one.Place), one.Touched, theirs[one.Place][1])
	}
	r.versus("5.3 serialize the descriptor of 3 columns", f.described.Serialize, p.Serialize)
	r.versus("5.3 deserialize and validate it", f.described.Deserialize, p.Deserialize)
	r.versus("5.3 the same, its schema seen before", f.described.Known, p.Deserialize)
	r.versus("5.4 allocate 0 to 5000 bytes, local", f.allocated.Local, p.AllocateLocal)
	r.versus("5.4 allocate 0 to 5000 bytes, remote", f.allocated.Remote, p.AllocateRemote)
	var worked, done []time.Duration
	for _, a := range f.created.Ahead {
		worked, done = append(worked, a.Worked), append(done, a.Done)
	}
	r.versus(fmt.Sprintf("5.5 before: the lender cleans %s ahead, beside everything else, and works for", size), worked, 0)
	r.versus("5.5 before: and is done, with its rests, after", done, 0)
}

// creation is Table 5.5, once for each place.
func (f *figures) creation(r *Report) {
	for _, remote := range []bool{true, false} {
		place, theirs := "local", thesis.Published.CreateLocal
		if remote {
			place, theirs = "remote", thesis.Published.CreateRemote
		}
		chosen := thesis.Case{Remote: remote, Class: coherence.Incoherent, Path: f.created.Chosen[remote]}
		// The papers flush before the write and we do not; what the lender must flush is done with the allocation.
		ours, back, plain := f.created.Median(chosen), f.created.Median(thesis.Case{Remote: remote, Class: coherence.Incoherent}), f.created.Median(thesis.Case{Remote: remote})
		t := Table{
			Title:   fmt.Sprintf("Table 5.5, a table of %s of uint64 created in %s memory. On memory that is not coherent by write back and flush, and by the path that was chosen by measurement here (%v); the checksum of what is written and the mapping of what was granted into the writer (it is mapped for the time of writing only) are not in the thesis, and not in the total. Remote memory was used before, by borrowers only, so that its lender need not flush it again (decision 0021); where the lender has stored into it, it flushes it ahead (decision 0022), or, if it has not come to that, while the writer waits: both are with the write paths", bytesize.Text(f.bytes), place, chosen.Path),
			Columns: []string{"part", "write back", "chosen path", "coherent", "thesis"},
		}
		add := func(what string, part func(thesis.Parts) time.Duration, theirs any) {
			if !f.full() || theirs == time.Duration(0) {
				theirs = "-"
			}
			t.Rows = append(t.Rows, []any{what, part(back), part(ours), part(plain), theirs})
		}
		add("allocate (thesis: and flush everywhere before the write)", func(p thesis.Parts) time.Duration { return p.Allocate }, theirs.Allocate+theirs.BeforeWrite)
		add("write (with its flush, if the path flushes as it goes)", func(p thesis.Parts) time.Duration { return p.Write }, theirs.Write)
		add("flush what is left", func(p thesis.Parts) time.Duration { return p.Flush }, theirs.Flush)
		add("seal", func(p thesis.Parts) time.Duration { return p.Seal }, "-")
		add("serialize the descriptor", func(p thesis.Parts) time.Duration { return p.Serialize }, theirs.Serialize)
		add("publish, and another process has the descriptor", func(p thesis.Parts) time.Duration { return p.Send }, theirs.Send)
		add("total", thesis.Parts.Total, theirs.Total())
		add("checksum of what is written", func(p thesis.Parts) time.Duration { return p.Checksum }, "-")
		add("map and unmap", func(p thesis.Parts) time.Duration { return p.Map }, "-")
		t.Rows = append(t.Rows, []any{"overhead, % of the write itself", f.overhead(thesis.Case{Remote: remote, Class: coherence.Incoherent}), f.overhead(chosen), f.overhead(thesis.Case{Remote: remote}), 100 * theirs.Overhead()})
		r.More = append(r.More, t)
	}
}

// overhead of a case, in percent.
func (f *figures) overhead(c thesis.Case) float64 { return 100 * f.created.Overhead(c) }

// paths compares the ways to write.
func (f *figures) paths(r *Report) {
	t := Table{
		Title:   fmt.Sprintf("Write paths (thesis §6.1): %s stored, and in memory instead of in caches. The write itself is an ordinary copy that is not flushed", bytesize.Text(f.bytes)),
		Columns: []string{"path", "local", "overhead %", "remote", "overhead %"},
	}
	row := func(what string, c thesis.Case) {
		line := []any{what}
		for _, remote := range []bool{false, true} {
			c.Remote = remote
			if !slices.Contains(f.created.Cases, c) {
				line = append(line, "-", "-")
				continue
			}
			p := f.created.Median(c)
			line = append(line, p.Write+p.Flush, f.overhead(c))
			for _, one := range f.created.Of(c) {
				r.Samples[c.String()] = append(r.Samples[c.String()], one.Total())
			}
		}
		t.Rows = append(t.Rows, line)
	}
	row("the write itself, coherent memory", thesis.Case{})
	spread := []any{"its fastest and its slowest run: by so much all shares may be off"}
	for _, remote := range []bool{false, true} {
		runs := slices.Clone(f.created.Of(thesis.Case{Remote: remote}))
		slices.SortFunc(runs, func(a, b thesis.Parts) int { return int(a.Write - b.Write) })
		spread = append(spread, fmt.Sprintf("%.1f to %.1f ms", milliseconds(runs[0].Write), milliseconds(runs[len(runs)-1].Write)), "-")
	}
	t.Rows = append(t.Rows, spread)
	for _, path := range coherence.Paths() {
		c := thesis.Case{Class: coherence.Incoherent, Path: path}
		if !slices.Contains(f.created.Cases, c) {
			t.Rows = append(t.Rows, []any{path.String() + " (not on this processor)", "-", "-", "-", "-"})
			continue
		}
		what := path.String()
		for _, remote := range []bool{false, true} {
			if f.created.Chosen[remote] == path {
				what += map[bool]string{false: "; chosen locally", true: "; chosen remotely"}[remote]
			}
		}
		row(what, c)
	}
	for _, one := range []struct {
		before thesis.Before
		what   string
	}{
		{thesis.CleanedAhead, "chosen remotely, and the lender has stored there and cleaned it ahead"},
		{thesis.JustStored, "chosen remotely, and the lender has just stored there: it flushes first"},
	} {
		c := f.before(one.before)
		p := f.created.Median(c)
		t.Rows = append(t.Rows, []any{one.what, "-", "-", p.Write + p.Flush, f.overhead(c)})
	}
	row("write back, home-snoop: the lender flushes and looks", thesis.Case{Class: coherence.IncoherentHomeSnoop})
	r.More = append(r.More, t)
}

func (f *figures) transferFigure(r *Report) {
	t := Table{
		Title:   "Figure 5.1, another process gets at slices of a table of int64, int8 and uint16: by descriptor, reading in place, and by a whole Arrow copy, ours over a unix socket, theirs over 25 Gbit/s Ethernet; each slice copied once",
		Columns: []string{"rows", "MB", "descriptor", "whole copy", "thesis' descriptor", "thesis' copy"},
	}
	c := chart.Chart{Name: "figure-5.1", Title: "Figure 5.1: getting at a table", X: chart.Axis{Label: "table, MB"}, Y: chart.Axis{Label: "ms", Log: 10}, Series: []chart.Series{
		{Name: "descriptor"}, {Name: "whole copy, unix socket"}, {Name: "thesis: descriptor", Reference: true}, {Name: "thesis: whole copy, Ethernet", Reference: true},
	}}
	for i, s := range f.transferred {
		mb := float64(s.rows*bytesOfRow) / 1e6
		values := [4]float64{milliseconds(median(s.times[0])), milliseconds(median(s.times[1]))}
		row := []any{s.rows, mb, median(s.times[0]), median(s.times[1]), "-", "-"}
		for way, name := range []string{"descriptor", "whole copy"} {
			r.Samples[fmt.Sprintf("5.1 %d rows, %s", s.rows, name)] = s.times[way]
		}
		if len(f.transferred) == slices51 && s.rows == fullRows/slices51*int64(i+1) { // theirs are of these sizes only
			values[2], values[3] = thesis.PublishedTransfers.Descriptor[i], thesis.PublishedTransfers.Full[i]
			row[4], row[5] = inMilliseconds(values[2]), inMilliseconds(values[3])
		}
		for k, v := range values {
			if v > 0 {
				c.Series[k].Points = append(c.Series[k].Points, chart.Point{X: mb, Y: v})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	c.Series = slices.DeleteFunc(c.Series, func(s chart.Series) bool { return len(s.Points) == 0 })
	r.More, r.Charts = append(r.More, t), append(r.Charts, c)
}

func inMilliseconds(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

func reading(write bool) string {
	if write {
		return "write"
	}
	return "read"
}

func (f *figures) widthFigure(r *Report) {
	t := Table{
		Title:   fmt.Sprintf("Figure 5.2, GiB/s by width of the elements and threads, from one end to the other. Of %s of the widest, by plain Go loops, one element at a time: no vector instructions, which theirs have", bytesize.Text(f.widths[len(f.widths)-1].Bytes)),
		Columns: []string{"access", "threads", "8 bits", "16", "32", "64", "thesis: 8 bits", "16", "32", "64"},
	}
	c := chart.Chart{Name: "figure-5.2", Title: "Figure 5.2: throughput by element width, remote memory", X: chart.Axis{Label: "bits of an element", Log: 2}, Y: chart.Axis{Label: "GiB/s", Log: 10}}
	type line struct {
		place   string
		write   bool
		threads int
	}
	var order []line
	byLine := map[line][]thesis.Width{}
	for _, p := range f.widths {
		l := line{p.Place, p.Write, p.Threads}
		if byLine[l] == nil {
			order = append(order, l)
		}
		byLine[l] = append(byLine[l], p)
		r.Samples[fmt.Sprintf("5.2 %s, %s, %d bits, %d threads", p.Place, reading(p.Write), p.Bits, p.Threads)] = p.Times
	}
	slices.SortStableFunc(order, func(a, b line) int { return comparePlaces(a.place, a.write, b.place, b.write) })
	for _, l := range order {
		row := []any{l.place + ", " + reading(l.write), l.threads}
		ours := chart.Series{Name: fmt.Sprintf("%s, %d threads", reading(l.write), l.threads)}
		theirs := chart.Series{Name: "thesis: " + ours.Name, Reference: true}
		for _, p := range byLine[l] {
			row = append(row, p.Rate())
			ours.Points = append(ours.Points, chart.Point{X: float64(p.Bits), Y: p.Rate()})
			theirs.Points = append(theirs.Points, chart.Point{X: float64(p.Bits), Y: p.Published})
		}
		for _, p := range byLine[l] {
			row = append(row, p.Published)
		}
		t.Rows = append(t.Rows, row)
		if l.place == "remote" && l.threads != 48 { // two dozen lines are no picture
			c.Series = append(c.Series, ours, theirs)
		}
	}
	r.More, r.Charts = append(r.More, t), append(r.Charts, c)
}

// comparePlaces puts local before remote, and reading before writing.
func comparePlaces(a string, aWrites bool, b string, bWrites bool) int {
	rank := func(place string, write bool) (n int) {
		if place == "remote" {
			n += 2
		}
		if write {
			n++
		}
		return n
	}
	return rank(a, aWrites) - rank(b, bWrites)
}

func (f *figures) strideFigure(r *Report) {
	t := Table{
		Title:   fmt.Sprintf("Figure 5.3, GiB/s of elements of 64 bits by stride: every element once, in as many passes as the stride has elements. Of %s, by %d threads (theirs up to 48), once each", bytesize.Text(f.strides[0].Bytes), r.Machine.Cores),
		Columns: []string{"stride", "local, read", "write", "remote, read", "write", "thesis: local, read", "write", "remote, read", "write"},
	}
	c := chart.Chart{Name: "figure-5.3", Title: "Figure 5.3: throughput by stride", X: chart.Axis{Label: "stride, elements of 64 bits", Log: 2}, Y: chart.Axis{Label: "GiB/s", Log: 10}}
	for _, name := range []string{"local, read", "local, write", "remote, read", "remote, write"} {
		c.Series = append(c.Series, chart.Series{Name: name})
	}
	for _, s := range c.Series[:4] {
		c.Series = append(c.Series, chart.Series{Name: "thesis: " + s.Name, Reference: true})
	}
	for _, p := range f.strides {
		if len(t.Rows) == 0 || t.Rows[len(t.Rows)-1][0] != p.Stride {
			t.Rows = append(t.Rows, []any{p.Stride, 0., 0., 0., 0., 0., 0., 0., 0.})
		}
		row, at := t.Rows[len(t.Rows)-1], comparePlaces(p.Place, p.Write, "local", false)
		row[1+at], row[5+at] = p.Rate(), p.Published
		for i, rate := range map[int]float64{at: p.Rate(), at + 4: p.Published} {
			c.Series[i].Points = append(c.Series[i].Points, chart.Point{X: float64(p.Stride), Y: rate})
		}
		r.Samples[fmt.Sprintf("5.3 %s, %s, stride %d", p.Place, reading(p.Write), p.Stride)] = p.Times
	}
	r.More, r.Charts = append(r.More, t), append(r.Charts, c)
}

// before is the remote case by the chosen path, in memory that was stored into before.
func (f *figures) before(b thesis.Before) thesis.Case {
	return thesis.Case{Remote: true, Class: coherence.Incoherent, Path: f.created.Chosen[true], Before: b}
}

func (f *figures) goals(r *Report) {
	chosen := f.overhead(thesis.Case{Remote: true, Class: coherence.Incoherent, Path: f.created.Chosen[true]})
	coherent := f.created.Median(thesis.Case{Remote: true})
	steps := 100 * float64(coherent.Flush) / float64(coherent.Write)
	what := fmt.Sprintf("creating a table of %s in remote memory that is not coherent and that borrowers had before, by the chosen path: overhead in %% of the write itself", bytesize.Text(f.bytes))
	microseconds := func(d []time.Duration) float64 { return float64(median(d)) / 1e3 }
	r.Goals = []Goal{
		atMost(what+" (thesis: 67)", chosen, 45),
		atMost(what+" (what is aimed at)", chosen, 20),
		atMost("the same in memory that its lender has stored into and cleaned ahead, unasked and beside (the work is in the table)", f.overhead(f.before(thesis.CleanedAhead)), 45),
		atMost("the same in memory that its lender has just stored into, so that it flushes while the writer waits: the worst case", f.overhead(f.before(thesis.JustStored)), 45),
		atMost("the same in coherent memory, local", f.overhead(thesis.Case{}), 1),
		atMost("the same in coherent memory, remote", f.overhead(thesis.Case{Remote: true}), 1),
		atMost("the same in coherent memory, remote, without the calls to another process (allocate, seal, publish), whose time does not grow with the table", steps, 1),
		atMost("serialize the descriptor of 3 columns, µs (thesis: 58)", microseconds(f.described.Serialize), 2),
		atMost("deserialize and validate it, µs (thesis: 19)", microseconds(f.described.Deserialize), 2),
		atMost("the same for every chunk of a table but the first, whose schema it has, µs", microseconds(f.described.Known), 2),
	}
}
