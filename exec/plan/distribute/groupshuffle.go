package distribute

// shuffled adds the stage with its groups in partitions, and one in which each node finishes a partition. Every
// group is in one of those: they are made of keys of the final groups, whose equal values are the same bytes.
func (g *grouping) shuffled(stage stageOf, prepared bool) (why string) {
	q := g.query
	var by []int
	for i, k := range g.keys {
		if g.finalKey(i) && k.class.hashable() {
			by = append(by, i)
		}
	}
	keys, why := g.sortKeys(q)
	switch {
	case why != "":
		return why
	case len(by) == 0:
		return "groups without a key to shuffle them by"
	case len(g.block.windows) > 0:
		return "a window over groups on several nodes"
	}
	if why := g.unsteadyBehind(prepared); why != "" {
		return why
	}
	if why := g.sortable(keys); why != "" {
		return why
	}
	columns := len(q.Outputs)
	for i := range keys {
		if keys[i].extra.End > 0 {
			keys[i].column = columns
			columns++
		}
	}
	nodes := g.settings.Nodes
	stage.shuffle = &Shuffle{Columns: by, Partitions: len(nodes)}
	stage.final = nil
	g.add(stage)
	g.number = len(g.stages)
	finish := stageOf{query: q, form: "complete groups", columns: columns, texts: g.outputTexts(q), rows: g.rowsOf(q)}
	for i, node := range nodes {
		finish.fragments = append(finish.fragments, Fragment{Node: node, Part: node, Partition: i})
	}
	distinct := len(g.block.stmt.DistinctClause) > 0
	limit := g.partLimit(q)
	finish.body = func(b *builder) { g.writePartition(b, keys, limit) }
	finish.final = func(b *builder, number int) { b.rowsFinal(q, keys, number, distinct) }
	finish.edits = g.final
	g.add(finish)
	return ""
}

// unsteadyBehind says why several nodes cannot each work out what stands behind the groups.
func (g *grouping) unsteadyBehind(prepared bool) string {
	for _, s := range g.block.subqueries {
		if s.clause.before() || s.inCall || g.isStaged(s.query) {
			continue
		}
		if why := g.unsteady(s.query); why != "" && (prepared || !g.canBeOnce(s.query)) {
			return why
		}
	}
	return ""
}

// sortable refuses keys of ORDER BY that would not come through a stage, or that DISTINCT would not allow beside it.
func (g *grouping) sortable(keys []sortKey) string {
	for _, k := range keys {
		switch {
		case !k.class.known():
			return "ORDER BY something whose type is not certain"
		case k.extra.End > 0 && len(g.block.stmt.DistinctClause) > 0:
			return "DISTINCT sorted by something else than its columns"
		}
	}
	return ""
}

// writePartition finishes the groups of a partition.
func (g *grouping) writePartition(b *builder, keys []sortKey, limit func(*builder)) {
	g.writeTargets(b)
	for _, k := range keys {
		if k.extra.End > 0 {
			b.raw(", ")
			b.original(k.extra)
		}
	}
	g.writeSource(b, true)
	g.writeRest(b)
	b.limited(g.query, limit)
}

// hashable: values that are equal are the same bytes.
func (c class) hashable() bool {
	if c.name != "" {
		return hashable(c.name)
	}
	return c.kind == boolean || c.kind == integer || c.kind == decimal
}
