package delta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lookup"
	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

const (
	// bytesMost bounds the rows of a delta, as constantrows counts them: in a chunk they take less.
	bytesMost = 128 << 10
	// reservedBytes is what is set aside for them: with what a chunk's writer asks for beside its rows.
	reservedBytes = bytesMost + bytesMost/8 + 1<<16
	// columnsMost bounds the columns of a table that has one: each takes up to three times 64 bytes of what is beside rows.
	columnsMost = 256
	// tablesMost bounds how many tables have one.
	tablesMost = 16
)

// Store has the deltas of a node. Its methods are called in turn with commits (catalog.Deltas).
type Store struct {
	// Target is where new chunks of a table go.
	Target func(ctx context.Context, v *catalog.TableVersion, zone string) (ingest.Target, error)
	// Followed reports whether versions of tables are waited for.
	Followed func() bool

	tables  map[catalog.TableID]*delta
	waiting atomic.Pointer[map[catalog.TableName]bool] // those that have a delta, or will; nil: not known before a seal
}

// Unsealed is how old a snapshot may be, as its Holder says it, of which nothing is read that waits.
const Unsealed = time.Duration(math.MaxInt64)

// Spare reports whether a statement finds no row that waits: it reads none at all (constant), or only of what reads
// names, and none of those has a delta. Rows that are acknowledged later may be there or not.
func (s *Store) Spare(constant bool, reads lookup.Meanings) bool {
	waiting := s.waiting.Load()
	if waiting == nil || constant {
		return waiting != nil
	}
	for name := range reads { // of a query of system tables, which may count rows, they are not known
		if (*waiting)[name] {
			return false
		}
	}
	return reads != nil
}

type delta struct {
	table    catalog.Table
	rows     []*constantrows.Rows
	bytes    int64 // of the rows, and of those that were admitted
	admitted int   // notes that are on their way to the log
	reserved *reserved
}

// Note has a catalog put rows of a table, as it was when they were made, on record. Not taken: they have to be stored.
func (s *Store) Note(ctx context.Context, c *catalog.Catalog, table catalog.Table,
	rows []*constantrows.Rows) (taken bool, err error) {
	var bytes int64
	for _, r := range rows {
		bytes += r.Bytes()
	}
	if bytes > bytesMost/2 || table.Columns.NumFields() > columnsMost {
		return false, nil
	}
	return c.Note(ctx, &catalog.Note{
		Table: table.Name,
		Admit: func(now *catalog.TableVersion) ([]byte, error) { return s.admit(now, table, rows, bytes) },
		Noted: func(err error) { s.noted(table.ID, rows, bytes, err) },
	})
}

// admit gives the record of rows if they may go into the delta of their table.
func (s *Store) admit(now *catalog.TableVersion, table catalog.Table, rows []*constantrows.Rows,
	bytes int64) (record []byte, err error) {
	if now == nil || now.Table().ID != table.ID || !constantrows.Same(now.Table().Columns, table.Columns) {
		return nil, fmt.Errorf("%w: table %v has changed since the rows were made", catalog.ErrConflict, table.Name)
	}
	if s.Followed() || now.Table().Retention.Keeps() {
		return nil, nil
	}
	d := s.tables[table.ID]
	switch {
	case d == nil && len(s.tables) >= tablesMost || d != nil && d.bytes+bytes > bytesMost:
		return nil, catalog.ErrDeltasFull
	case d == nil:
		if d, err = s.begin(now); d == nil {
			return nil, err
		}
	}
	d.admitted, d.bytes = d.admitted+1, d.bytes+bytes
	for _, r := range rows {
		record = r.Append(record)
	}
	return record, nil
}

// noted takes rows that were admitted, if they are on record. A delta that has none by then is no delta: its table may
// change, which seals nothing (DL2).
func (s *Store) noted(id catalog.TableID, rows []*constantrows.Rows, bytes int64, err error) {
	d := s.tables[id]
	if d.admitted--; err == nil {
		d.rows = append(d.rows, rows...)
		return
	}
	if d.bytes -= bytes; d.admitted == 0 && len(d.rows) == 0 {
		d.reserved.giveBack()
		delete(s.tables, id)
	}
}

// begin begins the delta of a table; nil: it can have none, or there is no memory for it.
func (s *Store) begin(now *catalog.TableVersion) (*delta, error) {
	table := now.Table()
	if p, err := placement.Parse(table.Placement); err != nil || p.Kind == placement.Hash || table.Replicas > 1 {
		return nil, nil //nolint:nilerr // storing the rows says what is wrong
	}
	target, err := s.Target(context.Background(), now, "") // of the node, and no session's
	if err != nil || target.Space == nil || target.Next != nil || target.Replicate != nil || target.Check != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	r, err := reserve(target.Space, target.Owner)
	if err != nil {
		return nil, nil //nolint:nilerr // what is left may do for the rows themselves
	}
	d := &delta{table: table, reserved: r}
	s.put(d)
	return d, nil
}

func (s *Store) put(d *delta) {
	if s.tables == nil {
		s.tables = map[catalog.TableID]*delta{}
	}
	s.tables[d.table.ID] = d
	if before := s.waiting.Load(); before != nil {
		waiting := maps.Clone(*before)
		waiting[d.table.Name] = true
		s.waiting.Store(&waiting)
	}
}

// Restore implements catalog.Deltas.
func (s *Store) Restore(table catalog.Table, record []byte) error {
	rows, err := constantrows.Decode(table.Columns, record)
	if err != nil {
		return err
	}
	if s.tables[table.ID] == nil {
		s.put(&delta{table: table, reserved: &reserved{}})
	}
	d := s.tables[table.ID]
	d.rows = append(d.rows, rows...)
	return nil
}

// Moved is what follows a node's tables: a look of it seals first.
func (s *Store) Moved(c func() *catalog.Catalog) func() (*catalog.Contents, <-chan struct{}, error) {
	return func() (*catalog.Contents, <-chan struct{}, error) {
		_ = c().SealDeltas(context.Background()) // else a later look does
		return c().Moved()
	}
}

// Close seals what there is, so that the next start has nothing to restore. Requires: no session is left.
func (s *Store) Close(c *catalog.Catalog, log *slog.Logger) {
	if c == nil {
		return
	}
	if err := c.SealDeltas(context.Background()); err != nil {
		log.Warn("rows that were inserted are made a chunk at the next start", "error", err)
	}
}

// Append implements catalog.Deltas.
func (s *Store) Append(ctx context.Context, tx *catalog.Transaction) error {
	if s.Target == nil {
		return sqlerror.New("57P03", "the node is starting")
	}
	for _, id := range slices.Sorted(maps.Keys(s.tables)) {
		if d := s.tables[id]; len(d.rows) > 0 {
			if err := s.append(ctx, tx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) append(ctx context.Context, tx *catalog.Transaction, d *delta) error {
	version, ok := tx.Contents().Table(d.table.Name)
	if !ok || version.Table().ID != d.table.ID { // DL2
		return fmt.Errorf("table %v is another one than that which has rows on record", d.table.Name)
	}
	target, err := s.Target(context.Background(), version, "")
	if err != nil {
		return err
	}
	if target.Space != nil {
		target.Space = d.reserved.in(target.Space)
	}
	w := ingest.NewWriter(target)
	batch := constantrows.Batch(d.rows...)
	defer batch.Release()
	if err := w.Add(ctx, batch); err != nil {
		return errors.Join(err, w.Abort())
	}
	chunks, err := w.Finish(ctx)
	if err != nil {
		return err
	}
	return tx.Append(d.table.Name, chunks)
}

// Sealed implements catalog.Deltas.
func (s *Store) Sealed() {
	for _, d := range s.tables {
		d.reserved.giveBack()
	}
	clear(s.tables)
	s.waiting.Store(&map[catalog.TableName]bool{})
}
