package key

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/order"
	"github.com/csmsql/csmsql/engine/reader"
)

// Keeper looks for rows with equal keys. Safe for concurrent use.
type Keeper struct {
	// Reader reads the chunks.
	Reader *reader.Reader
	// passRows is of how many rows digests are kept at once; 0: passRows.
	passRows int64
}

// passRows is of how many rows digests are kept at once (KY2); a map of them takes about 40 bytes each.
const passRows = 1 << 18

// Statement is an error, 23505, if a row that after has, and before has not, has the key of another row of after.
// before may be nil: the table was made since.
func (k *Keeper) Statement(ctx context.Context, before, after *catalog.TableVersion) error {
	keys, err := Of(after.Table())
	if err != nil || len(keys) == 0 {
		return err
	}
	fresh, err := after.Since(ctx, before)
	if err != nil || len(fresh) == 0 {
		return err
	}
	others, err := besides(ctx, after, fresh)
	if err != nil {
		return err
	}
	return k.each(ctx, after, keys, fresh, others, false)
}

// Changed is Statement of all tables that a transaction has changed since it saw before.
func (k *Keeper) Changed(ctx context.Context, tx *catalog.Transaction, before *catalog.Contents) error {
	for was, is := range tx.Since(before) {
		if was != nil && was.Table().ID != is.Table().ID {
			was = nil // another table has its name
		}
		if err := k.Statement(ctx, was, is); err != nil {
			return err
		}
	}
	return nil
}

// Commit is an error, 23505, if a row that a transaction has added to base, and own has, has in result the key of a row
// that others have added since. result is what is to be committed.
func (k *Keeper) Commit(ctx context.Context, base, own, result *catalog.TableVersion) error {
	keys, err := Of(result.Table())
	if err != nil || len(keys) == 0 {
		return err
	}
	mine, err := own.Since(ctx, base)
	if err != nil || len(mine) == 0 {
		return err
	}
	added, err := result.Since(ctx, base)
	if err != nil {
		return err
	}
	var fresh, others []catalog.Position
	for _, p := range added {
		if slices.ContainsFunc(mine, func(m catalog.Position) bool { return slices.Equal(m.Extents(), p.Extents()) }) {
			fresh = append(fresh, p)
		} else {
			others = append(others, p)
		}
	}
	return k.each(ctx, result, keys, fresh, others, false)
}

// Whole is an error, 23505, if two rows of a version have an equal key that older has not.
func (k *Keeper) Whole(ctx context.Context, version *catalog.TableVersion, table, older catalog.Table) error {
	keys, err := Of(table)
	if err != nil {
		return err
	}
	known, err := Of(older)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k Key) bool {
		return slices.ContainsFunc(known, func(o Key) bool { return o.Name == k.Name })
	})
	if len(keys) == 0 {
		return nil
	}
	all, err := besides(ctx, version, nil)
	if err != nil {
		return err
	}
	return k.each(ctx, version, keys, all, nil, true)
}

// besides are the chunks of a version without some, which are in order.
func besides(ctx context.Context, v *catalog.TableVersion,
	without []catalog.Position) (list []catalog.Position, err error) {
	for p, err := range v.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if len(without) > 0 && without[0].Index == p.Index {
			without = without[1:]
			continue
		}
		list = append(list, p)
	}
	return list, nil
}

func (k *Keeper) each(ctx context.Context, v *catalog.TableVersion, keys []Key,
	fresh, others []catalog.Position, whole bool) error {
	by := k.Reader.Readings(k.Reader.Verification())
	for i := range keys {
		s := &search{
			keeper: k, by: by, version: v, key: &keys[i], fresh: fresh, others: others, whole: whole,
		}
		if err := s.run(ctx); err != nil {
			return err
		}
	}
	return by.Confirm(ctx)
}

// search looks for a row of fresh chunks whose key another row of them has, or one of others.
type search struct {
	keeper        *Keeper
	by            *reader.Readings
	version       *catalog.TableVersion
	key           *Key
	fresh, others []catalog.Position
	whole         bool

	probes       *order.Probes // of the pass' rows; nil, or of no use: all rows are looked at
	seen         map[digest]struct{}
	filter       *prefilter // of the pass' rows; nil: all rows are looked at
	passes, pass uint64
}

func (s *search) run(ctx context.Context) error {
	near := slices.DeleteFunc(slices.Clone(s.others), func(o catalog.Position) bool {
		return !slices.ContainsFunc(s.fresh, func(f catalog.Position) bool { return s.key.mayMeet(f.Chunk, o.Chunk) })
	})
	rows, most := int64(0), int64(passRows)
	if s.keeper.passRows > 0 {
		most = s.keeper.passRows
	}
	for _, f := range s.fresh {
		rows += f.Rows()
	}
	s.passes = uint64((rows + most - 1) / most)
	for s.pass = 0; s.pass < s.passes; s.pass++ {
		s.seen = make(map[digest]struct{}, min(rows, most))
		if s.filter, s.probes = nil, nil; !s.key.NullsNotDistinct && len(near) > 0 {
			s.filter, s.probes = newPrefilter(min(rows, most)), &order.Probes{}
		}
		for _, p := range s.fresh {
			if err := s.rows(ctx, p, s.add); err != nil {
				return err
			}
		}
		for _, p := range near {
			known, err := s.find(ctx, p)
			if err == nil && !known {
				err = s.rows(ctx, p, s.look)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// find looks for the pass' keys in the order that a chunk has by them; not known: it has none.
func (s *search) find(ctx context.Context, p catalog.Position) (known bool, err error) {
	if !s.probes.Useful() {
		return false, nil
	}
	dead, err := s.version.Deleted(ctx, p.Index)
	if err != nil || dead.Count() == p.Rows() {
		return true, err
	}
	values, found := "", false
	finder := order.Finder{Reader: s.keeper.Reader}
	known, err = finder.Find(ctx, s.by, s.version, p, s.key.columns, s.probes,
		func(columns []arrow.Array, row int) bool {
			if found = !dead.Has(int64(row)); found {
				values = (&digester{columns: columns}).text(s.version.Table().Columns, s.key.columns, row)
			}
			return !found
		})
	if err != nil || !found {
		return known, err
	}
	if err := s.by.Confirm(ctx); err != nil {
		return true, err
	}
	return true, s.key.duplicate(s.version.Table().Name, values, s.whole)
}

// rows has the keys of the pass be looked at of the rows of a chunk that live; one that is refused is a duplicate.
func (s *search) rows(ctx context.Context, p catalog.Position,
	batch func(arrow.RecordBatch, *positions.Set) (*digester, int, error)) error {
	use := func(columns arrow.RecordBatch, dead *positions.Set) error {
		duplicate, at, err := batch(columns, dead)
		if err != nil || duplicate == nil {
			return err
		}
		values := duplicate.text(s.version.Table().Columns, s.key.columns, at)
		if err := s.by.Confirm(ctx); err != nil {
			return err
		}
		return s.key.duplicate(s.version.Table().Name, values, s.whole)
	}
	return s.keeper.rows(ctx, s.by, s.version, p, s.key.columns, use)
}

// recovered turns the panic of a bounds check into an error: a lender may have restarted, and then anything may be
// there.
func (k *Keeper) recovered(table string, p catalog.Position, err *error) {
	if r := recover(); r != nil {
		cause := fmt.Errorf("%w: a key: %v", descriptor.ErrData, r)
		node := k.Reader.NodeOf(p.Chunk.Descriptor())
		*err = &reader.DamagedError{Table: table, Chunk: p.Index, Node: node, Cause: cause}
	}
}

// add puts the digests of the rows of a batch that live in, and gives the first that was there; nil: there is none.
func (s *search) add(batch arrow.RecordBatch, dead *positions.Set) (*digester, int, error) {
	d, err := newDigester(batch.Columns(), s.key.NullsNotDistinct)
	if err != nil {
		return nil, 0, err
	}
	first := integersOf(batch.Column(0))
	if first == nil {
		s.filter = nil
	}
	probe := func(int) {}
	if s.probes != nil {
		probe = s.probes.Adder(batch.Columns())
	}
	for row := range int(batch.NumRows()) {
		if dead.Has(int64(row)) {
			continue
		}
		sum, ok := d.of(row)
		if !ok || sum[0]%s.passes != s.pass {
			continue
		}
		before := len(s.seen)
		if s.seen[sum] = struct{}{}; len(s.seen) == before {
			return d, row, nil
		}
		if s.filter != nil {
			first.add(s.filter, row)
		}
		probe(row)
	}
	return nil, 0, nil
}

// look gives the first of the rows of a batch that live whose digest is in; nil: there is none.
func (s *search) look(batch arrow.RecordBatch, dead *positions.Set) (found *digester, at int, err error) {
	err = eachIn(batch, dead, s.key.NullsNotDistinct, s.filter, s.seen, func(row int, _ Sum, d *digester) bool {
		found, at = d, row
		return false
	})
	return found, at, err
}
