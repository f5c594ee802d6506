package distribute

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/outline"
)

// planner turns an analysis into stages. What it has decided so far is in stages and staged; both only grow, or go back
// to a mark.
type planner struct {
	*analysis
	settings *Settings
	named    []*cte // the CTEs that are used at all
	stages   []Stage
	costs    []float64                 // of the stages
	rows     []float64                 // that the stages give
	staged   []edit                    // queries of the statement, each to be replaced by what finishes its stage
	stagedOf []*query                  // whose edits those are
	shuffles map[*occurrence]*shuffled // of the attempt under way
	edits    []edit                    // that put them in place of the tables
	whyNot   string                    // the first reason why a block that could have been split was not
	steps    int                       // taken

	estimates map[*query]float64 // of rows
}

// mostSteps bounds what a plan takes (D9): queries within queries are tried again for each attempt at those around
// them. TPC-H's queries take some hundreds; the bound is a fraction of a second.
const mostSteps = 500_000

// tired counts a step, and reports whether there were too many: then nothing that was found out since counts.
func (p *planner) tired() bool {
	p.steps++
	return p.steps > mostSteps
}

// Plan decides how a statement is run. Exactly one of the results is not nil, and holds nothing of the statement.
func Plan(st *plan.Statement, placement Placement, settings Settings) (*Distributed, *Single) {
	if len(settings.Nodes) < 2 {
		return nil, &Single{"there is no other node"}
	}
	if st.Tree == nil || len(st.Tree.Stmts) != 1 || st.Tree.Stmts[0].GetStmt().GetSelectStmt() == nil {
		return nil, &Single{"only a single query can be split"}
	}
	scans, err := st.Scans()
	if err != nil {
		return nil, &Single{err.Error()}
	}
	if reason := settings.local(scans, placement); reason != "" {
		return nil, &Single{reason}
	}
	if strings.Contains(strings.ToLower(st.Text), "csm_stage_") {
		return nil, &Single{"a name that results of stages have"}
	}
	text, err := outline.New(st.Text)
	if err != nil {
		return nil, &Single{err.Error()}
	}
	a, top := analyze(text, st, scans, placement)
	if a.reason != "" {
		return nil, &Single{a.reason}
	}
	p := &planner{analysis: a, settings: &settings, estimates: map[*query]float64{}}
	return p.decide(top)
}

// local says why nothing need be asked of other nodes, before anything is looked at more closely (D2).
func (s *Settings) local(scans []plan.Scan, placement Placement) string {
	if len(scans) == 0 {
		return "no table is read"
	}
	var rows, bytes int64
	elsewhere := false
	for i := range scans {
		if slices.ContainsFunc(scans[i].Relation.Columns, func(c plan.Column) bool {
			return strings.HasPrefix(c.Mark, plan.OpaqueMark)
		}) {
			return "results show a type of a table as another one" // and stages would (D5)
		}
		l := placement.Layout(scans[i].Relation)
		if l == nil {
			continue
		}
		r, b := l.total()
		rows, bytes = rows+r, bytes+b
		elsewhere = elsewhere || !l.only(s.Coordinator)
	}
	switch {
	case !elsewhere:
		return "all data lies on the coordinator"
	case rows < s.MinRows || bytes < s.MinBytes:
		return "there is little data"
	}
	return ""
}

// decide plans the statement.
func (p *planner) decide(top *query) (*Distributed, *Single) {
	p.named = p.ctesOf(top, nil)
	single := p.work(p.reads(top))
	p.place(top)
	if p.steps > mostSteps {
		return nil, &Single{"it has too many queries within queries"}
	}
	if len(p.stages) == 0 {
		if p.whyNot == "" {
			p.whyNot = "no part of the statement can be split off"
		}
		return nil, &Single{p.whyNot}
	}
	final := p.coordinated(top)
	_, cost := p.reading(&final, p.settings.Coordinator, "")
	for _, c := range p.costs {
		cost += c
	}
	d := &Distributed{Stages: p.stages, Final: final, SingleCost: single, Cost: cost}
	if p.settings.MinGain > 0 && d.Gain() < p.settings.MinGain {
		return nil, &Single{notWorth}
	}
	return d, nil
}

// coordinated is a query's text as the coordinator runs it, with finished stages in place of what they replace.
func (p *planner) coordinated(q *query) Text {
	b := p.builder(nil)
	b.original(q.text.Span)
	return b.text()
}

// mark is a state of the planner to come back to.
type mark struct{ stages, staged int }

func (p *planner) mark() mark { return mark{len(p.stages), len(p.staged)} }

// take gives what was decided since a mark, and goes back to it.
func (p *planner) take(m mark) decisions {
	d := decisions{slices.Clone(p.stages[m.stages:]), slices.Clone(p.costs[m.stages:]), slices.Clone(p.rows[m.stages:]),
		slices.Clone(p.staged[m.staged:]), slices.Clone(p.stagedOf[m.staged:])}
	p.stages, p.costs, p.rows = p.stages[:m.stages], p.costs[:m.stages], p.rows[:m.stages]
	p.staged, p.stagedOf = p.staged[:m.staged], p.stagedOf[:m.staged]
	return d
}

// decisions are stages that may or may not be wanted.
type decisions struct {
	stages   []Stage
	costs    []float64
	rows     []float64
	staged   []edit
	stagedOf []*query
}

func (p *planner) put(d decisions) {
	p.stages = append(p.stages, d.stages...)
	p.costs = append(p.costs, d.costs...)
	p.rows = append(p.rows, d.rows...)
	p.staged = append(p.staged, d.staged...)
	p.stagedOf = append(p.stagedOf, d.stagedOf...)
}

func (p *planner) isStaged(q *query) bool { return slices.Contains(p.stagedOf, q) }

// reads collects the base tables that a query reads, those of CTEs that it names included and those of stages' results
// not.
func (p *planner) reads(q *query) map[*occurrence]bool {
	set := map[*occurrence]bool{}
	p.collect(q, set, map[*query]bool{})
	return set
}

// collect does not come through a query again that it has seen: a CTE may be named twice by the next, thirty deep.
func (p *planner) collect(q *query, set map[*occurrence]bool, seen map[*query]bool) {
	if seen[q] || p.tired() || p.isStaged(q) {
		return
	}
	seen[q] = true
	for _, arm := range q.arms {
		p.collect(arm, set, seen)
	}
	if q.block == nil {
		return
	}
	for _, it := range q.Items {
		if o := p.tables[it.ID]; o != nil {
			set[o] = true
		} else {
			p.collect(p.of(it), set, seen)
		}
	}
	for _, s := range q.block.subqueries {
		p.collect(s.query, set, seen)
	}
}
