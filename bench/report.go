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
)

// Report is what a benchmark found.
type Report struct {
	Name    string   `json:"name"`
	Machine Machine  `json:"machine"`
	Setting string   `json:"setting"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Goals   []Goal   `json:"goals"`
}

// Goal is a claim and what was measured.
type Goal struct {
	Claim    string  `json:"claim"`
	Measured float64 `json:"measured"`
	Limit    float64 `json:"limit"`
	Met      bool    `json:"met"`
}

// atMost judges a measured value.
func atMost(claim string, measured, limit float64) Goal {
	return Goal{Claim: claim, Measured: measured, Limit: limit, Met: measured <= limit}
}

// atLeast judges a measured value.
func atLeast(claim string, measured, limit float64) Goal {
	return Goal{Claim: claim, Measured: measured, Limit: limit, Met: measured >= limit}
}

// Machine is where it was measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Date   string `json:"date"`
}

func thisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Date: time.Now().UTC().Format(time.RFC3339)}
	m.CPU = after("/proc/cpuinfo", "model name")
	m.Memory = after("/proc/meminfo", "MemTotal")
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
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

// Met tells whether all goals were met.
func (r *Report) Met() bool {
	return !slices.ContainsFunc(r.Goals, func(g Goal) bool { return !g.Met })
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	m := r.Machine
	fmt.Fprintf(w, "%s: %s\n%s, %d cores, %s, Linux %s, %s, %s\n\n", r.Name, r.Setting, m.CPU, m.Cores, m.Memory, m.Kernel, m.Go, m.Date)
	cells := [][]string{r.Columns}
	for _, row := range r.Rows {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = cell(v)
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(r.Columns))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for _, line := range cells {
		for i, c := range line {
			fmt.Fprintf(w, "%*s  ", widths[i], c)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%-6s %s: %s (goal %s)\n", verdict, g.Claim, number(g.Measured), number(g.Limit))
	}
	return nil
}

func cell(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return fmt.Sprintf("%.3f ms", float64(v.Nanoseconds())/1e6)
	case float64:
		return number(v)
	}
	return fmt.Sprint(v)
}

func number(v float64) string {
	if math.Abs(v) >= 1000 {
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
