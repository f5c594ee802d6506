package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/csmsql/csmsql/bench/chart"
)

// Report is what a benchmark found. Cells of Rows are text, numbers or time.Duration.
type Report struct {
	Name    string   `json:"name"`
	Machine Machine  `json:"machine"`
	Setting string   `json:"setting"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	More    []Table  `json:"more,omitempty"`
	Goals   []Goal   `json:"goals"`
	// Charts are the figures among the tables.
	Charts []chart.Chart `json:"charts,omitempty"`
	// Samples are the single times that medians were taken of, in the order in which they were measured. Only JSON has
	// them.
	Samples map[string][]time.Duration `json:"samples"`
}

// Table is a further table of a report that has several.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// Goal is a claim and what was measured.
type Goal struct {
	Claim    string  `json:"claim"`
	Measured float64 `json:"measured"`
	// Sense says on which side of Limit the goal is: "≤" or "≥".
	Sense string  `json:"sense"`
	Limit float64 `json:"limit"`
	Met   bool    `json:"met"`
}

// atMost judges a measured value.
func atMost(claim string, measured, limit float64) Goal {
	return Goal{Claim: claim, Measured: measured, Sense: "≤", Limit: limit, Met: measured <= limit}
}

// atLeast judges a measured value.
func atLeast(claim string, measured, limit float64) Goal {
	return Goal{Claim: claim, Measured: measured, Sense: "≥", Limit: limit, Met: measured >= limit}
}

// Machine is where it was measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Date   string `json:"date"`
	// Load is the load average of the last minute when the report was made: others may have used the machine, too.
	Load string `json:"load"`
}

func thisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Date: time.Now().UTC().Format(time.RFC3339)}
	m.CPU = after("/proc/cpuinfo", "model name")
	m.Memory = after("/proc/meminfo", "MemTotal")
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

// after reads "name : value" from a file of the kernel.
func after(file, name string) string {
	text, _ := os.ReadFile(file)
	for _, line := range strings.Split(string(text), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Met reports whether all goals were met.
func (r *Report) Met() bool {
	return !slices.ContainsFunc(r.Goals, func(g Goal) bool { return !g.Met })
}

// JSON writes the report for programs. Times are in milliseconds.
func (r *Report) JSON(w io.Writer) error {
	type plain Report
	out := struct {
		plain
		Met     bool                 `json:"met"`
		Times   string               `json:"times"`
		Samples map[string][]float64 `json:"samples"`
	}{plain: plain(*r), Met: r.Met(), Times: "ms", Samples: map[string][]float64{}}
	out.Rows = plainRows(r.Rows)
	out.More = slices.Clone(r.More)
	for i := range out.More {
		out.More[i].Rows = plainRows(out.More[i].Rows)
	}
	for name, times := range r.Samples {
		for _, d := range times {
			out.Samples[name] = append(out.Samples[name], milliseconds(d))
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// plainRows has numbers of milliseconds in place of times.
func plainRows(rows [][]any) [][]any {
	out := make([][]any, len(rows))
	for i, row := range rows {
		for _, v := range row {
			if d, ok := v.(time.Duration); ok {
				v = milliseconds(d)
			}
			out[i] = append(out[i], v)
		}
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// textWidth is where sentences are wrapped.
const textWidth = 110

// Text writes the report for people: what was measured and where, a table, the goals.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	m := r.Machine
	b.WriteString(wrap(r.Name + ": " + r.Setting))
	b.WriteString(wrap(fmt.Sprintf("%s, %d cores, %s, Linux %s, %s, %s, load average %s", m.CPU, m.Cores, m.Memory, m.Kernel, m.Go, m.Date, m.Load)))
	b.WriteString("\n")
	writeTable(&b, r.Columns, r.Rows)
	b.WriteString("\n")
	for _, t := range r.More {
		b.WriteString(wrap(t.Title))
		writeTable(&b, t.Columns, t.Rows)
		b.WriteString("\n")
	}
	for i := range r.Charts {
		_ = r.Charts[i].Text(&b) // a builder takes everything
		b.WriteString("\n")
	}
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "MISSED"
		}
		fmt.Fprintf(&b, "%-6s %s: %s (goal: %s %s)\n", verdict, g.Claim, number(g.Measured), g.Sense, number(g.Limit))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable aligns the first column left and the others right.
func writeTable(b *strings.Builder, columns []string, rows [][]any) {
	lines := [][]string{columns}
	for _, row := range rows {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = cell(v)
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(columns))
	for _, line := range lines {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, line := range lines {
		text := ""
		for i, c := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				text += c + pad
			} else {
				text += "  " + pad + c
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

func wrap(text string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+length > textWidth:
			b.WriteString("\n")
			width = 0
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += length
	}
	return b.String() + "\n"
}

func cell(v any) string {
	switch v := v.(type) {
	case time.Duration:
		if v != 0 && v < 10*time.Microsecond {
			return fmt.Sprintf("%.3f µs", float64(v)/1e3)
		}
		return fmt.Sprintf("%.3f ms", milliseconds(v))
	case float64:
		return number(v)
	}
	return fmt.Sprint(v)
}

// number shows three digits behind the point of what is small, and whole numbers as such.
func number(v float64) string {
	if math.Abs(v) >= 1000 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// median of a non-empty list.
func median(d []time.Duration) time.Duration {
	sorted := slices.Clone(d)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// geometricMean of positive numbers.
func geometricMean(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}
