package distribute

// reducer is a smaller table of which conditions leave little, and whose keys are all that a shuffled one need bring.
type reducer struct {
	other         *occurrence
	column, match int     // of the shuffled table, and of the other one
	kept          float64 // the share of the rows that has such a key
}

// reducedTo is what a reducer must at most leave: each node reads it whole.
const reducedTo = 0.5

// reducerOf finds the reducer that leaves least; nil: there is none. Rows without partners among the rows of the
// other table that fulfil their own conditions do not matter (P7 of exec/plan).
func (p *planner) reducerOf(o *occurrence) (best *reducer) {
	if p.settings.NoReducers {
		return nil
	}
	for _, j := range o.scan.Joins {
		other := p.occurrences[j.Other]
		if other == o || other.layout == nil || other.scan.TableRows*2 > o.scan.TableRows || len(p.filtersOf(other)) == 0 {
			continue
		}
		key := column{Item: other.item, Index: j.Match}
		if own := (column{Item: o.item, Index: j.Column}); !p.shufflable(own) || !p.shufflable(key) || !p.sameType(own, key) {
			continue
		}
		kept := float64(other.scan.Rows) / max(float64(o.scan.Relation.Columns[j.Column].Stats.Distinct), 1)
		if kept <= reducedTo && (best == nil || kept < best.kept) {
			best = &reducer{other, j.Column, j.Match, kept}
		}
	}
	return best
}
