package chart

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// The drawing, in pixels.
const (
	width, height            = 860, 420
	left, right, top, bottom = 70, 260, 40, 55
)

// colours can be distinguished by colour-blind readers, too (Okabe and Ito).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d1f"}

// SVG writes the chart as a picture.
func (c *Chart) SVG(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", width, height)
	title := html.EscapeString(c.Title)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", title, width, height)
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"22\" font-size=\"14\" font-weight=\"bold\">%s</text>\n", left, title)
	x, y := c.scales()
	c.axes(&b, x, y)
	for i, s := range c.Series {
		line(&b, s, i, x, y)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func across(share float64) float64 { return left + share*(width-left-right) }

func down(share float64) float64 { return height - bottom - share*(height-top-bottom) }

func (c *Chart) axes(b *strings.Builder, x, y scale) {
	for _, v := range x.ticks {
		share, _ := x.at(v)
		at := across(share)
		fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e5e5e5\"/>\n", at, top, at, height-bottom)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at, height-bottom+16, short(v))
	}
	for _, v := range y.ticks {
		share, _ := y.at(v)
		at := down(share)
		fmt.Fprintf(b, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e5e5e5\"/>\n", left, at, width-right, at)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left-6, at+4, short(v))
	}
	fmt.Fprintf(b, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#333\"/>\n", left, top, height-bottom, width-right)
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", across(0.5), height-12, html.EscapeString(c.X.Label))
	fmt.Fprintf(b, "<text transform=\"translate(16 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", down(0.5), html.EscapeString(c.Y.Label))
}

// line draws a series and its line in the legend.
func line(b *strings.Builder, s Series, i int, x, y scale) {
	colour, dash := colours[i%len(colours)], ""
	if s.Reference {
		dash = ` stroke-dasharray="5 4"`
	}
	var points []string
	for _, p := range s.Points {
		h, okX := x.at(p.X)
		v, okY := y.at(p.Y)
		if okX && okY {
			points = append(points, fmt.Sprintf("%.1f,%.1f", across(h), down(v)))
		}
	}
	fmt.Fprintf(b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s/>\n", strings.Join(points, " "), colour, dash)
	for _, p := range points {
		at := strings.Split(p, ",")
		fmt.Fprintf(b, "<circle cx=\"%s\" cy=\"%s\" r=\"2.4\" fill=\"%s\"/>\n", at[0], at[1], colour)
	}
	legend := top + 8 + 20*i
	fmt.Fprintf(b, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"1.8\"%s/>\n", width-right+14, legend, width-right+40, legend, colour, dash)
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", width-right+46, legend+4, html.EscapeString(s.Name))
}
