package edit

import (
	"strings"
	"unicode/utf8"
)

// Edit is one replacement: what stood from Start to End, in bytes of the original, is Length bytes long now.
type Edit struct{ Start, End, Length int }

// List is the edits that made one text of another, in order. A nil one made none.
type List []Edit

// Back is where an offset of the edited text was in the original. Inside of a replacement it is where that starts.
func (l List) Back(offset int) int {
	shift := 0
	for _, e := range l {
		start := e.Start + shift
		if offset < start {
			break
		}
		if offset < start+e.Length {
			return e.Start
		}
		shift += e.Length - (e.End - e.Start)
	}
	return offset - shift
}

// Forward is where an offset of the original is in the edited text. Inside of what was replaced it is where the
// replacement starts, as it is where something was put in.
func (l List) Forward(offset int) int {
	shift := 0
	for _, e := range l {
		if offset <= e.Start {
			break
		}
		if offset < e.End {
			return e.Start + shift
		}
		shift += e.Length - (e.End - e.Start)
	}
	return offset + shift
}

// BackPosition is Back for positions in the two texts. Behind the end of the edited text is the end of the original.
func (l List) BackPosition(position int, edited, original string) int {
	return Position(original, l.Back(Offset(edited, position)))
}

// Shift is the list where n bytes stand before both texts.
func (l List) Shift(n int) List {
	moved := make(List, len(l))
	for i, e := range l {
		moved[i] = Edit{e.Start + n, e.End + n, e.Length}
	}
	return moved
}

// Then is the one list for l, and next on what l made (edit.E3).
func (l List) Then(next List) List {
	if len(l) == 0 {
		return next
	}
	if len(next) == 0 {
		return l
	}
	c := composition{}
	at, shift, i := 0, 0, 0 // of the middle text, what is looked at; its distance to the original before l[i]
	// walk passes the middle text up to an offset, which next kept or dropped.
	walk := func(to int, kept bool) {
		for at < to {
			stop := to
			switch {
			case i < len(l) && at >= l[i].Start+shift+l[i].Length: // behind what l[i] put in
				shift += l[i].Length - (l[i].End - l[i].Start)
				i++
				continue
			case i < len(l) && at >= l[i].Start+shift:
				stop = min(to, l[i].Start+shift+l[i].Length)
				if kept {
					c.put(l[i].Start, stop-at)
				}
			default:
				if i < len(l) {
					stop = min(to, l[i].Start+shift)
				}
				if kept {
					c.keep(at-shift, stop-shift)
				}
			}
			at = stop
		}
	}
	for _, e := range next {
		walk(e.Start, true)
		if e.Length > 0 {
			c.put(l.Back(e.Start), e.Length)
		}
		walk(e.End, false)
	}
	last := l[len(l)-1]
	rest := max(at, last.Start+l.grown(len(l)-1)+last.Length)
	walk(rest, true)
	end := rest - l.grown(len(l)) // from here on the original is kept
	c.keep(end, end)
	return c.list
}

// grown is by how much the first n edits make a text longer.
func (l List) grown(n int) (bytes int) {
	for _, e := range l[:n] {
		bytes += e.Length - (e.End - e.Start)
	}
	return bytes
}

// composition is a List in the making, of what is kept and what is put in, from left to right.
type composition struct {
	list List
	at   int // the original is accounted for up to here
}

// keep says that [start, end) of the original comes next: what is before it and not kept is replaced by what was put
// in.
func (c *composition) keep(start, end int) {
	c.replaceTo(start)
	c.at = end
}

// put says that n bytes come next that go back to start.
func (c *composition) put(start, n int) {
	c.replaceTo(start)
	if last := len(c.list) - 1; last >= 0 && c.list[last].Start == start && c.list[last].End == start && c.list[last].Length > 0 {
		c.list[last].Length += n
		return
	}
	c.list = append(c.list, Edit{start, start, n})
}

// replaceTo makes the last edit reach up to end, where nothing of the original was kept since.
func (c *composition) replaceTo(end int) {
	if end <= c.at {
		return
	}
	if last := len(c.list) - 1; last >= 0 && c.list[last].End == c.at && c.list[last].Length > 0 {
		c.list[last].End = end
	} else {
		c.list = append(c.list, Edit{c.at, end, 0})
	}
	c.at = end
}

// Editor writes an edited text, from left to right.
type Editor struct {
	original string
	out      strings.Builder
	at       int // what is written of original
	list     List
}

// New edits a text.
func New(original string) *Editor { return &Editor{original: original} }

// Replace puts by in the place of the bytes from start to end. Not ok, and nothing done: something before end of the
// last replacement would be replaced again.
func (e *Editor) Replace(start, end int, by string) (ok bool) {
	if start < e.at {
		return false
	}
	e.out.WriteString(e.original[e.at:start])
	e.out.WriteString(by)
	e.list = append(e.list, Edit{start, end, len(by)})
	e.at = end
	return true
}

// Text is what was made, and how. It is the original itself when nothing was replaced.
func (e *Editor) Text() (string, List) {
	if len(e.list) == 0 {
		return e.original, nil
	}
	return e.out.String() + e.original[e.at:], e.list
}

// Position is the position of the character that begins at an offset of a text; of its end, when the offset is behind
// it.
func Position(text string, offset int) int {
	return utf8.RuneCountInString(text[:min(offset, len(text))]) + 1
}

// Offset is where in a text the character at a position begins: its end, when it has fewer.
func Offset(text string, position int) int {
	for i := range text {
		if position--; position <= 0 {
			return i
		}
	}
	return len(text)
}
