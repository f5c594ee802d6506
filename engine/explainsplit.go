package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
)

// EXPLAIN of a statement that several nodes run: its parts, where they run, and what they will read, or have read.

func (q *query) explainSplit(ctx context.Context, v *visible, head *statement.Explain, lines []string, args []any) (*Rows, error) {
	text := ""
	if head.Analyze {
		ran, err := q.analyzeSplit(ctx, v, args)
		if err != nil {
			return nil, err
		}
		text = ran
	} else {
		readings, err := q.foreseen(ctx, args)
		if err != nil {
			return nil, err
		}
		text = q.split.Describe(func(s *distribute.Stage, f *distribute.Fragment) string { return readings[f] }, "")
	}
	return textRows("QUERY PLAN", append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...), "EXPLAIN"), nil
}

// analyzeSplit runs the statement, drops its rows, and tells what was measured.
func (q *query) analyzeSplit(ctx context.Context, v *visible, args []any) (string, error) {
	started := time.Now()
	rows, err := q.execute(ctx, v, args)
	if err != nil {
		return "", err
	}
	done, err := rows.drain(ctx)
	if err != nil {
		return "", err
	}
	took := time.Since(started)
	r := rows.split
	if r == nil {
		return fmt.Sprintf("it could not be run in parts, and was run whole: %s in %s", counted.Of(done.RowsAffected, "row"), milliseconds(took)), nil
	}
	final := fmt.Sprintf("on %s: %s, %s since the beginning; %s", q.session.engine.config.Node, counted.Of(done.RowsAffected, "row"), milliseconds(took),
		bytesRead(rows.volume.Local.Load(), rows.volume.Remote.Load(), rows.volume.ResultsLocal.Load(), rows.volume.ResultsRemote.Load()))
	return r.plan.Describe(func(s *distribute.Stage, f *distribute.Fragment) string {
		i := slices.IndexFunc(s.Fragments, func(g distribute.Fragment) bool { return g.Part == f.Part && g.Partition == f.Partition })
		return r.results[s.Number-1].ran[i].String(f)
	}, final), nil
}

// String is a fragment's line in EXPLAIN ANALYZE.
func (f *ranFragment) String(planned *distribute.Fragment) string {
	var b strings.Builder
	if f.attempts > 1 {
		fmt.Fprintf(&b, "%d attempts, run on %s; ", f.attempts, f.node)
	}
	if p := f.pruning(); p != "" {
		b.WriteString(p + "; ")
	}
	fmt.Fprintf(&b, "%s in %s; %s", counted.Of(f.rows, "row"), milliseconds(f.Took), bytesRead(f.read.BytesLocal, f.read.BytesRemote, f.ResultBytesLocal, f.ResultBytesRemote))
	return b.String()
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func bytesRead(local, remote, resultsLocal, resultsRemote int64) string {
	text := counted.Of(local, "byte") + " local, " + counted.Of(remote, "byte") + " remote"
	if resultsLocal+resultsRemote > 0 {
		text += "; of results " + counted.Of(resultsLocal, "byte") + " local, " + counted.Of(resultsRemote, "byte") + " remote"
	}
	return text
}

// foreseen tells of each fragment what of the tables it will read: chunks that are not pruned, rows and bytes of the columns in them.
// Key filters, which are found when a fragment is planned, leave out more rows.
func (q *query) foreseen(ctx context.Context, args []any) (map[*distribute.Fragment]string, error) {
	out := map[*distribute.Fragment]string{}
	for i := range q.split.Stages {
		stage := &q.split.Stages[i]
		hints, err := q.split.hints(stage)
		if err != nil {
			return nil, err
		}
		bound := planValues(argumentsOf(&stage.Text, args))
		for k := range stage.Fragments {
			if out[&stage.Fragments[k]], err = q.foreseenBy(ctx, stage, &stage.Fragments[k], hints, bound); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// hints are those of the tables in a stage's text.
func (d *distributed) hints(stage *distribute.Stage) ([]plan.Scan, error) {
	tree := dialect.TreeOf(stage.SQL)
	if tree == nil {
		return nil, errors.New("engine: the text of a stage cannot be parsed")
	}
	return plan.Scans(stage.SQL, tree, plan.ResolverFunc(func(_, schema, table string) *plan.Relation {
		for _, r := range stage.Reads {
			switch {
			case r.Relation == nil && strings.EqualFold(table, distribute.StageName(r.Stage)):
				return d.resultOf(r.Stage)
			case r.Relation != nil && strings.EqualFold(table, r.Relation.Name) && (schema == "" || strings.EqualFold(schema, r.Relation.Schema)):
				return r.Relation
			}
		}
		return nil
	}))
}

// resultOf is a stage's result as far as it is known before it is there.
func (d *distributed) resultOf(number int) *plan.Relation {
	r := &plan.Relation{Name: distribute.StageName(number)}
	for i := range d.Stages[number-1].Columns {
		r.Columns = append(r.Columns, plan.Column{Name: fmt.Sprintf("c%d", i), Type: textType})
	}
	return r
}

func (q *query) foreseenBy(ctx context.Context, stage *distribute.Stage, f *distribute.Fragment, hints []plan.Scan, args []plan.Value) (string, error) {
	var m fragmentMeasures
	var e distribute.Estimate
	for i := range hints {
		k := slices.IndexFunc(stage.Reads, func(r distribute.Read) bool { return r.Start == hints[i].Start })
		if k < 0 || stage.Reads[k].Relation == nil {
			continue
		}
		version := q.split.versions[stage.Reads[k].Relation]
		t := &scan.Scan{Facts: q.session.engine.facts.Of(version), Hint: &hints[i]}
		keep, err := facts.Pruned(ctx, t.Facts, hints[i].Bind(args), q.without)
		if err != nil {
			return "", err
		}
		if stage.Reads[k].Part {
			if t.Part, err = q.session.engine.chunksAt(ctx, version, f.Part); err != nil {
				return "", err
			}
			keep = slices.DeleteFunc(keep, func(c int) bool { return !slices.Contains(t.Part, c) })
		}
		m.Scans = append(m.Scans, fragmentScan{Table: version.Table().Name.Name, Chunks: len(keep), Of: t.Available()})
		if err := t.Foresee(ctx, keep, func(c *catalog.Chunk) bool { return q.session.engine.has(f.Node, c) }, &e); err != nil {
			return "", err
		}
	}
	if text := m.pruning(); text != "" {
		return text + "; " + e.String(), nil
	}
	return e.String(), nil
}

// has tells whether a node has a chunk in its own memory.
func (e *Engine) has(node string, c *catalog.Chunk) bool {
	d := c.Descriptor()
	for i := range d.Replicas() {
		if extents := d.ExtentsOf(i); len(extents) == 0 && node == e.config.Node {
			return true
		} else if len(extents) > 0 {
			if name, there := e.catalog.Reachable(extents[0].Region); there && name == node {
				return true
			}
		}
	}
	return false
}
