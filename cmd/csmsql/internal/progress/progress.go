// Package progress shows how far a load is: a bar per step on a terminal, a line per finished step elsewhere.
//
//	lineitem   6.0M / 6.0M [==============================] 100 %  1.9s
//
// Reports come from any goroutine. Bars never go back: reports of parallel workers may overtake each other.
package progress

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/internal/counted"
)

// Display shows one load. Make it with New and end it with Finish.
type Display struct {
	out      io.Writer
	terminal bool
	bars     *mpb.Progress // nil: not a terminal

	mu    sync.Mutex // guards what follows
	steps map[string]*step
	order []string
}

type step struct {
	started     time.Time
	rows, total int64
	done        bool
	bar         *mpb.Bar
}

// New makes a display on out.
func New(out io.Writer) *Display {
	d := &Display{out: out, terminal: isTerminal(out), steps: map[string]*step{}}
	if d.terminal {
		d.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithRefreshRate(100*time.Millisecond))
	}
	return d
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// Report takes one report.
func (d *Display) Report(p noderpc.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.steps[p.Step]
	if s == nil {
		s = &step{started: time.Now()}
		d.steps[p.Step] = s
		d.order = append(d.order, p.Step)
		if d.bars != nil {
			s.bar = d.newBar(p.Step)
		}
	}
	s.rows, s.total = max(s.rows, p.Rows), max(s.total, p.RowsTotal)
	if s.bar != nil {
		s.bar.SetTotal(s.total, false)
		s.bar.SetCurrent(s.rows)
	}
	if s.total > 0 && s.rows >= s.total && !s.done {
		d.finish(p.Step, s)
	}
}

func (d *Display) newBar(name string) *mpb.Bar {
	return d.bars.New(0, mpb.BarStyle().Rbound("] "),
		mpb.PrependDecorators(
			decor.Name(name, decor.WC{C: decor.DindentRight | decor.DextraSpace}),
			decor.Any(func(s decor.Statistics) string { return Count(s.Current) + " / " + Count(s.Total) + " " }, decor.WCSyncSpace),
		),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 6}), decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 7})),
	)
}

// finish ends a step. Preconditions: mu is held.
func (d *Display) finish(name string, s *step) {
	s.done = true
	if s.bar != nil {
		s.bar.SetTotal(max(s.rows, 1), true)
		return
	}
	took := "less than 1ms"
	if d := time.Since(s.started).Round(time.Millisecond); d > 0 {
		took = d.String()
	}
	fmt.Fprintf(d.out, "%-16s %s in %s\n", name, Counted(s.rows, "row"), took)
}

// Finish ends the display: what is unfinished was finished, or given up if the load failed.
func (d *Display) Finish(failed bool) {
	d.mu.Lock()
	for _, name := range d.order {
		s := d.steps[name]
		switch {
		case s.done:
		case !failed:
			d.finish(name, s)
		case s.bar != nil:
			s.bar.Abort(false)
		}
	}
	d.mu.Unlock()
	if d.bars != nil {
		d.bars.Wait()
	}
}

// Count writes a number with its thousands apart: 6,001,215.
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Counted is a number of things, by their name in the singular: 1 chunk, 2,000 chunks.
func Counted(n int64, one string) string {
	return Count(n) + " " + counted.Noun(n, one)
}
