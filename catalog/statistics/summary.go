package statistics

import (
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Summary is what is known of a column over many chunks.
type Summary struct {
	descriptor.Statistics
	Sketch Sketch
	// Rows is the number of rows the summary covers.
	Rows int64
}

// SummaryOf is the summary of one chunk's column.
func SummaryOf(s descriptor.Statistics, sketch Sketch, rows int64) Summary {
	return Summary{Statistics: s, Sketch: sketch, Rows: rows}
}

// Add merges another part in. Where one part knows nothing the whole knows nothing, except that a part without any
// value (all null) does not disturb the other's bounds.
func (s Summary) Add(o Summary) Summary {
	if s.Rows == 0 {
		return o
	}
	if o.Rows == 0 {
		return s
	}
	merged := Summary{Rows: s.Rows + o.Rows, Sketch: Merge(s.Sketch, o.Sketch)}
	merged.NullCount = descriptor.UnknownNullCount
	if s.NullCount >= 0 && o.NullCount >= 0 {
		merged.NullCount = s.NullCount + o.NullCount
	}
	merged.HasNaN = s.HasNaN || o.HasNaN
	merged.Min, merged.MinExact = bound(s, o, s.Min, o.Min, s.MinExact, o.MinExact, -1)
	merged.Max, merged.MaxExact = bound(s, o, s.Max, o.Max, s.MaxExact, o.MaxExact, +1)
	if merged.Distinct = merged.Sketch.Estimate(); merged.Sketch == nil {
		merged.Distinct = max(s.Distinct, o.Distinct) // at least
	}
	return merged
}

func (s Summary) valueless() bool { return s.NullCount == s.Rows }

// bound picks the outer one of two bounds; sign says which side is outer.
func bound(s, o Summary, a, b descriptor.Value, aExact, bExact bool, sign int) (descriptor.Value, bool) {
	switch {
	case s.valueless():
		return b, bExact
	case o.valueless():
		return a, aExact
	}
	order, comparable := a.Compare(b)
	switch {
	case !comparable:
		return descriptor.Value{}, false
	case order*sign >= 0:
		return a, aExact
	default:
		return b, bExact
	}
}
