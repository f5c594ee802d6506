package catalog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// deltas are those of a world: rows of one table become one chunk. They find fault with a catalog that seals them while
// rows are on their way to the log, that takes rows to be on record which are not, or whose log has other rows (K16).
type deltas struct {
	w          *world
	boot       string // of which rows are restored
	tablesMost int    // that have a delta, and
	most       int    // rows that one has; 0: any number

	tables   []catalog.Table             // in the order in which their deltas began
	rows     map[catalog.TableID][]int64 // of those that have one
	admitted []*note                     // whose rows are on their way to the log
	last     uint64                      // number of the record of what was noted last
	placing  map[string]string           // where chunks lie that Append has made
	sealing  bool                        // Append was called, and Sealed was not
	doubt    bool                        // what is in the log is not known to the catalog
	sealed   int                         // how often
}

// note is rows of a table that are to be noted, and what has happened to them.
type note struct {
	w             *world
	name          catalog.TableName
	values        []int64
	full, refused bool            // Admit is to say so, once
	meanwhile     func()          // happens in Admit, once
	apply, misses func(now *twin) // have the twin know that it is on record, and that it found no table; may be nil

	id       catalog.TableID
	record   []byte
	said     error // by Admit, last
	asked    bool
	admitted int
	noted    int
	durable  bool

	taken bool // what Note has returned
	err   error
	left  chan struct{} // closed then
}

// start has the catalog note the rows. The world's twin gets them when they are on record.
func (n *note) start(ctx context.Context) {
	n.taken, n.err = n.w.catalog.Note(ctx, &catalog.Note{Table: n.name, Admit: n.admit, Noted: n.isNoted})
}

func (n *note) admit(v *catalog.TableVersion) ([]byte, error) {
	d := n.w.deltas
	if meanwhile := n.meanwhile; meanwhile != nil {
		n.meanwhile = nil
		meanwhile()
	}
	n.asked, n.said = true, nil
	if v == nil {
		if n.said = catalog.ErrConflict; n.misses != nil {
			n.w.events = append(n.w.events, n.misses)
		}
		return nil, n.said
	}
	n.id = v.Table().ID
	waiting, begun := d.rows[n.id]
	for _, other := range d.admitted {
		if other.id == n.id {
			waiting = append(slices.Clip(waiting), other.values...)
		}
	}
	full := begun && d.most > 0 && len(waiting)+len(n.values) > d.most ||
		!begun && d.tablesMost > 0 && len(d.tables) >= d.tablesMost
	switch {
	case n.refused:
		return nil, nil
	case full || n.full:
		if full && len(d.tables) == 0 {
			d.fault("a delta is full when all are sealed")
		}
		n.full, n.said = false, catalog.ErrDeltasFull
		return nil, n.said
	}
	d.begin(v.Table())
	d.admitted = append(d.admitted, n)
	n.admitted++
	n.record = nil
	for _, value := range n.values {
		n.record = binary.BigEndian.AppendUint64(n.record, uint64(value))
	}
	return n.record, nil
}

func (n *note) isNoted(err error) {
	d := n.w.deltas
	if n.noted++; len(d.admitted) == 0 || d.admitted[0] != n {
		d.fault("rows of %v are noted that are not the first of those that were admitted", n.name)
		return
	}
	d.admitted = d.admitted[1:]
	number, there := d.find(n)
	switch {
	case err == nil && !there:
		d.fault("rows of %v are noted that are not on record", n.name)
	case err == nil && number <= d.last:
		d.fault("rows of %v are noted in another order than that of the log: %d behind %d", n.name, number, d.last)
	case err != nil && there && !errors.Is(err, catalog.ErrOutcomeUnknown):
		d.fault("rows of %v are on record and it is an error: %v", n.name, err)
	}
	d.last = max(d.last, number)
	if n.durable = there; there && n.apply != nil {
		n.w.events = append(n.w.events, n.apply)
	}
	if err != nil {
		d.end(n.id)
		return
	}
	if _, begun := d.rows[n.id]; !begun {
		d.fault("rows of %v are noted in a delta that is gone", n.name)
		return
	}
	d.rows[n.id] = append(d.rows[n.id], n.values...)
}

func (d *deltas) fault(format string, args ...any) {
	d.w.faults = append(d.w.faults, fmt.Errorf(format, args...))
}

// begin begins the delta of a table, if it has none.
func (d *deltas) begin(table catalog.Table) {
	if _, begun := d.rows[table.ID]; begun {
		return
	}
	if d.rows == nil {
		d.rows = map[catalog.TableID][]int64{}
	}
	d.rows[table.ID] = nil
	d.tables = append(d.tables, table)
}

// end ends the delta of a table, if nothing is in it and nothing may come.
func (d *deltas) end(id catalog.TableID) {
	if len(d.rows[id]) > 0 || slices.ContainsFunc(d.admitted, func(n *note) bool { return n.id == id }) {
		return
	}
	delete(d.rows, id)
	d.tables = slices.DeleteFunc(d.tables, func(t catalog.Table) bool { return t.ID == id })
}

// find is where the rows of a note are on record: the last place, if others were the same.
func (d *deltas) find(n *note) (number uint64, there bool) {
	for _, item := range d.onRecord() {
		id, at, _ := keys.ParseNote(item.Key)
		if r, err := record.DecodeNote(item.Value); err == nil && id == n.id && string(r.Rows) == string(n.record) {
			number, there = max(number, at), true
		}
	}
	return number, there
}

// onRecord are the notes in the store, of any boot, in the order of each table.
func (d *deltas) onRecord() (list []store.Item) {
	_, err := d.w.store.Scan(ctx, []string{keys.TablePrefix}, func(item store.Item) error {
		if _, _, is := keys.ParseNote(item.Key); is {
			list = append(list, item)
		}
		return nil
	})
	if err != nil {
		d.fault("read notes: %w", err)
	}
	return list
}

func (d *deltas) Restore(table catalog.Table, rows []byte) error {
	if len(d.admitted) > 0 || d.last > 0 {
		d.fault("rows are restored behind those that were noted since")
	}
	d.begin(table)
	d.rows[table.ID] = append(d.rows[table.ID], valuesOf(rows)...)
	return nil
}

func valuesOf(rows []byte) (values []int64) {
	for ; len(rows) > 0; rows = rows[8:] {
		values = append(values, int64(binary.BigEndian.Uint64(rows)))
	}
	return values
}

// settled finds fault with deltas that are to be sealed, or were, while rows are on their way to the log.
func (d *deltas) settled(when string) {
	for _, n := range d.admitted {
		d.fault("the delta of %v is sealed (%s) while rows of it are on their way to the log", n.name, when)
	}
}

func (d *deltas) Append(_ context.Context, tx *catalog.Transaction) error {
	d.settled("append")
	d.sealing = true
	there := map[catalog.TableID][]int64{}
	for _, item := range d.onRecord() {
		id, _, _ := keys.ParseNote(item.Key)
		if r, err := record.DecodeNote(item.Value); err != nil {
			d.fault("%q: %w", item.Key, err)
		} else if r.Boot == d.boot {
			there[id] = append(there[id], valuesOf(r.Rows)...)
		}
	}
	d.placing = map[string]string{}
	for _, table := range d.tables {
		values := d.rows[table.ID]
		if !d.doubt && !slices.Equal(there[table.ID], values) {
			d.fault("%v is sealed with %v, on record are %v", table.Name, values, there[table.ID])
		}
		delete(there, table.ID)
		if len(values) == 0 {
			continue
		}
		c := d.w.chunkOf(values)
		d.placing[waits(table.ID)] = placeOf(c)
		if err := tx.Append(table.Name, []*catalog.Chunk{c}); err != nil {
			return err
		}
	}
	if len(there) > 0 && !d.doubt {
		d.fault("rows are on record of tables that are sealed without them: %v", there)
	}
	return nil
}

func (d *deltas) Sealed() {
	d.settled("sealed")
	if left := d.onRecord(); len(left) > 0 {
		d.fault("the deltas are sealed, and %d notes are left, the first one is %q", len(left), left[0].Key)
	}
	d.tables, d.rows, d.sealing = nil, nil, false
	d.sealed++
	d.placed()
}

// crashed is for a process that has died: perhaps what it has appended was sealed, and it did not hear of it.
func (d *deltas) crashed() {
	if len(d.onRecord()) == 0 {
		d.placed()
	}
}

// placed has the twin know where the chunks are that were made last.
func (d *deltas) placed() {
	if places := d.placing; len(places) > 0 {
		d.w.events = append(d.w.events, func(now *twin) { now.place(places) })
	}
	d.placing = nil
}

// waits is the place of a table's rows that are in no chunk yet.
func waits(id catalog.TableID) string { return fmt.Sprintf("waits/%d", id) }

// place puts rows that were in no chunk into the chunks that they have become.
func (t *twin) place(places map[string]string) {
	for name, table := range t.tables {
		for i, c := range table.chunks {
			if place, is := places[c.place]; is {
				table.chunks = slices.Clone(table.chunks)
				table.chunks[i].place = place
				t.tables[name] = table
			}
		}
	}
}

// append puts rows that were noted behind those of a table.
func (t *twin) append(name catalog.TableName, id catalog.TableID, values []int64, clock int64) {
	table := t.tables[name]
	table.chunks = slices.Clone(table.chunks)
	if n := len(table.chunks); n == 0 || table.chunks[n-1].place != waits(id) {
		table.chunks = append(table.chunks, twinChunk{place: waits(id)})
	}
	last := &table.chunks[len(table.chunks)-1]
	last.values = append(slices.Clone(last.values), values...)
	table.changed = clock
	t.tables[name], t.marks[name.String()] = table, clock
}

// settle has the twin know what has happened to rows that were noted.
func (w *world) settle(now *twin) {
	for _, happens := range w.events {
		happens(now)
	}
	w.events = nil
}
