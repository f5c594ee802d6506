package distribute

import (
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/exec/plan"
)

// edit puts something else in place of a span of the statement's text.
type edit struct {
	plan.Span
	write func(*builder)
}

// builder makes a Text out of pieces of the statement's text and words of our own. It notes which tables stand
// where, gives parameters new numbers and defines the CTEs that the pieces name.
type builder struct {
	p          *planner
	parts      restriction
	edits      []edit
	sql        strings.Builder
	reads      []Read
	parameters *[]int
	needed     map[*cte]bool // named and not defined
	defined    map[*cte]bool
}

func (p *planner) builder(parts restriction) *builder {
	return &builder{p: p, parts: parts, parameters: new([]int), needed: map[*cte]bool{}, defined: map[*cte]bool{}}
}

// child writes apart from b; append puts the result where b stands.
func (b *builder) child() *builder {
	return &builder{p: b.p, parts: b.parts, edits: b.edits, parameters: b.parameters, needed: map[*cte]bool{}, defined: map[*cte]bool{}}
}

func (b *builder) append(c *builder) {
	at := b.sql.Len()
	b.sql.WriteString(c.sql.String())
	for _, r := range c.reads {
		r.Start, r.End = r.Start+at, r.End+at
		b.reads = append(b.reads, r)
	}
	for n := range c.needed {
		b.needed[n] = true
	}
	for n := range c.defined {
		b.defined[n] = true
	}
}

// raw writes words of our own.
func (b *builder) raw(parts ...string) {
	for _, s := range parts {
		b.sql.WriteString(s)
	}
}

// stage names the result of a stage, as a relation.
func (b *builder) stage(number int, part bool) {
	at := b.sql.Len()
	b.raw(StageName(number))
	b.reads = append(b.reads, Read{Span: plan.Span{Start: at, End: b.sql.Len()}, Stage: number, Part: part})
}

// stageColumn names a column of a stage's result.
func stageColumn(stage, index int) string { return StageName(stage) + ".c" + strconv.Itoa(index) }

// original writes a span of the statement's text, with the edits in it made and with queries that were replaced by
// stages in their new form. An edit inside of a larger one does not count.
func (b *builder) original(s plan.Span) {
	inside := func(e edit) bool { return s.Start <= e.Start && e.End <= s.End }
	var list []edit
	for _, e := range slices.Concat(b.edits, b.p.staged) {
		if inside(e) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(x, y edit) int {
		if x.Start != y.Start {
			return x.Start - y.Start
		}
		return y.End - x.End
	})
	at := s.Start
	for _, e := range list {
		if e.Start < at {
			continue
		}
		b.verbatim(plan.Span{Start: at, End: e.Start})
		e.write(b)
		at = e.End
	}
	b.verbatim(plan.Span{Start: at, End: s.End})
}

// verbatim writes a span of the statement's text as it is, except for the numbers of parameters.
func (b *builder) verbatim(s plan.Span) {
	if s.Start >= s.End {
		return
	}
	base := b.sql.Len() - s.Start
	text := b.p.text
	if list := text.Parameters(s); len(list) > 0 {
		at := s.Start
		for _, parameter := range list {
			b.verbatim(plan.Span{Start: at, End: parameter.Start})
			b.parameter(text.Of(parameter))
			at = parameter.End
		}
		b.verbatim(plan.Span{Start: at, End: s.End})
		return
	}
	b.sql.WriteString(text.Of(s))
	for _, o := range b.p.occurrences {
		if s.Start <= o.scan.Start && o.scan.End <= s.End {
			b.reads = append(b.reads, Read{Span: plan.Span{Start: o.scan.Start + base, End: o.scan.End + base}, Relation: o.scan.Relation, Part: b.parts[o], origin: o.index})
		}
	}
	for _, c := range b.p.ctes {
		for _, it := range c.Refs {
			if s.Start <= it.Name.Start && it.Name.Start < s.End {
				b.needed[c] = true
			}
		}
		if s.Start <= c.text.Start && c.text.Start < s.End {
			b.defined[c] = true
		}
	}
}

// parameter writes $n under the number that it has in the new text.
func (b *builder) parameter(text string) {
	n, _ := strconv.Atoi(strings.TrimPrefix(text, "$"))
	i := slices.Index(*b.parameters, n)
	if i < 0 {
		i = len(*b.parameters)
		*b.parameters = append(*b.parameters, n)
	}
	b.raw("$", strconv.Itoa(i+1))
}

// with writes body behind the definitions of the CTEs that it needs, as far as ours says that they are to be defined
// here.
func (b *builder) with(ours func(*cte) bool, body func(*builder)) {
	inner := b.child()
	body(inner)
	all := slices.Clone(b.p.ctes)
	slices.SortFunc(all, func(x, y *cte) int { return y.text.Start - x.text.Start })
	var definitions []*builder
	for _, c := range all { // the last first: it may need those before it
		if !inner.needed[c] || inner.defined[c] || !ours(c) {
			continue
		}
		d := b.child()
		d.original(c.text.Span)
		definitions = append(definitions, d)
		for n := range d.needed {
			if !d.defined[n] {
				inner.needed[n] = true
			}
		}
		inner.defined[c] = true
	}
	for i := len(definitions) - 1; i >= 0; i-- {
		if i == len(definitions)-1 {
			b.raw("WITH ")
		} else {
			b.raw(", ")
		}
		b.append(definitions[i])
	}
	if len(definitions) > 0 {
		b.raw(" ")
	}
	b.append(inner)
	for c := range b.defined {
		delete(b.needed, c)
	}
}

// text is what was built.
func (b *builder) text() Text {
	slices.SortFunc(b.reads, func(x, y Read) int { return x.Start - y.Start })
	return Text{SQL: b.sql.String(), Reads: b.reads, Parameters: *b.parameters}
}
