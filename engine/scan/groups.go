package scan

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/filter"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
)

// apartMost: one row of so many may lie apart from the others, in chunks that are not sorted with them.
const apartMost = 8

// keepGroups thins out scan i by the groups that matter of it (P8), where one quick pass finds them: its table must lie
// sorted by the key of the groups, as tables do whose rows came in that order. The statement then groups only what is
// left, and tables that are joined to the groups are thinned out by their keys. A few rows may lie elsewhere, as those
// do that were appended since: see groupKeys.
func (t *transfer) keepGroups(ctx context.Context, i int) error {
	s, g := t.scans[i], t.hints[i].Group
	if g == nil || len(filter.Of(s.Hint)) > 0 {
		return nil
	}
	above, ok := mustExceed(s, g)
	if !ok || !hasIntegers(s.column(g.Key)) {
		return nil
	}
	provenance := fmt.Sprintf("%d in groups of %s by %d of %d above %d", g.Key, s.Signature(), g.Key, g.Sum, above)
	keys, known := t.keys[provenance]
	if !known {
		if err := s.Start(ctx, nil); err != nil {
			return err
		}
		var err error
		if keys, err = s.groupKeys(ctx, duckdb.Groups{Key: g.Key, Sum: g.Sum, Above: above}); err != nil {
			return err
		}
		if keys != nil && float64(keys.Rows()) > largeWorth*float64(s.Facts.Relation.Rows) {
			keys = nil
		}
		t.keys[provenance] = keys
	}
	if keys == nil {
		return nil
	}
	s.provenances = append(s.provenances, provenance)
	s.KeyFilters = append(s.KeyFilters, duckdb.Filter{Column: g.Key, Keys: keys})
	s.keySources = append(s.keySources, keySource{i, g.Key})
	s.OfResults = s.OfResults || s.Result
	s.rows, s.exact = max(1, keys.Rows()), true
	t.keys[fmt.Sprintf("%d of %s", g.Key, s.Signature())] = keys
	return nil
}

// groupKeys finds the keys of groups. Chunks whose keys lie among those of chunks before them are left out of the pass
// over what is sorted, and of what has rows in them all keys are taken: such a group may be above the bound only with
// rows of both, which were not added up. Nil: that is no quick pass.
func (t *Scan) groupKeys(ctx context.Context, groups duckdb.Groups) (*duckdb.KeySet, error) {
	all := t.keep
	defer func() { t.reads(all) }()
	sorted, apart, few, err := t.strand(ctx, groups.Key)
	if err != nil || !few {
		return nil, err
	}
	if len(apart) > 0 {
		t.reads(apart)
		if groups.Also, err = duckdb.BuildKeySet(ctx, t.Duck, groups.Key, KeysMost); err != nil || groups.Also == nil {
			return nil, err
		}
	}
	t.reads(sorted)
	return duckdb.BuildGroupKeySet(ctx, t.Duck, groups, KeysMost)
}

// reads has the started scan read some chunks.
func (t *Scan) reads(chunks []int) { t.keep, t.Duck.Chunks = chunks, len(chunks) }

// strand divides the chunks of a started scan into those whose keys begin where those of the chunk before them have
// ended, or behind, and the others. few: of all rows few are in those.
func (t *Scan) strand(ctx context.Context, key int) (sorted, apart []int, few bool, err error) {
	var rows, apartRows int64
	last := int64(math.MinInt64)
	for _, i := range t.keep {
		c, err := t.Facts.Version.Chunk(ctx, i)
		if err != nil {
			return nil, nil, false, err
		}
		rows += c.Rows()
		s := c.Statistics(key)
		if !s.Min.Known() || !s.Max.Known() || t.integer(key, s.Min) < last {
			apart = append(apart, i)
			apartRows += c.Rows()
			continue
		}
		sorted = append(sorted, i)
		last = t.integer(key, s.Max)
	}
	return sorted, apart, apartRows <= rows/apartMost, nil
}

// integer is a bound of an integer column.
func (t *Scan) integer(column int, v descriptor.Value) int64 {
	if arrow.IsUnsignedInteger(t.column(column).ID()) {
		return int64(v.Uint())
	}
	return v.Int()
}

// mustExceed is what the sum of stored values must be above.
func mustExceed(s *Scan, g *plan.Group) (int64, bool) {
	var domain arrow.DataType = arrow.PrimitiveTypes.Int64
	if g.Sum >= 0 {
		domain = s.column(g.Sum)
		if !hasIntegers(domain) && domain.ID() != arrow.DECIMAL64 {
			return 0, false
		}
	}
	// Rounded down, a bound that is not reached stays so: 300.5 of whole numbers is 300. One that may be reached is the
	// next below what is rounded up.
	at := filter.Stored(domain, g.Value, g.Op == plan.Greater)
	if at == nil {
		return 0, false
	}
	if g.Op == plan.Greater {
		return *at, true
	}
	return *at - 1, *at-1 < *at
}

// hasIntegers: values are stored as integers of at most 64 bits with a sign, or fewer without.
func hasIntegers(t arrow.DataType) bool { return arrow.IsInteger(t.ID()) && t.ID() != arrow.UINT64 }
