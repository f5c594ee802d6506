package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/bench/chart"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

func strides() *chart.Chart {
	c := &chart.Chart{
		Name: "strides", Title: "Strided reads <& writes>", X: chart.Axis{Label: "stride", Log: 2}, Y: chart.Axis{Label: "GiB/s", Log: 10},
		Series: []chart.Series{{Name: "ours"}, {Name: "the thesis, \"remote\"", Reference: true}},
	}
	for i := range 12 {
		x := float64(int(1) << i)
		c.Series[0].Points = append(c.Series[0].Points, chart.Point{X: x, Y: 20 / x})
		c.Series[1].Points = append(c.Series[1].Points, chart.Point{X: x, Y: max(6/x, 0.14)})
	}
	return c
}

func linear() *chart.Chart {
	return &chart.Chart{
		Name: "linear", Title: "Linear", X: chart.Axis{Label: "MB"}, Y: chart.Axis{Label: "ms"},
		Series: []chart.Series{{Name: "one", Points: []chart.Point{{0, 0}, {500, 310}, {1650, 812}}}},
	}
}

// CH1: drawings are what they were.
func TestGolden(t *testing.T) {
	for _, c := range []*chart.Chart{strides(), linear()} {
		for ending, draw := range map[string]func(io.Writer) error{".svg": c.SVG, ".txt": c.Text} {
			var b bytes.Buffer
			require.NoError(t, draw(&b))
			path := filepath.Join("testdata", c.Name+ending)
			if *rewrite {
				require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		}
	}
}

// wellFormed reads all of an XML document.
func wellFormed(t *testing.T, document string) {
	d := xml.NewDecoder(strings.NewReader(document))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

var circle = regexp.MustCompile(`<circle cx="([^"]+)" cy="([^"]+)"`)

// CH2: every point lies within the axes, whatever the values; those that no logarithm has are left out.
func TestPointsLieWithinTheAxes(t *testing.T) {
	for _, values := range [][]float64{{1}, {0}, {0, 0, 0}, {1e-6, 1e12}, {3, 3}, {-1, 5, 0}, {999.99, 1000, 1001}, nil} {
		for _, log := range []int{0, 2, 10} {
			c := &chart.Chart{X: chart.Axis{Log: log}, Y: chart.Axis{Log: log}, Series: []chart.Series{{Name: "s"}}}
			drawn := 0
			for _, v := range values {
				if v < 0 && log == 0 {
					continue // linear axes begin at zero
				}
				c.Series[0].Points = append(c.Series[0].Points, chart.Point{X: v, Y: v})
				if v > 0 || log == 0 {
					drawn++
				}
			}
			var b strings.Builder
			require.NoError(t, c.SVG(&b))
			require.NoError(t, c.Text(io.Discard))
			wellFormed(t, b.String())
			found := circle.FindAllStringSubmatch(b.String(), -1)
			require.Len(t, found, drawn, "%v, base %d", values, log)
			for _, at := range found {
				x, err := strconv.ParseFloat(at[1], 64)
				require.NoError(t, err)
				y, err := strconv.ParseFloat(at[2], 64)
				require.NoError(t, err)
				require.True(t, x >= 69.9 && x <= 600.1 && y >= 39.9 && y <= 365.1, "%v, base %d: %v", values, log, at)
			}
		}
	}
}
