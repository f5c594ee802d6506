package enginetest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// Whether queries to a cluster are answered by plans for several nodes is counted: a suite whose queries are all
// answered by one node finds no fault of such plans.

// plans count what became of the queries to a cluster.
type plans struct {
	asked, split int            // of answers: in all, and by several nodes
	explained    int            // plans that were looked at
	forms        map[string]int // how many of them have a stage of that form
	reasons      map[string]int // why a statement ran whole
}

var stageForm = regexp.MustCompile(`(?m)^stage \d+: ([a-z ]+?)(?: of .*)? in \d+ columns?(, written)?`)

// explain looks at one plan.
func (p *plans) explain(side asked, sql string, args []any) {
	o := side.query("EXPLAIN "+sql, args)
	if o.state != "" {
		return
	}
	if p.forms == nil {
		p.forms, p.reasons = map[string]int{}, map[string]int{}
	}
	p.explained++
	text := strings.Join(o.rows, "\n")
	seen := map[string]bool{}
	for _, m := range stageForm.FindAllStringSubmatch(text, -1) {
		seen[m[1]+strings.ReplaceAll(m[2], ", written", ", shuffled")] = true
	}
	for form := range seen {
		p.forms[form]++
	}
	if len(seen) == 0 {
		_, reason, _ := strings.Cut(text, "Single node: ")
		reason, _, _ = strings.Cut(reason, "\n")
		p.reasons[reason]++
	}
}

// count adds what the nodes say of the queries that they have answered since then.
func (p *plans) count(f *surface, since time.Time) {
	for _, side := range f.asked {
		o := side.query(fmt.Sprintf(`SELECT count(*), count(*) FILTER (WHERE fragments > 0) FROM csm.queries
			WHERE epoch_us(started) >= %d AND coalesce(error, '') = ''`, since.UnixMicro()), nil)
		require.Empty(f.t, o.state, o.message)
		all, split, _ := strings.Cut(o.rows[0], " | ")
		a, err := strconv.Atoi(all)
		require.NoError(f.t, err)
		s, err := strconv.Atoi(split)
		require.NoError(f.t, err)
		p.asked, p.split = p.asked+a, p.split+s
	}
}

func (p plans) String() string {
	list := func(m map[string]int) string {
		names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[b] - m[a] })
		for i, n := range names {
			names[i] = fmt.Sprintf("%s: %d", n, m[n])
		}
		return strings.Join(names[:min(len(names), 14)], "; ")
	}
	return fmt.Sprintf("%d of %d answers by several nodes; of %d plans, stages: %s; whole: %s",
		p.split, p.asked, p.explained, list(p.forms), list(p.reasons))
}

// tally is a log that counts how often what was said.
type tally struct {
	mu   sync.Mutex
	said map[string]int
}

func (t *tally) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (t *tally) WithAttrs([]slog.Attr) slog.Handler               { return t }
func (t *tally) WithGroup(string) slog.Handler                    { return t }

func (t *tally) Handle(_ context.Context, r slog.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil {
		t.said = map[string]int{}
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			text += ": " + a.Value.String()
		}
		return true
	})
	t.said[text]++
	return nil
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprint(t.said)
}
