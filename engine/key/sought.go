package key

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
	"github.com/csmsql/csmsql/engine/order"
	"github.com/csmsql/csmsql/engine/reader"
)

// Sum stands for the values of a key: equal ones have equal digests.
type Sum = digest

// Sought are digests of some rows, by which rows of a table are found.
//
//	some rows ─► Add ─► digests, bounds, prefilter ─┐
//	rows of a table ─► Keeper.Find ─────────────────┴► numbers of rows with one of these digests
type Sought struct {
	// Sums are what is sought.
	Sums map[Sum]struct{}
	// Passes and Pass say which part of the digests is sought; 0: all are.
	Passes, Pass uint64

	nulls  bool // NULL is a value
	filter *prefilter
	probes *order.Probes              // nil, or of no use: all rows are looked at
	bounds [][]*descriptor.Statistics // of the columns of rows that were added together
}

// Seek seeks nothing yet; rows is about how many there will be. With nulls NULL is a value.
func Seek(rows int64, nulls bool) *Sought {
	s := &Sought{Sums: make(map[Sum]struct{}, min(rows, passRows)), nulls: nulls}
	if !nulls {
		s.filter, s.probes = newPrefilter(min(rows, passRows)), &order.Probes{}
	}
	return s
}

// takes reports whether a digest is in the pass.
func (s *Sought) takes(sum Sum) bool { return s.Passes < 2 || sum[0]%s.Passes == s.Pass }

// Add seeks what rows of columns have; stats are the columns', nil: they are found out. Rows that skip has are left
// out. each is called with all others, in order, and with whether something is sought of them: a key with a NULL is
// absent.
func (s *Sought) Add(columns []arrow.Array, stats []*descriptor.Statistics, skip *positions.Set,
	each func(row int, sum Sum, known bool)) error {
	return s.add(columns, stats, func(yield func(int) bool) {
		for row := range columns[0].Len() {
			if !skip.Has(int64(row)) && !yield(row) {
				return
			}
		}
	}, each)
}

// AddOnly is Add of some of the rows.
func (s *Sought) AddOnly(columns []arrow.Array, stats []*descriptor.Statistics, only *positions.Set) error {
	return s.add(columns, stats, func(yield func(int) bool) {
		for row := range only.All() {
			if !yield(int(row)) {
				return
			}
		}
	}, nil)
}

func (s *Sought) add(columns []arrow.Array, stats []*descriptor.Statistics, rows iter.Seq[int],
	each func(row int, sum Sum, known bool)) error {
	d, err := newDigester(columns, s.nulls)
	if err != nil {
		return err
	}
	first := integersOf(columns[0])
	if first == nil {
		s.filter = nil
	}
	probe := func(int) {}
	if s.probes != nil {
		probe = s.probes.Adder(columns)
	}
	for row := range rows {
		sum, known := d.of(row)
		if known = known && s.takes(sum); known {
			s.Sums[sum] = struct{}{}
			probe(row)
			if s.filter != nil {
				first.add(s.filter, row)
			}
		}
		if each != nil {
			each(row, sum, known)
		}
	}
	for i := len(stats); i < len(columns); i++ {
		of, _ := statistics.Of(columns[i])
		stats = append(stats, &of)
	}
	s.bounds = append(s.bounds, stats)
	return nil
}

// Each calls each with the keys that rows of columns have: a key with a NULL is absent, unless with nulls that is a
// value.
func Each(columns []arrow.Array, nulls bool, each func(row int, sum Sum, known bool)) error {
	d, err := newDigester(columns, nulls)
	if err != nil {
		return err
	}
	for row := range columns[0].Len() {
		sum, known := d.of(row)
		each(row, sum, known)
	}
	return nil
}

// mayHold reports whether a chunk may have rows that are sought, by the bounds of its columns.
func (s *Sought) mayHold(c *catalog.Chunk, columns []int) bool {
	if s.nulls {
		return true
	}
	for _, bounds := range s.bounds {
		apart := false
		for k, i := range columns {
			apart = apart || isApart(bounds[k], c.Statistics(i))
		}
		if !apart {
			return true
		}
	}
	return false
}

// isApart reports whether no value of a column is one of another, by their bounds.
func isApart(x, y *descriptor.Statistics) bool {
	if x.HasNaN || y.HasNaN {
		return false
	}
	below, known := x.Max.Compare(y.Min)
	above, also := y.Max.Compare(x.Min)
	return known && below < 0 || also && above < 0
}

// Find calls hit for the rows of some chunks of a version that live and have in these columns what is sought, until it
// says that no more are wanted.
func (k *Keeper) Find(ctx context.Context, v *catalog.TableVersion, columns []int, chunks []catalog.Position,
	sought *Sought, hit func(number int64, sum Sum, text func() string) (more bool)) error {
	by := k.Reader.Readings(k.Reader.Verification())
	more := len(sought.Sums) > 0
	for _, p := range chunks {
		if !more {
			break
		}
		if !sought.mayHold(p.Chunk, columns) {
			continue
		}
		first, _ := positions.NumberOf(p.Index, p.Rows())
		found, err := k.ordered(ctx, by, v, p, columns, sought, func(row int, sum Sum, d *digester) bool {
			more = hit(first+int64(row), sum, func() string { return d.text(v.Table().Columns, columns, row) })
			return more
		})
		if found {
			continue
		}
		if err != nil {
			return err
		}
		err = k.rows(ctx, by, v, p, columns, func(batch arrow.RecordBatch, dead *positions.Set) error {
			return sought.look(batch, dead, func(row int, sum Sum, d *digester) bool {
				more = hit(first+int64(row), sum, func() string { return d.text(v.Table().Columns, columns, row) })
				return more
			})
		})
		if err != nil {
			return err
		}
	}
	return by.Confirm(ctx)
}

// ordered finds what is sought in the order that a chunk has by these columns; not found: it has none.
func (k *Keeper) ordered(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, p catalog.Position,
	columns []int, sought *Sought, hit func(row int, sum Sum, d *digester) bool) (found bool, err error) {
	if !sought.probes.Useful() {
		return false, nil
	}
	dead, err := v.Deleted(ctx, p.Index)
	if err != nil || dead.Count() == p.Rows() {
		return err == nil, err
	}
	var d *digester
	var failed error
	finder := order.Finder{Reader: k.Reader}
	found, err = finder.Find(ctx, by, v, p, columns, sought.probes, func(arrays []arrow.Array, row int) bool {
		if dead.Has(int64(row)) {
			return true
		}
		if d == nil {
			if d, failed = newDigester(arrays, sought.nulls); failed != nil {
				return false
			}
		}
		sum, known := d.of(row)
		if _, is := sought.Sums[sum]; !known || !is { // what was found need not be found again
			return true
		}
		return hit(row, sum, d)
	})
	return found && failed == nil, errors.Join(err, failed)
}

// Rows hands over columns of the rows of a chunk, and which are deleted; nothing, if all are.
func (k *Keeper) Rows(ctx context.Context, v *catalog.TableVersion, p catalog.Position, columns []int,
	use func(arrow.RecordBatch, *positions.Set) error) error {
	by := k.Reader.Readings(k.Reader.Verification())
	if err := k.rows(ctx, by, v, p, columns, use); err != nil {
		return err
	}
	return by.Confirm(ctx)
}

// look calls hit for the rows of a batch that live and are sought.
func (s *Sought) look(batch arrow.RecordBatch, dead *positions.Set,
	hit func(row int, sum Sum, d *digester) bool) error {
	return eachIn(batch, dead, s.nulls, s.filter, s.Sums, hit)
}

// eachIn calls hit for the rows of a batch that live and whose digests are among some, until it has enough. filter
// leaves out others; nil: all are looked at.
func eachIn(batch arrow.RecordBatch, dead *positions.Set, nulls bool, filter *prefilter, in map[Sum]struct{},
	hit func(row int, sum Sum, d *digester) bool) error {
	d, err := newDigester(batch.Columns(), nulls)
	if err != nil {
		return err
	}
	first := integersOf(batch.Column(0))
	for row, rows := 0, int(batch.NumRows()); row < rows; row++ {
		if filter != nil && first != nil {
			if row = first.next(filter, row); row == rows {
				break
			}
		}
		if dead.Has(int64(row)) {
			continue
		}
		sum, ok := d.of(row)
		if _, is := in[sum]; ok && is && !hit(row, sum, d) {
			break
		}
	}
	return nil
}

// rows reads columns of the rows of a chunk.
func (k *Keeper) rows(ctx context.Context, by *reader.Readings, v *catalog.TableVersion, p catalog.Position,
	columns []int, use func(arrow.RecordBatch, *positions.Set) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	dead, err := v.Deleted(ctx, p.Index)
	if err != nil || dead.Count() == p.Rows() {
		return err
	}
	table := v.Table().Name.String()
	batch, err := k.Reader.Read(ctx, by, table, p.Index, p.Chunk, columns)
	if err != nil {
		return err
	}
	defer batch.Release()
	defer k.recovered(table, p, &err)
	return use(batch, dead)
}
