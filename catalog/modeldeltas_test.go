package catalog_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
)

// deltas are those of a world: rows of one table become one chunk.
type deltas struct {
	w      *world
	tables []catalog.Table
	rows   map[catalog.TableID][]int64
	sealed int // how often
}

func (d *deltas) Restore(table catalog.Table, rows []byte) error {
	for ; len(rows) > 0; rows = rows[8:] {
		d.add(table, int64(binary.BigEndian.Uint64(rows)))
	}
	return nil
}

func (d *deltas) add(table catalog.Table, values ...int64) {
	if d.rows == nil {
		d.rows = map[catalog.TableID][]int64{}
	}
	if d.rows[table.ID] == nil {
		d.tables = append(d.tables, table)
	}
	d.rows[table.ID] = append(d.rows[table.ID], values...)
}

func (d *deltas) Append(_ context.Context, tx *catalog.Transaction) error {
	for _, table := range d.tables {
		c := d.w.chunkOf(d.rows[table.ID])
		if d.w.placed == nil {
			d.w.placed = map[string]string{}
		}
		d.w.placed[waits(table.ID)] = placeOf(c)
		if err := tx.Append(table.Name, []*catalog.Chunk{c}); err != nil {
			return err
		}
	}
	return nil
}

func (d *deltas) Sealed() {
	d.tables, d.rows = nil, nil
	d.sealed++
}

// note notes some rows of a table, which the twin gets at once; its last chunk is the one that they will be in.
func (w *world) note(rng *rand.Rand, now *twin, name catalog.TableName, clock int64) {
	var values []int64
	full, refused := rng.IntN(8) == 0, rng.IntN(8) == 0
	table, have := now.tables[name]
	var id catalog.TableID
	taken, err := w.catalog.Note(ctx, &catalog.Note{
		Table: name,
		Admit: func(v *catalog.TableVersion) (record []byte, err error) {
			switch {
			case v == nil:
				return nil, catalog.ErrConflict
			case full:
				full = false
				return nil, catalog.ErrDeltasFull
			case refused:
				return nil, nil
			}
			id = v.Table().ID
			for range 1 + rng.IntN(3) {
				values = append(values, w.next)
				record = binary.BigEndian.AppendUint64(record, uint64(w.next))
				w.next++
			}
			return record, nil
		},
		Noted: func() {
			s := w.catalog.Applied()
			v, _ := s.Table(name)
			w.deltas.add(v.Table(), values...)
		},
	})
	w.settle(now)
	if !have {
		require.ErrorIs(w.t, err, catalog.ErrConflict)
		return
	}
	require.NoError(w.t, err)
	require.Equal(w.t, !refused, taken)
	if refused {
		return
	}
	table = now.tables[name]
	table.chunks = slices.Clone(table.chunks)
	if n := len(table.chunks); n == 0 || table.chunks[n-1].place != waits(id) {
		table.chunks = append(table.chunks, twinChunk{place: waits(id)})
	}
	last := &table.chunks[len(table.chunks)-1]
	last.values = append(slices.Clone(last.values), values...)
	table.changed = clock
	now.tables[name], now.marks[name.String()] = table, clock
}

// waits is the place of a table's rows that are in no chunk yet.
func waits(id catalog.TableID) string { return fmt.Sprintf("waits/%d", id) }

// settle has the twin know where chunks lie that were sealed.
func (w *world) settle(now *twin) {
	for name, table := range now.tables {
		for i, c := range table.chunks {
			if place, is := w.placed[c.place]; is && strings.HasPrefix(c.place, "waits/") {
				table.chunks = slices.Clone(table.chunks)
				table.chunks[i].place = place
				now.tables[name] = table
			}
		}
	}
	clear(w.placed)
}
