package split

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/fragment"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/scan"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/optimization"
)

// EXPLAIN: the parts of a statement, where they run, and what they will read, or have read.

// Describe is what EXPLAIN ANALYZE shows when the statement has given its rows, of which the coordinator has read
// volume.
func (r *Run) Describe(rows int64, took time.Duration, volume *reader.Volume) string {
	read := bytesRead(volume.Local.Load(), volume.Remote.Load(), volume.ResultsLocal.Load(), volume.ResultsRemote.Load())
	final := fmt.Sprintf("on %s: %s, %s since the beginning; %s", r.node.Name, counted.Of(rows, "row"), milliseconds(took), read)
	return r.plan.Describe(func(s *distribute.Stage, f *distribute.Fragment) string {
		i := slices.IndexFunc(s.Fragments, func(g distribute.Fragment) bool { return g.Part == f.Part && g.Partition == f.Partition })
		return r.results[s.Number-1].ran[i].String()
	}, final)
}

// DescribeWhole is that of a statement that was run whole after its parts had failed.
func DescribeWhole(rows int64, took time.Duration) string {
	return fmt.Sprintf("it could not be run in parts, and was run whole: %s in %s", counted.Of(rows, "row"), milliseconds(took))
}

// String is a fragment's line in EXPLAIN ANALYZE.
func (f *ranFragment) String() string {
	var b strings.Builder
	if f.attempts > 1 {
		fmt.Fprintf(&b, "%d attempts, run on %s; ", f.attempts, f.node)
	}
	if p := f.Pruning(); p != "" {
		b.WriteString(p + "; ")
	}
	read := bytesRead(f.read.BytesLocal, f.read.BytesRemote, f.ResultBytesLocal, f.ResultBytesRemote)
	fmt.Fprintf(&b, "%s in %s; %s", counted.Of(f.rows, "row"), milliseconds(f.Took), read)
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

// Foresee says of each fragment what of the tables it will read: chunks that are not pruned, rows and bytes of the
// columns in them. Key filters, which are found when a fragment is planned, leave out more rows.
func (c *Coordinator) Foresee(ctx context.Context, p *Plan, args []any, without optimization.Set) (string, error) {
	out := map[*distribute.Fragment]string{}
	for i := range p.Stages {
		stage := &p.Stages[i]
		hints, err := p.hints(stage)
		if err != nil {
			return "", err
		}
		bound := argument.Constants(ArgumentsOf(&stage.Text, args))
		for k := range stage.Fragments {
			f := &stage.Fragments[k]
			if out[f], err = c.foreseen(ctx, p, stage, f, hints, bound, without); err != nil {
				return "", err
			}
		}
	}
	return p.Describe(func(_ *distribute.Stage, f *distribute.Fragment) string { return out[f] }, ""), nil
}

// hints are those of the tables in a stage's text.
func (p *Plan) hints(stage *distribute.Stage) ([]plan.Scan, error) {
	tree := dialect.TreeOf(stage.SQL)
	if tree == nil {
		return nil, errors.New("the text of a stage cannot be parsed")
	}
	return plan.Read(stage.SQL, tree, plan.ResolverFunc(func(_, schema, table string) *plan.Relation {
		for _, r := range stage.Reads {
			switch {
			case r.Relation == nil && strings.EqualFold(table, distribute.StageName(r.Stage)):
				return p.resultOf(r.Stage)
			case r.Relation != nil && strings.EqualFold(table, r.Relation.Name) &&
				(schema == "" || strings.EqualFold(schema, r.Relation.Schema)):
				return r.Relation
			}
		}
		return nil
	})).Scans()
}

// resultOf is a stage's result as far as it is known before it is there.
func (p *Plan) resultOf(number int) *plan.Relation {
	r := &plan.Relation{Name: distribute.StageName(number)}
	for i := range p.Stages[number-1].Columns {
		r.Columns = append(r.Columns, plan.Column{Name: fmt.Sprintf("c%d", i), Type: arrow.BinaryTypes.String})
	}
	return r
}

func (c *Coordinator) foreseen(ctx context.Context, p *Plan, stage *distribute.Stage, f *distribute.Fragment,
	hints []plan.Scan,
	args []plan.Value, without optimization.Set) (string, error) {
	var m fragment.Measures
	var e distribute.Estimate
	for i := range hints {
		k := slices.IndexFunc(stage.Reads, func(r distribute.Read) bool { return r.Start == hints[i].Start })
		if k < 0 || stage.Reads[k].Relation == nil {
			continue
		}
		version := p.Versions[stage.Reads[k].Relation]
		t := &scan.Scan{Facts: c.Facts.Of(version), Hint: &hints[i]}
		keep, err := facts.Pruned(ctx, t.Facts, hints[i].Bind(args), without)
		if err != nil {
			return "", err
		}
		if stage.Reads[k].Part {
			if t.Part, err = c.chunksAt(ctx, version, f.Part); err != nil {
				return "", err
			}
			keep = slices.DeleteFunc(keep, func(n int) bool { return !slices.Contains(t.Part, n) })
		}
		m.Scans = append(m.Scans, fragment.Scan{Table: version.Table().Name.Name, Chunks: len(keep), Of: t.Available()})
		if err := t.Foresee(ctx, keep, func(chunk *catalog.Chunk) bool { return c.has(f.Node, chunk) }, &e); err != nil {
			return "", err
		}
	}
	if text := m.Pruning(); text != "" {
		return text + "; " + e.String(), nil
	}
	return e.String(), nil
}
