package chart

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
)

// The drawing, in characters.
const columns, rows = 72, 18

// Text writes the chart for a terminal: a letter for each series, small for references, and '*' where several meet.
func (c *Chart) Text(w io.Writer) error {
	grid := make([][]rune, rows)
	for i := range grid {
		grid[i] = []rune(strings.Repeat(" ", columns))
	}
	x, y := c.scales()
	for i, s := range c.Series {
		letter := letterOf(i, s)
		for _, p := range s.Points {
			h, okX := x.at(p.X)
			v, okY := y.at(p.Y)
			if !okX || !okY {
				continue
			}
			cell := &grid[rows-1-int(math.Round(v*(rows-1)))][int(math.Round(h*(columns-1)))]
			if *cell == ' ' || *cell == letter {
				*cell = letter
			} else {
				*cell = '*'
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", c.Title, c.Y.Label)
	labels := labelsOf(y)
	for i, line := range grid {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%8s │%s", labels[rows-1-i], string(line)), " ") + "\n")
	}
	fmt.Fprintf(&b, "%8s └%s\n", "", strings.Repeat("─", columns))
	fmt.Fprintf(&b, "%s\n%8s  %s\n", under(x), "", c.X.Label)
	for i, s := range c.Series {
		fmt.Fprintf(&b, "%8s  %c %s\n", "", letterOf(i, s), s.Name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func letterOf(i int, s Series) rune {
	letter := rune('A' + i%26)
	if s.Reference {
		return unicode.ToLower(letter)
	}
	return letter
}

// labelsOf are the ticks of the upright axis, by row from below.
func labelsOf(y scale) map[int]string {
	labels := map[int]string{}
	for _, v := range y.ticks {
		share, _ := y.at(v)
		labels[int(math.Round(share*(rows-1)))] = short(v)
	}
	return labels
}

// under are the ticks of the lying axis, those that have room.
func under(x scale) string {
	line := []rune(strings.Repeat(" ", columns+18))
	free := 0
	for _, v := range x.ticks {
		share, _ := x.at(v)
		text := []rune(short(v))
		at := max(10+int(math.Round(share*(columns-1)))-len(text)/2, 0)
		if at < free || at+len(text) > len(line) {
			continue
		}
		copy(line[at:], text)
		free = at + len(text) + 1
	}
	return strings.TrimRight(string(line), " ")
}
