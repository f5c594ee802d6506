package coherence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// history plays protocol traces on the pure cores and prints what they want done. Vocabulary: a command is an event of
// the lender (see EventKind), or one of writer-clean, writer-abort, writer-shrink; acquire, verified, mismatched,
// failed, release, forget of one reading domain.
type history struct {
	core   *coherence.Core
	reader *coherence.ReaderCore
	class  coherence.Class
}

func TestHistories(t *testing.T) {
	datadriven.Walk(t, "testdata/histories", func(t *testing.T, path string) {
		h := &history{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			list, err := h.play(t, d)
			var out strings.Builder
			for _, a := range list {
				fmt.Fprintln(&out, a)
			}
			if err != nil {
				fmt.Fprintln(&out, "refused:", err)
			}
			h.describe(&out)
			return out.String()
		})
	})
}

var classes = map[string]coherence.Class{
	"coherent": coherence.Coherent, "incoherent": coherence.Incoherent, "incoherent-home-snoop": coherence.IncoherentHomeSnoop,
}

var events = func() map[string]coherence.EventKind {
	m := map[string]coherence.EventKind{}
	for k := coherence.EventReserved; k <= coherence.EventAdopt; k++ {
		m[k.String()] = k
	}
	return m
}()

func (h *history) play(t *testing.T, d *datadriven.TestData) ([]coherence.Action, error) {
	g := coherence.Generation(number(t, d, "g"))
	w := coherence.Writing{Region: 1, Generation: g}
	if kind, ok := events[d.Cmd]; ok {
		return h.core.Step(h.event(t, d, kind))
	}
	switch d.Cmd {
	case "region":
		return nil, h.region(t, d)
	case "writer-clean", "writer-abort", "writer-shrink":
		writer := coherence.NewWriterCore(h.class, g, h.core.View(g).Range)
		switch d.Cmd {
		case "writer-clean":
			return writer.Clean()
		case "writer-abort":
			return writer.Abort()
		}
		return writer.Shrink(int64(number(t, d, "bytes")))
	case "acquire":
		return h.reader.Acquire(w), nil
	case "verified":
		h.reader.Verified(w)
	case "mismatched":
		return h.reader.Mismatched(w), nil
	case "failed":
		h.reader.Failed(w)
	case "release":
		h.reader.Release(w)
	case "forget":
		h.reader.Forget(1)
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return nil, nil
}

func (h *history) region(t *testing.T, d *datadriven.TestData) (err error) {
	h.class = classes[text(t, d, "class")]
	h.reader = coherence.NewReaderCore(h.class)
	h.core, err = coherence.NewCore(coherence.CoreConfig{
		Class: h.class, Home: "home", First: coherence.Generation(number(t, d, "first")), Durable: d.HasArg("durable"), Unreserved: !d.HasArg("reserve"),
		Protect: d.HasArg("protect"),
	})
	return err
}

func (h *history) event(t *testing.T, d *datadriven.TestData, kind coherence.EventKind) coherence.Event {
	e := coherence.Event{Kind: kind, Domain: coherence.Domain(text(t, d, "domain")), Owner: text(t, d, "owner")}
	for _, arg := range d.CmdArgs {
		if arg.Key == "g" {
			for i := range arg.Vals {
				var g uint64
				arg.Scan(t, i, &g)
				e.Generations = append(e.Generations, coherence.Generation(g))
			}
			e.Generation = e.Generations[0]
		}
	}
	e.Range = memregion.Range{Offset: int64(number(t, d, "page")) * memregion.PageSize, Length: int64(number(t, d, "pages")) * memregion.PageSize}
	e.Seal = coherence.Seal{Length: int64(number(t, d, "bytes")), Checksum: 1}
	return e
}

// describe prints every living generation and what the reading domain remembers.
func (h *history) describe(out *strings.Builder) {
	for g := range h.core.Census().Next {
		v := h.core.View(g)
		if v.State == coherence.Free {
			continue
		}
		fmt.Fprintf(out, "g%d %s %v of %s, writer %s", g, v.State, v.Range, v.Owner, v.Writer)
		if v.Pins > 0 {
			fmt.Fprintf(out, ", %d pin(s)", v.Pins)
		}
		if h.reader.Held(coherence.Writing{Region: 1, Generation: g}) {
			fmt.Fprint(out, ", acquired")
		}
		fmt.Fprintln(out)
	}
	if out.Len() == 0 {
		fmt.Fprintln(out, "ok")
	}
}

func number(t *testing.T, d *datadriven.TestData, key string) (n uint64) {
	if d.HasArg(key) {
		if arg, _ := d.Arg(key); len(arg.Vals) == 1 {
			d.ScanArgs(t, key, &n)
		}
	}
	return n
}

func text(t *testing.T, d *datadriven.TestData, key string) (s string) {
	if d.HasArg(key) {
		d.ScanArgs(t, key, &s)
	}
	return s
}
