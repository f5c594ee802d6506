package scan

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/filter"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
)

// keepGroups thins out scan i by the groups that matter of it (P8), where one quick pass finds them: its table must lie
// sorted by the key of the groups, as tables do whose rows came in that order. The statement then groups only what is
// left; and whoever joins the groups is thinned out by their keys.
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
		keys, err = duckdb.BuildGroupKeySet(ctx, s.Duck, duckdb.Groups{Key: g.Key, Sum: g.Sum, Above: above}, KeysMost)
		if err != nil {
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
