package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/csmsql/csmsql/bench/chart"
)

// Markdown writes reports as a page of documentation, which says by which command it was made. Its charts are links to
// pictures in the directory images, as a browser sees it from the page; SVG writes them.
func Markdown(w io.Writer, command, images string, reports []*Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Results\n\nMade by `%s`, which is to be run again instead of editing this page.\n", command)
	for _, r := range reports {
		r.markdown(&b, images)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) markdown(b *strings.Builder, images string) {
	m := r.Machine
	fmt.Fprintf(b, "\n## %s\n\n%s\n", r.Name, wrap(asSentence(r.Setting)))
	b.WriteString(wrap(fmt.Sprintf("Machine: %s, %d cores, %s, Linux %s, %s, %s, load average %s when it ended.", m.CPU, m.Cores, m.Memory, m.Kernel, m.Go, m.Date, m.Load)))
	b.WriteString("\n| goal | measured | limit | |\n|---|---|---|---|\n")
	for _, g := range r.Goals {
		verdict := "met"
		if !g.Met {
			verdict = "**missed**"
		}
		fmt.Fprintf(b, "| %s | %s | %s %s | %s |\n", g.Claim, number(g.Measured), g.Sense, number(g.Limit), verdict)
	}
	b.WriteString("\n")
	markdownTable(b, r.Columns, r.Rows)
	for _, t := range r.More {
		b.WriteString("\n" + wrap(asSentence(t.Title)) + "\n")
		markdownTable(b, t.Columns, t.Rows)
	}
	for i := range r.Charts {
		fmt.Fprintf(b, "\n![%s](%s/%s.svg)\n", r.Charts[i].Title, images, r.Charts[i].Name)
	}
}

// asSentence ends with a full stop and begins with a capital.
func asSentence(text string) string {
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func markdownTable(b *strings.Builder, columns []string, rows [][]any) {
	fmt.Fprintf(b, "| %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)-1))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// SVG writes every chart of the reports into a directory, which is made if it is not there, as NAME.svg.
func SVG(directory string, reports []*Report) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for _, r := range reports {
		for i := range r.Charts {
			if err := draw(directory, &r.Charts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func draw(directory string, c *chart.Chart) error {
	var b strings.Builder
	if err := c.SVG(&b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, c.Name+".svg"), []byte(b.String()), 0o644)
}
