package chart

import (
	"math"
	"strconv"
)

// Chart is what to draw.
type Chart struct {
	// Name is a file's name without its ending.
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// Axis says what its numbers are.
type Axis struct {
	Label string `json:"label"` // with the unit
	// Log is the base of a logarithmic axis, 2 or 10; 0: linear, from zero.
	Log int `json:"log,omitempty"`
}

// Series is one line.
type Series struct {
	Name string `json:"name"`
	// Reference: published figures of others.
	Reference bool    `json:"reference,omitempty"`
	Points    []Point `json:"points"`
}

// Point is one figure.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// scale maps values to [0, 1].
type scale struct {
	low, high float64 // in logarithms, if it is logarithmic
	log       bool
	ticks     []float64 // values
}

// at says where v lies; false: nowhere (CH2).
func (s scale) at(v float64) (float64, bool) {
	if s.log {
		if v <= 0 {
			return 0, false
		}
		v = math.Log(v)
	}
	return (v - s.low) / (s.high - s.low), true
}

// scaleOf spans all values of an axis.
func scaleOf(a Axis, values []float64) scale {
	if a.Log > 1 {
		return logScale(float64(a.Log), values)
	}
	high := 0.0
	for _, v := range values {
		high = max(high, v)
	}
	if high == 0 {
		high = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high)))
	for high/step < 4 {
		step /= 2
	}
	s := scale{high: step * math.Ceil(high/step)}
	for i := 0; float64(i)*step <= s.high*1.0001; i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// ticksMax bounds the labels of a logarithmic axis.
const ticksMax = 13

func logScale(base float64, values []float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 1, base
	}
	const nearly = 1e-9 // log(1000)/log(10) is not 3
	first := math.Floor(math.Log(low)/math.Log(base) + nearly)
	last := math.Ceil(math.Log(high)/math.Log(base) - nearly)
	last = max(last, first+1)
	each := math.Ceil((last - first + 1) / ticksMax)
	s := scale{low: first * math.Log(base), high: last * math.Log(base), log: true}
	for e := first; e <= last; e += each {
		s.ticks = append(s.ticks, math.Pow(base, e))
	}
	return s
}

// scales are those of both axes.
func (c *Chart) scales() (x, y scale) {
	var xs, ys []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	return scaleOf(c.X, xs), scaleOf(c.Y, ys)
}

// short writes a tick's value in few characters.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if v >= unit.size {
			if unit.name == "k" {
				unit.size = 1e3
			}
			return strconv.FormatFloat(v/unit.size, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
