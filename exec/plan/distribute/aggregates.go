package distribute

import (
	"fmt"
	"strings"
)

// call splits an aggregate: what the fragments work out, and how those values make one. What is not listed here cannot
// be split.
func (g *grouping) call(c *call) {
	f := c.node
	if !c.ok || f.AggWithinGroup || len(f.AggOrder) > 0 || f.FuncVariadic {
		g.fail("the aggregate " + c.name + " with an order of its own")
		return
	}
	if f.AggDistinct || c.name == "approx_count_distinct" {
		g.distinctCall(c)
		return
	}
	merge := g.merging(c)
	if merge == nil {
		g.fail("the aggregate " + c.name + ", which cannot be made of parts")
		return
	}
	g.edit(c.text.Span, merge)
}

// argumentClass is the class of a call's only argument.
func (g *grouping) argumentClass(c *call) class {
	if len(c.node.Args) == 0 {
		return class{}
	}
	return g.class(c.node.Args[0])
}

// merging gives the text that makes one value of the fragments'; nil if there is none.
func (g *grouping) merging(c *call) func() string {
	of := g.argumentClass(c)
	one := len(c.node.Args) == 1
	switch name := c.name; {
	case name == "count" || name == "count_star":
		v := g.verbatim(c)
		return func() string { return "CAST(coalesce(sum(" + g.column(v) + "), 0) AS BIGINT)" }
	case !one && name != "string_agg" && name != "group_concat" && name != "listagg" || !of.known():
		return nil
	case name == "count_if" || name == "countif":
		v := g.verbatim(c)
		return func() string { return "CAST(sum(" + g.column(v) + ") AS HUGEINT)" } // NULL, as DuckDB's, if no condition was true or false
	case name == "sum" && of.sum().known():
		v := g.verbatim(c)
		return func() string { return transported("sum("+g.column(v)+")", of.sum()) }
	case name == "avg" && of.numeric():
		return g.average(c, of)
	case variances[name] && of.numeric():
		return g.variance(c)
	case name == "min" || name == "max" || name == "any_value" || name == "arbitrary":
		v := g.verbatim(c)
		return func() string { return transported(name+"("+g.column(v)+")", of) }
	case (name == "bit_and" || name == "bit_or" || name == "bit_xor") && of.kind == integer, (name == "bool_and" || name == "bool_or") && of.kind == boolean,
		name == "product" && of.numeric():
		v := g.verbatim(c)
		return func() string { return name + "(" + g.column(v) + ")" }
	}
	return g.collecting(c, of)
}

// collecting puts lists and strings one behind another, in the order of the fragments.
func (g *grouping) collecting(c *call, of class) func() string {
	switch c.name {
	case "list", "array_agg":
		if of.kind == hugeint || of.kind == null {
			return nil
		}
		v := g.verbatim(c)
		return func() string {
			return fmt.Sprintf("flatten(list(%[1]s) FILTER (WHERE %[1]s IS NOT NULL))", g.column(v))
		}
	case "string_agg", "group_concat", "listagg":
		separator := "','"
		if len(c.node.Args) > 2 || of.kind != other {
			return nil
		}
		if len(c.node.Args) == 2 {
			if c.node.Args[1].GetAConst().GetSval() == nil {
				return nil
			}
			separator = g.text.Of(c.text.Arguments[1])
		}
		v := g.verbatim(c)
		return func() string { return "string_agg(" + g.column(v) + ", " + separator + ")" }
	}
	return nil
}

// verbatim lets the fragments work out the call as it stands.
func (g *grouping) verbatim(c *call) int {
	return g.value(g.text.Of(c.text.Span), func(b *builder) { b.original(c.text.Span) })
}

// partial lets the fragments work out another aggregate of the call's argument, under its FILTER.
func (g *grouping) partial(c *call, before, behind string) int {
	return g.value(before+g.argument(c)+behind, func(b *builder) { b.partial(c, before, behind) })
}

// argument is the text of a call's argument with its FILTER.
func (g *grouping) argument(c *call) string {
	same := g.text.Of(c.text.Arguments[0])
	if c.text.Filter.End > 0 {
		same += " " + g.text.Of(c.text.Filter)
	}
	return same
}

func (b *builder) partial(c *call, before, behind string) {
	b.raw(before)
	b.original(c.text.Arguments[0])
	b.raw(behind)
	if c.text.Filter.End > 0 {
		b.raw(" ")
		b.original(c.text.Filter)
	}
}

// exactDigits: a sum of decimals with so many digits before and twice behind the point stays below 38 for any number of
// rows.
const exactDigits = 26

// average divides sum by count as DuckDB does: of decimals, the sum without its point by count times the power of
// ten; both as DOUBLE. (DuckDB divides in 80 bits: once in some thousand values its last bit may differ.)
func (g *grouping) average(c *call, of class) func() string {
	sum, count := g.partial(c, "sum(", ")"), g.partial(c, "count(", ")")
	return func() string {
		s, n := "sum("+g.column(sum)+")", "sum("+g.column(count)+")"
		switch {
		case of.kind == floating:
			return "(" + s + " / CAST(" + n + " AS DOUBLE))"
		case of.kind == decimal && of.scale > 0 && of.precision+of.scale <= exactDigits:
			power := "1" + strings.Repeat("0", of.scale)
			return "(CAST(CAST(" + s + " * " + power + " AS HUGEINT) AS DOUBLE) / CAST(" + n + " * " + power + " AS DOUBLE))"
		}
		return "(CAST(" + s + " AS DOUBLE) / CAST(" + n + " AS DOUBLE))"
	}
}

// distinctCall: the distinct values become a key of the fragments; the coordinator applies the aggregate itself. Under
// FILTER, values that do not count become NULL, which these aggregates pass over.
func (g *grouping) distinctCall(c *call) {
	of := g.argumentClass(c)
	separator := ""
	switch c.name {
	case "count", "sum", "avg", "min", "max", "approx_count_distinct", "bool_and", "bool_or":
		if len(c.node.Args) != 1 {
			g.fail("DISTINCT over several columns")
		}
	case "string_agg", "group_concat", "listagg":
		if len(c.node.Args) > 2 || len(c.node.Args) == 2 && c.node.Args[1].GetAConst().GetSval() == nil {
			g.fail("a separator that is no constant")
		} else if len(c.node.Args) == 2 {
			separator = ", " + g.text.Of(c.text.Arguments[1])
		}
	default:
		g.fail("the aggregate " + c.name + " with DISTINCT, which cannot be made of parts")
	}
	if g.why != "" {
		return
	}
	if !of.known() || of.kind == null || of.kind == hugeint || g.hasSubquery(c.node.Args[0]) || c.node.AggFilter != nil && g.hasSubquery(c.node.AggFilter) {
		g.fail("DISTINCT over an expression whose type is not certain, or with sub-queries")
		return
	}
	k := g.distinctKey(c, of)
	name := c.name
	if c.node.AggDistinct {
		name += "(DISTINCT "
	} else {
		name += "("
	}
	g.edit(c.text.Span, func() string { return name + stageColumn(g.number, k) + separator + ")" })
}

func (g *grouping) distinctKey(c *call, of class) int {
	argument := c.text.Arguments[0]
	same := g.text.Of(argument) + "|"
	if c.node.AggFilter != nil {
		same += g.text.Of(c.text.Condition)
	}
	if g.distinctKeys == nil {
		g.distinctKeys = map[string]int{}
	}
	if k, ok := g.distinctKeys[same]; ok {
		return k
	}
	g.finer *= g.valuesOf(g.block, c.node.Args[0])
	g.keys = append(g.keys, groupKey{class: of, write: func(b *builder) {
		if c.node.AggFilter == nil {
			b.original(argument)
			return
		}
		b.raw("CASE WHEN ")
		b.original(c.text.Condition)
		b.raw(" THEN ")
		b.original(argument)
		b.raw(" END")
	}})
	k := len(g.keys) - 1
	g.distinctKeys[same] = k
	g.extra = append(g.extra, k)
	return k
}

// variance merges the fragments' variances around their means: Σ(nᵢ·varᵢ) + Σ nᵢ·(meanᵢ − mean)². The mean of a
// whole group comes from a window over the stage's result, so that nothing large is subtracted from something
// large. Where all values are equal, so are the means, to the last bit: the variance is 0 then, as it is on one
// node.
func (g *grouping) variance(c *call) func() string {
	count := g.partial(c, "count(", ")")
	spread := g.partial(c, "var_pop(CAST(", " AS DOUBLE))")
	mean := g.value("mean "+g.argument(c), func(b *builder) {
		b.raw("CASE WHEN ")
		b.partial(c, "var_pop(CAST(", " AS DOUBLE))")
		b.raw(" = 0 THEN ")
		b.partial(c, "min(CAST(", " AS DOUBLE))")
		b.raw(" ELSE ")
		b.partial(c, "avg(CAST(", " AS DOUBLE))")
		b.raw(" END")
	})
	m := meanOf{count, mean}
	at := -1
	for i, have := range g.meansOf {
		if have == m {
			at = i
		}
	}
	if at < 0 {
		at = len(g.meansOf)
		g.meansOf = append(g.meansOf, m)
	}
	return func() string {
		n, d := g.column(count), fmt.Sprintf("(%s - %s.csm_mean_%d)", g.column(mean), StageName(g.number), at)
		squares := fmt.Sprintf("sum(%[1]s * %[2]s + %[1]s * %[3]s * %[3]s)", n, g.column(spread), d)
		var out string
		switch c.name {
		case "var_pop", "stddev_pop":
			out = fmt.Sprintf("CASE WHEN sum(%s) > 0 THEN %s / CAST(sum(%s) AS DOUBLE) END", n, squares, n)
		default:
			out = fmt.Sprintf("CASE WHEN sum(%s) > 1 THEN %s / CAST(sum(%s) - 1 AS DOUBLE) END", n, squares, n)
		}
		if strings.HasPrefix(c.name, "stddev") {
			return "sqrt(" + out + ")"
		}
		return "(" + out + ")"
	}
}

// meanOf is a mean over a group's fragments: of values, weighed by counts.
type meanOf struct{ count, mean int }

func (g *grouping) writeMeans(b *builder) {
	partition := ""
	for i := range g.keys {
		if !g.finalKey(i) {
			continue
		}
		if partition == "" {
			partition = "PARTITION BY "
		} else {
			partition += ", "
		}
		partition += stageColumn(g.number, i)
	}
	for i, m := range g.meansOf {
		b.raw(fmt.Sprintf(", CASE WHEN min(%[2]s) OVER (%[3]s) = max(%[2]s) OVER (%[3]s) THEN %[2]s"+
			" ELSE sum(%[1]s * %[2]s) OVER (%[3]s) / CAST(sum(%[1]s) OVER (%[3]s) AS DOUBLE) END AS csm_mean_%[4]d", g.column(m.count), g.column(m.mean), partition, i))
	}
}
