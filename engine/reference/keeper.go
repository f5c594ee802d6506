package reference

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/key"
)

// Keeper holds rows to all that a table promises of them together with others: keys and foreign keys. Safe for
// concurrent use.
type Keeper struct {
	key.Keeper
	// Store deletes rows of a version of a table and writes others.
	Store func(ctx context.Context, tx *catalog.Transaction, version *catalog.TableVersion,
		fill func(*ingest.Writer, []ingest.Limit) (map[int]*positions.Set, error)) error
	// passRows is of how many keys digests are kept at once; 0: passRows.
	passRows int
}

// passRows is of how many keys digests are kept at once; a map of them takes about 40 bytes each.
const passRows = 1 << 18

// changed is a table that a statement, or a transaction, has changed; was is nil if it was not there.
type changed struct {
	was, is *catalog.TableVersion
	deleted Rows // nil: it is not known which of the rows that went were deleted
}

// Rows are rows of a table's version, by chunk.
type Rows = map[int]*positions.Set

// Changed is an error if a table that the transaction has changed since it saw before does not keep its promises.
// deleted are rows that a statement has deleted, where it has written others of the same table, too.
func (k *Keeper) Changed(ctx context.Context, tx *catalog.Transaction, before *catalog.Contents,
	deleted map[catalog.TableID]Rows) error {
	if err := k.Keeper.Changed(ctx, tx, before); err != nil {
		return err
	}
	var all []changed
	for was, is := range tx.Since(before) {
		if was != nil && was.Table().ID != is.Table().ID {
			was = nil // another table has its name
		}
		all = append(all, changed{was, is, deleted[is.Table().ID]})
	}
	for _, c := range all {
		if err := k.note(tx, c.is.Table()); err != nil {
			return err
		}
	}
	stated := tx.Contents()
	for i := 0; i < len(all); i++ {
		followed, err := k.parents(ctx, tx, all[i])
		if err != nil {
			return err
		}
		all = append(all, followed...)
	}
	for _, c := range all {
		if is, ok := tx.Contents().Table(c.is.Table().Name); ok {
			c.is = is // what followed is gone
		}
		if err := k.children(ctx, c, tx.Contents().TableOf); err != nil {
			return err
		}
	}
	return k.Keeper.Changed(ctx, tx, stated)
}

// note puts it on the record of parents that a table refers to them (FK3).
func (k *Keeper) note(tx *catalog.Transaction, child catalog.Table) error {
	list, err := of(child, tx.Contents().TableOf)
	if err != nil {
		return err
	}
	for _, r := range list {
		parent, ok := tx.Contents().Table(r.parent.Name)
		if !ok || r.parent.ID == child.ID {
			continue
		}
		known, err := constraint.Referencing(parent.Table().Columns)
		if err != nil {
			return err
		}
		if slices.Contains(known, uint64(child.ID)) {
			continue
		}
		known = slices.DeleteFunc(known, func(id uint64) bool {
			_, ok := tx.Contents().TableOf(catalog.TableID(id), catalog.TableName{})
			return !ok
		})
		columns, err := constraint.MarkReferencing(parent.Table().Columns, append(known, uint64(child.ID)))
		if err != nil {
			return err
		}
		if err := tx.Redeclare(r.parent.Name, columns); err != nil {
			return err
		}
	}
	return nil
}

// children is an error if a row that came to a table has no parent, or any row if the foreign key is new.
func (k *Keeper) children(ctx context.Context, c changed, find finder) error {
	refs, err := of(c.is.Table(), find)
	if err != nil || len(refs) == 0 {
		return err
	}
	var known []constraint.Constraint
	if c.was != nil {
		if known, err = constraint.Of(c.was.Table().Columns); err != nil {
			return err
		}
	}
	fresh, err := c.is.Since(ctx, c.was)
	if err != nil {
		return err
	}
	for i := range refs {
		if err := definition.Comparable(refs[i].Constraint, refs[i].child.Columns, refs[i].parent.Columns); err != nil {
			return err
		}
		rows := fresh
		if !slices.ContainsFunc(known, func(o constraint.Constraint) bool { return o.Name == refs[i].Name && o.Held }) {
			if rows, err = chunks(ctx, c.is); err != nil {
				return err
			}
		}
		parent, ok := find(refs[i].parent.ID, refs[i].parent.Name)
		if !ok {
			continue
		}
		if err := k.present(ctx, &refs[i], c.is, rows, parent, refs[i].absent); err != nil {
			return err
		}
	}
	return nil
}

// parents is an error if a row that went from a table has children, unless these follow: then it gives what that
// changed.
func (k *Keeper) parents(ctx context.Context, tx *catalog.Transaction, c changed) (followed []changed, err error) {
	if c.was == nil {
		return nil, nil
	}
	find := func(id catalog.TableID, hint catalog.TableName) (*catalog.TableVersion, bool) {
		return tx.Contents().TableOf(id, hint)
	}
	refs, err := to(c.is.Table(), find)
	if err != nil {
		return nil, err
	}
	for i := range refs {
		if err := definition.Comparable(refs[i].Constraint, refs[i].child.Columns, refs[i].parent.Columns); err != nil {
			return nil, err
		}
		child, ok := find(refs[i].child.ID, refs[i].child.Name)
		if !ok {
			continue
		}
		if refs[i].acts() {
			more, err := k.follow(ctx, tx, &refs[i], c, child)
			if err != nil {
				return nil, err
			}
			if more != nil {
				followed, child = append(followed, *more), more.is
			}
		}
		rows, err := chunks(ctx, child)
		if err != nil {
			return nil, err
		}
		if err := k.apart(ctx, &refs[i], c, child, rows, refs[i].needed); err != nil {
			return nil, err
		}
	}
	return followed, nil
}

func chunks(ctx context.Context, v *catalog.TableVersion) (list []catalog.Position, err error) {
	for p, err := range v.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// present is an error if a row of some chunks of the child has a key that no row of the parent has.
func (k *Keeper) present(ctx context.Context, r *reference, child *catalog.TableVersion, rows []catalog.Position,
	parent *catalog.TableVersion, refuse func(values string) error) error {
	if len(rows) == 0 {
		return nil
	}
	where, err := chunks(ctx, parent)
	if err != nil {
		return err
	}
	slices.Reverse(where) // what children refer to is often new
	return k.passes(func(pass, passes uint64) (fits bool, err error) {
		sought := seek(rowsOf(rows), pass, passes)
		for _, p := range rows {
			if err := k.Rows(ctx, child, p, r.from, func(batch arrow.RecordBatch, dead *positions.Set) error {
				if r.Match == "FULL" && mixes(batch, dead) {
					return r.mixed()
				}
				return sought.Add(batch.Columns(), statisticsOf(p, r.from), dead, nil)
			}); err != nil || !k.fits(sought) {
				return false, err
			}
		}
		if err := k.Find(ctx, parent, r.to, where, sought, func(_ int64, sum key.Sum, _ func() string) bool {
			delete(sought.Sums, sum)
			return len(sought.Sums) > 0
		}); err != nil {
			return false, err
		}
		return true, k.refuse(ctx, child, r.from, rows, sought, refuse)
	})
}

// refuse is an error if a row has what is sought.
func (k *Keeper) refuse(ctx context.Context, v *catalog.TableVersion, columns []int, rows []catalog.Position,
	sought *key.Sought, refuse func(values string) error) error {
	var refused error
	err := k.Find(ctx, v, columns, rows, sought, func(_ int64, _ key.Sum, text func() string) bool {
		refused = refuse(text())
		return false
	})
	if err == nil {
		err = refused
	}
	return err
}

// apart is an error if a row of some chunks of the child has a key that has vanished from the parent.
func (k *Keeper) apart(ctx context.Context, r *reference, parent changed, child *catalog.TableVersion,
	rows []catalog.Position, refuse func(values string) error) error {
	if len(rows) == 0 || parent.was == parent.is {
		return nil
	}
	removed, exact, err := parent.is.Removed(ctx, parent.was)
	if err != nil || exact && len(removed) == 0 {
		return err
	}
	if !exact {
		return k.present(ctx, r, child, rows, parent.is, refuse)
	}
	fresh, err := parent.is.Since(ctx, parent.was)
	if err != nil {
		return err
	}
	return k.passes(func(pass, passes uint64) (fits bool, err error) {
		sought, err := k.vanished(ctx, r, parent, removed, fresh, pass, passes)
		if sought == nil || err != nil {
			return false, err
		}
		return true, k.refuse(ctx, child, r.from, rows, sought, refuse)
	})
}

// vanished are the keys that have vanished from the parent; nil: they are too many for one pass.
func (k *Keeper) vanished(ctx context.Context, r *reference, parent changed, removed map[int]*positions.Set,
	fresh []catalog.Position, pass, passes uint64) (*key.Sought, error) {
	var gone []catalog.Position
	count := int64(0)
	for i, rows := range removed {
		p, err := parent.was.At(ctx, i)
		if err != nil {
			return nil, err
		}
		gone, count = append(gone, p), count+rows.Count()
	}
	sought := seek(count, pass, passes)
	for _, p := range gone {
		if err := k.Rows(ctx, parent.was, p, r.to, func(batch arrow.RecordBatch, _ *positions.Set) error {
			return sought.AddOnly(batch.Columns(), statisticsOf(p, r.to), removed[p.Index])
		}); err != nil {
			return nil, err
		}
		if !k.fits(sought) {
			return nil, nil
		}
	}
	err := k.Find(ctx, parent.is, r.to, fresh, sought, func(_ int64, sum key.Sum, _ func() string) bool {
		delete(sought.Sums, sum)
		return len(sought.Sums) > 0
	})
	return sought, err
}

// passes calls one for each pass over the keys, of more and more of them until each fits.
func (k *Keeper) passes(one func(pass, passes uint64) (fits bool, err error)) error {
	for passes := uint64(1); ; passes *= 4 {
		fits, err := true, error(nil)
		for pass := uint64(0); pass < passes && fits && err == nil; pass++ {
			fits, err = one(pass, passes)
		}
		if fits || err != nil {
			return err
		}
	}
}

func seek(rows int64, pass, passes uint64) *key.Sought {
	sought := key.Seek(rows, false)
	sought.Pass, sought.Passes = pass, passes
	return sought
}

func rowsOf(chunks []catalog.Position) (rows int64) {
	for _, p := range chunks {
		rows += p.Rows()
	}
	return rows
}

func (k *Keeper) fits(sought *key.Sought) bool {
	most := k.passRows
	if most == 0 {
		most = passRows
	}
	return len(sought.Sums) <= most
}

func statisticsOf(p catalog.Position, columns []int) (list []*descriptor.Statistics) {
	for _, i := range columns {
		list = append(list, p.Chunk.Statistics(i))
	}
	return list
}

// mixes reports whether a row that lives has NULL in some columns and not in others.
func mixes(batch arrow.RecordBatch, dead *positions.Set) bool {
	for row := range int(batch.NumRows()) {
		nulls := 0
		for _, c := range batch.Columns() {
			if c.IsNull(row) {
				nulls++
			}
		}
		if nulls > 0 && nulls < int(batch.NumCols()) && !dead.Has(int64(row)) {
			return true
		}
	}
	return false
}
