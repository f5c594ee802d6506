package edit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/sql/edit"
)

// model is a text each byte of which knows where in the first text it comes from. The last cell is the text's end.
type model []cell

type cell struct {
	b    byte
	back int
}

func modelOf(text string) model {
	m := make(model, len(text)+1)
	for i := range m {
		m[i].back = i
		if i < len(text) {
			m[i].b = text[i]
		}
	}
	return m
}

func (m model) text() string {
	var out strings.Builder
	for _, c := range m[:len(m)-1] {
		out.WriteByte(c.b)
	}
	return out.String()
}

// splice is a replacement, naively, of what goes back to a place.
func (m model) splice(start, end int, by string, back int) model {
	out := append(model{}, m[:start]...)
	for i := range len(by) {
		out = append(out, cell{by[i], back})
	}
	return append(out, m[end:]...)
}

// replacement is what a test makes of a text.
type replacement struct {
	start, end int
	by         string
}

// replacements are some of a text of n bytes, in order: touching ones, empty ones and insertions among them.
func replacements(t *rapid.T, n int) (list []replacement) {
	at := 0
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		start := rapid.IntRange(at, min(n, at+4)).Draw(t, "start")
		end := rapid.IntRange(start, min(n, start+5)).Draw(t, "end")
		list = append(list, replacement{start, end, rapid.SampledFrom([]string{"", "x", "yz", "äß", "12345"}).Draw(t, "by")})
		at = end
	}
	return list
}

// edited does it both ways.
func edited(t require.TestingT, m model, list []replacement) (model, edit.List) {
	before := m.text()
	e := edit.New(before)
	for _, r := range list {
		require.True(t, e.Replace(r.start, r.end, r.by))
	}
	whole := m
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		m = m.splice(r.start, r.end, r.by, whole[r.start].back)
	}
	text, made := e.Text()
	require.Equal(t, m.text(), text)
	require.Equal(t, len(list), len(made))
	checkList(t, before, text, made)
	return m, made
}

// checkList: edit.E1, edit.E2.
func checkList(t require.TestingT, before, after string, list edit.List) {
	at, grown := 0, 0
	for _, e := range list {
		require.LessOrEqual(t, at, e.Start, "%v", list)
		require.LessOrEqual(t, e.Start, e.End, "%v", list)
		require.Equal(t, before[at:e.Start], after[at+grown:e.Start+grown], "%v", list) // what is kept
		at = e.End
		grown += e.Length - (e.End - e.Start)
	}
	require.Equal(t, before[at:], after[at+grown:], "%v", list)
	last := 0
	for i := range len(after) + 1 {
		back := list.Back(i)
		require.LessOrEqual(t, last, back, "%v", list)
		last = back
	}
	require.LessOrEqual(t, last, len(before))
}

// checkBack: a text's list finds what each byte of the text knows.
func checkBack(t require.TestingT, m model, list edit.List) {
	for i, c := range m {
		require.Equal(t, c.back, list.Back(i), "%v at %d", list, i)
	}
}

func TestAgainstNaiveSplicing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original := rapid.SampledFrom([]string{"", "a", "abcdefghij", "SELECT 0x1F, 'ä€' FROM t"}).Draw(t, "text")
		first, a := edited(t, modelOf(original), replacements(t, len(original)))
		checkBack(t, first, a)
		second, b := edited(t, first, replacements(t, len(first)-1))
		checkThen(t, first.text(), a, second.text(), b)
		ab := a.Then(b)
		checkList(t, original, second.text(), ab)
		checkBack(t, second, ab)
		third, c := edited(t, second, replacements(t, len(second)-1))
		checkBack(t, third, ab.Then(c))
		checkBack(t, third, a.Then(b.Then(c)))
	})
}

// checkThen: edit.E3.
func checkThen(t require.TestingT, middle string, a edit.List, last string, b edit.List) {
	for i := range len(last) + 3 {
		require.Equal(t, a.Back(b.Back(i)), a.Then(b).Back(i), "%v then %v at %d of %q, before %q", a, b, i, last, middle)
	}
}

func FuzzThen(f *testing.F) {
	f.Add("SELECT 0x1F FROM t", []byte{7, 4, 2, 6, 1, 9}, []byte{2, 0, 3, 1, 9, 0})
	f.Fuzz(func(t *testing.T, original string, first, second []byte) {
		decode := func(n int, from []byte) (list []replacement) {
			at := 0
			for ; len(from) >= 3; from = from[3:] {
				start := min(n, at+int(from[0])%8)
				end := min(n, start+int(from[1])%8)
				list = append(list, replacement{start, end, strings.Repeat("z", int(from[2])%8)})
				at = end
			}
			return list
		}
		m, a := edited(t, modelOf(original), decode(len(original), first))
		n, b := edited(t, m, decode(len(m)-1, second))
		checkThen(t, m.text(), a, n.text(), b)
		checkList(t, original, n.text(), a.Then(b))
		checkBack(t, n, a.Then(b))
	})
}

func TestThen(t *testing.T) {
	constants := edit.List{{7, 11, 2}} // SELECT 0x1F, a FROM t → SELECT 31, a FROM t
	tables := edit.List{{18, 19, 18}}  // → SELECT 31, a FROM csm_scan(1) AS "t"
	inside := edit.List{{8, 9, 0}}     // → SELECT 3, a FROM t
	over := edit.List{{6, 12, 1}}      // → SELECT.a FROM t
	require.Equal(t, edit.List{{7, 11, 2}, {20, 21, 18}}, constants.Then(tables))
	require.Equal(t, edit.List{{7, 11, 1}}, constants.Then(inside))
	require.Equal(t, edit.List{{6, 14, 1}}, constants.Then(over))
	require.Equal(t, edit.List{{3, 3, 3}}, edit.List{{3, 3, 2}}.Then(edit.List{{4, 4, 1}}), "one insertion into another")
	require.Equal(t, constants, edit.List(nil).Then(constants))
	require.Equal(t, constants, constants.Then(nil))
	require.Equal(t, edit.List{{10, 14, 2}}, constants.Shift(3))
}

func TestReplaceTwice(t *testing.T) {
	e := edit.New("abcdef")
	require.True(t, e.Replace(1, 3, "X"))
	require.False(t, e.Replace(2, 4, "Y"))
	require.True(t, e.Replace(3, 3, "Z"))
	text, list := e.Text()
	require.Equal(t, "aXZdef", text)
	require.Equal(t, edit.List{{1, 3, 1}, {3, 3, 1}}, list)
	text, list = edit.New("abc").Text()
	require.Equal(t, "abc", text)
	require.Nil(t, list)
}

// Clients count characters, and lists bytes.
func TestPositions(t *testing.T) {
	for _, text := range []string{"", "abc", "ä€😀z"} {
		at := 0
		for position := range utf8.RuneCountInString(text) + 1 {
			require.Equal(t, at, edit.Offset(text, position+1), text)
			require.Equal(t, position+1, edit.Position(text, at), text)
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
		}
		require.Equal(t, len(text), edit.Offset(text, 100))
		require.Equal(t, edit.Position(text, len(text)), edit.Position(text, 100))
	}
	original, after := "SELECT 'ä', 0x1F, €", "SELECT 'ä', 31, €"
	list := edit.List{{13, 17, 2}}
	for position, want := range map[int]int{1: 1, 12: 12, 13: 13, 14: 13, 15: 17, 17: 19, 18: 20, 99: 20} {
		require.Equal(t, want, list.BackPosition(position, after, original), position)
	}
}

// What was kept is where it was kept; what was replaced is where that starts which stands for it.
func TestForward(t *testing.T) {
	edited := edit.New("ab cd ef")
	edited.Replace(3, 5, "long")
	edited.Replace(6, 6, "in ")
	text, made := edited.Text()
	require.Equal(t, "ab long in ef", text)
	for offset, want := range []int{0, 1, 2, 3, 3, 7, 8, 12, 13} {
		require.Equal(t, want, made.Forward(offset), offset)
	}
	require.Equal(t, 5, edit.List(nil).Forward(5))
}
