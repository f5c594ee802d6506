package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Facts is what planning needs of one table version, derived once and shared by all statements that read it.
type Facts struct {
	Version  *catalog.TableVersion
	Relation *plan.Relation

	mu       sync.Mutex     // guards the rest
	numbered *plan.Relation // the latest
	domains  map[int]domain
	layouts  map[int]arrow.DataType
	chunks   []Located                   // where each lies; with regions
	regions  map[memregion.RegionID]bool // in which there are any; nil: not looked at yet

	charged int64 // of what is charged for it; guarded by factsCache.mu
}

// domain is the set of a dictionary column's values over all chunks; unfit: the column cannot be shown as ENUM.
type domain struct {
	values []string
	unfit  bool
}

// domainMax is how many values an ENUM column may have: one code is left for what damaged bytes may say.
const domainMax = 255

func relationOf(v *catalog.TableVersion, guess func(int64) int64) *plan.Relation {
	t := v.Table()
	r := &plan.Relation{Schema: t.Name.Schema, Name: t.Name.Name, Rows: v.Rows(), Guess: guess}
	for i, f := range t.Columns.Fields() {
		stats := v.Statistics(i)
		if guess != nil {
			stats.Distinct = guess(stats.Distinct)
		}
		r.Columns = append(r.Columns, plan.Column{
			Name: f.Name, Type: f.Type, Mark: markOf(f),
			Dictionary: f.Type.ID() == arrow.STRING && markOf(f) == "" && v.Rows() > 0 && stats.Distinct <= domainMax,
			Stats:      columnStats(f.Type, stats, v.StoredRows()),
		})
	}
	return r
}

// Numbered is the relation with one column more, which has the numbers of its rows.
func (f *Facts) Numbered(column string) *plan.Relation {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.numbered; n == nil || n.Columns[len(n.Columns)-1].Name != column {
		with := *f.Relation
		with.Columns = append(slices.Clone(with.Columns), plan.Column{Name: column, Type: arrow.PrimitiveTypes.Int64})
		with.Numbered = true
		f.numbered = &with
	}
	return f.numbered
}

// FirstNumber is the number of the first row of the version's chunk.
func (f *Facts) FirstNumber(chunk int, rows int64) (int64, error) {
	number, ok := positions.NumberOf(chunk, rows)
	if !ok {
		return 0, sqlerror.New("54000", "chunk %d has %d rows, of which no statement can change some", chunk, rows)
	}
	return number, nil
}

// markOf is what a field's metadata says of its type; empty for most. JSON is text by it, and yet another type.
func markOf(f arrow.Field) string {
	name, _ := f.Metadata.GetValue("ARROW:extension:name")
	if t := enumeration.Of(f); t != nil {
		return enumeration.NameOf(t.Number())
	}
	if name == "" && normal.IsOpaque(f) {
		return plan.OpaqueMark
	}
	parameters, _ := f.Metadata.GetValue("ARROW:extension:metadata")
	return name + parameters
}

// columnStats says in the planner's terms what a descriptor's statistics say of so many rows. Deleted ones are among
// them: of those that live NULLs, bounds and distinct values are no more than that, and may be less.
func columnStats(t arrow.DataType, s descriptor.Statistics, rows int64) plan.ColumnStats {
	return plan.ColumnStats{
		Rows: rows, Nulls: max(s.NullCount, 0), NullsKnown: s.NullCount != descriptor.UnknownNullCount,
		NaNFree: !s.HasNaN, Distinct: s.Distinct, Min: bound(t, s.Min), Max: bound(t, s.Max),
	}
}

// bound is a descriptor's bound in the logical type's terms, Unknown for types that the planner does not compare.
func bound(t arrow.DataType, v descriptor.Value) plan.Value {
	if !v.Known() {
		return plan.Value{}
	}
	switch t := t.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return plan.IntValue(v.Int())
	case *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return plan.UintValue(v.Uint())
	case *arrow.Float32Type, *arrow.Float64Type:
		return plan.DoubleValue(v.Float())
	case *arrow.Decimal64Type:
		return plan.DecimalValue(decimal128.FromI64(v.Int()), t.Scale)
	case *arrow.StringType:
		return plan.TextValue(v.Bytes())
	case *arrow.Date32Type:
		return plan.DateValue(int32(v.Int()))
	case *arrow.BooleanType:
		return plan.BoolValue(v.Int() != 0)
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond && t.TimeZone == "" {
			return plan.TimestampValue(v.Int())
		}
	}
	return plan.Value{}
}

// Domain finds the values of a column over all chunks, or false when the column is not a dictionary everywhere.
func (c *Cache) Domain(ctx context.Context, from *reader.Reader, f *Facts, column int) ([]string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d, ok := f.domains[column]; ok {
		return d.values, !d.unfit
	}
	values, err := readDomain(ctx, from, f.Version, column)
	if damaged := (*reader.DamagedError)(nil); ctx.Err() != nil || errors.As(err, &damaged) {
		return nil, false // not remembered: it may be mended
	}
	d := domain{values: values, unfit: err != nil || unfitWords(values)}
	f.domains[column] = d
	bytes := int64(0)
	for _, v := range d.values {
		bytes += domainWordBytes + int64(len(v))
	}
	c.grew(f, bytes)
	return d.values, !d.unfit
}

// unfitWords reports whether words make no ENUM: it needs one (plan's P3), and has so many of them at most, which end
// with a zero byte.
func unfitWords(words []string) bool {
	return len(words) == 0 || len(words) > domainMax ||
		slices.ContainsFunc(words, func(w string) bool { return strings.IndexByte(w, 0) >= 0 })
}

// readDomain is nil when a chunk stores the column otherwise than as dictionary<uint8, utf8>.
func readDomain(ctx context.Context, from *reader.Reader, v *catalog.TableVersion, column int) ([]string, error) {
	seen := map[string]bool{}
	by := from.Readings(from.Verification())
	for p, err := range v.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		stored, ok := p.Chunk.Descriptor().Schema.Field(column).Type.(*arrow.DictionaryType)
		if !ok || stored.IndexType.ID() != arrow.UINT8 || stored.ValueType.ID() != arrow.STRING {
			return nil, nil
		}
		batch, err := from.Read(ctx, by, v.Table().Name.String(), p.Index, p.Chunk, []int{column})
		if err != nil {
			return nil, err
		}
		err = addWords(seen, batch.Column(0).(*array.Dictionary).Dictionary().(*array.String))
		batch.Release()
		if err != nil {
			return nil, &reader.DamagedError{Table: v.Table().Name.String(), Chunk: p.Index, Node: from.NodeOf(p.Chunk.Descriptor()), Cause: err}
		}
		if len(seen) > domainMax {
			return nil, nil
		}
	}
	if err := by.Confirm(ctx); err != nil { // what is remembered must be right for ever
		return nil, err
	}
	values := make([]string, 0, len(seen))
	for w := range seen {
		values = append(values, w)
	}
	slices.Sort(values)
	return values, nil
}

// addWords adds a dictionary's words. They may lie in the memory of a lender whose restart is not known here yet: then
// anything may be there instead, and Go's bounds check finds it.
func addWords(seen map[string]bool, words *array.String) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: a dictionary: %v", descriptor.ErrData, r)
		}
	}()
	for i := range words.Len() {
		if w := words.Value(i); !seen[w] {
			seen[strings.Clone(w)] = true
		}
	}
	return nil
}

// Stored gives the types that columns of all chunks can be brought to: how they lie if they all lie alike. A small
// chunk's strings may be a dictionary and a large one's not.
func (f *Facts) Stored(ctx context.Context, columns []int) (*arrow.Schema, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fields := make([]arrow.Field, len(columns))
	for i, column := range columns {
		if f.layouts[column] == nil {
			layout, err := layoutOf(ctx, f.Version, column)
			if err != nil {
				return nil, err
			}
			f.layouts[column] = layout
		}
		fields[i] = f.Version.Table().Columns.Field(column)
		fields[i].Type = f.layouts[column]
	}
	return arrow.NewSchema(fields, nil), nil
}

func layoutOf(ctx context.Context, v *catalog.TableVersion, column int) (arrow.DataType, error) {
	logical := v.Table().Columns.Field(column).Type
	if logical.ID() != arrow.STRING { // nothing else has more than one layout
		if v.NumChunks() == 0 {
			return logical, nil
		}
		first, err := v.Chunk(ctx, 0)
		if err != nil {
			return nil, err
		}
		return first.Descriptor().Schema.Field(column).Type, nil
	}
	var layout arrow.DataType
	for p, err := range v.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		this := p.Chunk.Descriptor().Schema.Field(column).Type
		if layout != nil && !arrow.TypeEqual(layout, this) {
			return arrow.BinaryTypes.StringView, nil
		}
		layout = this
	}
	if layout == nil {
		return logical, nil
	}
	return layout, nil
}

// Pruned lists the chunks of a table that have rows and whose statistics do not rule them out.
func Pruned(ctx context.Context, f *Facts, hint *plan.Scan, without optimization.Set) ([]int, error) {
	keep := make([]int, 0, f.Version.NumChunks())
	if len(hint.Predicates) == 0 && len(hint.AnyOf) == 0 || without.Has(optimization.Pruning) {
		for i := range f.Version.NumChunks() {
			if gone, err := f.Version.Gone(ctx, i); err != nil {
				return nil, err
			} else if !gone {
				keep = append(keep, i)
			}
		}
		return keep, nil
	}
	for p, err := range f.Version.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		matches := hint.MayMatch(func(column int) plan.ColumnStats {
			return columnStats(f.Relation.Columns[column].Type, *p.Chunk.Statistics(column), p.Chunk.Rows())
		})
		if !matches {
			continue
		}
		if gone, err := f.Version.Gone(ctx, p.Index); err != nil {
			return nil, err
		} else if !gone {
			keep = append(keep, p.Index)
		}
	}
	return keep, nil
}
