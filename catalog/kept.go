package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/persistent"
	"github.com/csmsql/csmsql/memregion"
)

// Former versions that are kept (Table.Retention). The commit that puts another version in the place of one puts the
// record of that one beside the tables', where all states have it from then on, until it is expired:
//
//	table/7        version 3 ──► version 4 ──► version 5
//	kept/7/3                     version 3     version 3 ──► expired: its pages die as those of any version do
//	kept/7/4                                   version 4
//
// A version with the rows and columns that the one before it has, which only lie elsewhere, stands for that one too.

// keptKey names a version that is kept.
type keptKey = keys.Kept

type keptEntry struct {
	version  *TableVersion
	until    time.Time // when another one took its place
	revision Revision
}

func newKept() persistent.Map[keptKey, keptEntry] {
	return persistent.New[keptKey, keptEntry](keptKey.Compare)
}

// Kept is a version of a table that can be asked for.
type Kept struct {
	*TableVersion
	// Until is when another one took its place; the zero time: none has.
	Until time.Time
}

// keptOf lists the former versions of a table that are kept, oldest first.
func (c *Contents) keptOf(id TableID) (list []keptEntry) {
	for key, e := range c.kept.From(keptKey{Table: id}) {
		if key.Table != id {
			break
		}
		list = append(list, e)
	}
	return list
}

// Versions lists the versions of a table that can be asked for, oldest first: those that are kept, and the present one.
func (c *Contents) Versions(v *TableVersion) (list []Kept) {
	c = c.having(v.Table().ID, v.Table().Name)
	now, ok := c.TableOf(v.Table().ID, v.Table().Name)
	if !ok {
		return nil
	}
	if now.Table().Retention.Keeps() {
		for _, e := range c.keptOf(now.Table().ID) {
			list = append(list, Kept{e.version, e.until})
		}
	}
	return append(list, Kept{TableVersion: now})
}

// ErrNoVersion: a table has no version of that number or time, any more or yet.
var ErrNoVersion = errors.New("the table has no such version")

// VersionNumbered finds the version of a table that has a number, or stands for it: one that came since with the same
// rows and columns.
func (c *Contents) VersionNumbered(v *TableVersion, number uint64) (Kept, error) {
	list := c.Versions(v)
	i, _ := slices.BinarySearchFunc(list, number, func(k Kept, n uint64) int { return cmp.Compare(k.Version(), n) })
	if i < len(list) {
		if k := list[i]; k.Version() == number || k.SinceNumber() > 0 && k.SinceNumber() <= number {
			return k, nil
		}
	}
	return Kept{}, ErrNoVersion
}

// VersionAt finds the version of a table that was the present one at a time.
func (c *Contents) VersionAt(v *TableVersion, at time.Time) (Kept, error) {
	list := c.Versions(v)
	for _, k := range slices.Backward(list) {
		switch from := k.CommittedAt(); {
		case from.IsZero(), at.Before(from):
		case k.Until.IsZero(), at.Before(k.Until):
			return k, nil
		}
	}
	return Kept{}, ErrNoVersion
}

// keepsRemoved bounds how many versions of a table one commit expires on the way.
const keepsRemoved = 2

// retain dates a table's next version and keeps the one in whose place it comes, if the table keeps any.
func (w *commit) retain(sealed, made, before *TableVersion) (*TableVersion, error) {
	table := sealed.Table()
	if !table.Retention.Keeps() {
		return sealed, nil
	}
	dated, keeps := sealed.Dated(made, before, w.catalog.options.Now())
	if !keeps {
		return dated, nil
	}
	until := dated.CommittedAt()
	record, err := before.EncodeKept(until)
	if err != nil {
		return nil, err
	}
	key := keptKey{Table: table.ID, Number: before.Version()}
	w.put(key.Key(), record)
	w.next.kept = w.next.kept.With(key, keptEntry{version: before, until: until})
	w.keeps = append(w.keeps, key)
	list := w.next.keptOf(table.ID)
	for _, e := range list[:min(keepsRemoved, max(0, len(list)-table.Retention.Versions))] {
		gone := keptKey{Table: table.ID, Number: e.version.Version()}
		w.remove(gone.Key())
		w.next.kept = w.next.kept.Without(gone)
	}
	return dated, nil
}

// dateKept sets the revision of what was kept.
func (w *commit) dateKept(revision Revision) {
	for _, key := range w.keeps {
		if e, ok := w.next.kept.Get(key); ok {
			e.revision = revision
			w.next.kept = w.next.kept.With(key, e)
		}
	}
}

// Restore makes a table what an earlier version of it was, which is kept, or the present one: its rows and its columns,
// without a byte copied. Commit is ErrConflict if that version is kept no more.
func (t *Transaction) Restore(name TableName, earlier *TableVersion) error {
	id := earlier.Table().ID
	key := keptKey{Table: id, Number: earlier.Version()}
	if e, ok := t.base.kept.Get(key); ok && e.version == earlier {
		t.keptRead = append(t.keptRead, store.Unchanged(key.Key(), e.revision))
	} else if now, ok := t.base.TableOf(id, name); !ok || now != earlier {
		return fmt.Errorf("table %v, version %d: %w", name, earlier.Version(), ErrNoVersion)
	}
	return t.changeTable(name, takeNothing, func(v *TableVersion) (*TableVersion, error) { return v.Restore(earlier) })
}

// expired reports whether a kept version is to be kept no longer. behind is how many later ones of its table are kept.
func (c *Contents) expired(key keptKey, e keptEntry, behind int, now time.Time) bool {
	table, ok := c.TableOf(key.Table, e.version.Table().Name)
	if !ok {
		return true // it was dropped
	}
	r := table.Table().Retention
	return behind >= r.Versions || r.Age > 0 && now.Sub(e.until) > r.Age
}

// expiredAt lists what is kept and need not be, of one table, or of all (0).
func (c *Contents) expiredAt(id TableID, now time.Time) (list []keptKey) {
	var of []keptKey
	flush := func() {
		for i, key := range of {
			if c.expired(key, c.kept.Of(key), len(of)-1-i, now) {
				list = append(list, key)
			}
		}
		of = of[:0]
	}
	for key := range c.kept.From(keptKey{Table: id}) {
		if id != 0 && key.Table != id {
			break
		}
		if len(of) > 0 && of[0].Table != key.Table {
			flush()
		}
		of = append(of, key)
	}
	flush()
	return list
}

// expireMost bounds how many versions one transaction of the store expires, of the operations that the store allows it.
const expireMost = 64

// Expire gives up the kept versions whose time is over at now, or of which there are more than their tables keep, of
// one table, or of all (0). Time is passed in, so that what happens depends on nothing else. It returns how many there
// were. Preconditions: in a cluster, Run is running.
func (c *Catalog) Expire(ctx context.Context, id TableID, now time.Time) (int, error) {
	contents := c.Applied()
	if contents.kept.Len() == 0 {
		return 0, nil
	}
	if err := c.barrier(ctx); err != nil {
		return 0, fmt.Errorf("expire versions: %w", err)
	}
	list := c.Applied().expiredAt(id, now)
	return len(list), c.giveUp(ctx, list)
}

// GiveUpAt gives up the kept versions of which an extent lies in a region of a node, and returns how many there were of
// each table, by its name then. Preconditions: Run is running.
func (c *Catalog) GiveUpAt(ctx context.Context, node string) (map[TableName]int, error) {
	if err := c.barrier(ctx); err != nil {
		return nil, fmt.Errorf("give up versions: %w", err)
	}
	there := map[memregion.RegionID]bool{}
	for _, r := range c.Regions() {
		there[r.ID] = r.Node == node
	}
	var list []keptKey
	gone := map[TableName]int{}
	for key, e := range c.Applied().kept.All() {
		if err := c.loadExtents(ctx, e.version); err != nil {
			return nil, err
		}
		for id := range c.extentsOf(e.version) {
			if there[id.Region] {
				list = append(list, key)
				gone[e.version.Table().Name]++
				break
			}
		}
	}
	return gone, c.giveUp(ctx, list)
}

// giveUp has versions kept no longer.
func (c *Catalog) giveUp(ctx context.Context, list []keptKey) error {
	for len(list) > 0 {
		n := min(len(list), expireMost)
		if err := c.giveUpSome(ctx, list[:n]); err != nil {
			return fmt.Errorf("expire versions: %w", err)
		}
		list = list[n:]
	}
	return nil
}

// giveUpSome is a commit of its own: as one, it has its turn, and its token.
func (c *Catalog) giveUpSome(ctx context.Context, list []keptKey) error {
	select {
	case c.committing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.committing }()
	g := &group{catalog: c}
	w, err := g.prepare(ctx)
	if err != nil {
		return err
	}
	if c.shared() {
		w.compares(unchanged(keys.Node(c.options.Self.Name), c.registered))
	}
	for _, key := range list {
		if e, ok := w.current.kept.Get(key); ok {
			w.compares(unchanged(key.Key(), e.revision))
			w.remove(key.Key())
			w.next.kept = w.next.kept.Without(key)
		}
	}
	if len(w.write.Deletes) == 0 {
		return nil
	}
	defer c.setPending(nil)
	revision, err := w.store(context.WithoutCancel(ctx))
	if isConflict(err) { // another node was faster, or a table was restored: the next look says what is left
		return nil
	}
	if err == nil || errors.Is(err, ErrOutcomeUnknown) {
		g.finish(context.WithoutCancel(ctx), w, revision, err)
	}
	return err
}

// keepFrom has contents that were read again use the versions that were there, where these are the same.
func (c *Contents) keepFrom(old *Contents) {
	for key, e := range c.kept.All() {
		if had, ok := old.kept.Get(key); ok && had.revision == e.revision {
			e.version = had.version
		} else if now, ok := old.TableOf(key.Table, e.version.Table().Name); ok && now.Version() == key.Number {
			e.version = now
		}
		c.kept = c.kept.With(key, e)
	}
}

// keptVersion returns the version of a record that was put among the kept ones: the table's own former version, if this
// catalog had it.
func (c *Catalog) keptVersion(before *Contents, key keptKey, item store.Item) (keptEntry, error) {
	v, until, err := hugetable.DecodeKept(item.Value, c.source)
	if err != nil {
		return keptEntry{}, err
	}
	if v.Table().ID != key.Table || v.Version() != key.Number {
		return keptEntry{}, damaged("kept version",
			fmt.Errorf("it is of table %d, version %d", v.Table().ID, v.Version()))
	}
	if now, ok := before.TableOf(key.Table, v.Table().Name); ok && now.Version() == key.Number {
		v = now
	}
	return keptEntry{version: v, until: until, revision: item.Revision}, nil
}
