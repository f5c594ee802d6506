package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/notes"
	"github.com/csmsql/csmsql/catalog/store"
)

// A note puts rows of small INSERTs on record, and nothing else: no chunk, no page, no record of their table (K16).
//
//	Note ─► queue ─► one record of the store for all that wait ─► delta of the table ──┐
//	Snapshot, Commit ─────────────────► SealDeltas: chunks, and the records removed ◄──┘

// Deltas keep the rows that are on record only. All calls are in turn with commits, and may not call the catalog.
type Deltas interface {
	// Restore takes rows of a table that a former process has noted.
	Restore(table Table, rows []byte) error
	// Append has a transaction append the rows of all deltas, as chunks, to their tables.
	Append(ctx context.Context, t *Transaction) error
	// Sealed forgets them: they are committed.
	Sealed()
}

// Note is rows that a table gets.
type Note struct {
	Table TableName
	// Admit gives what Restore will get, if the rows may be noted of what has the table's name now; nil: nothing has.
	// No rows: they have to become a chunk at once. ErrDeltasFull: it is called again when those that wait are sealed.
	Admit func(now *TableVersion) (rows []byte, err error)
	Noted func(err error) // is called once for rows that were given: they are durable, or why they are not
	taken bool
}

// ErrDeltasFull is what Note.Admit returns when deltas have to be sealed first.
var ErrDeltasFull = errors.New("the rows that wait have to be sealed first")

// Note puts rows on record; taken: they are durable, and every later snapshot has them. ErrOutcomeUnknown: perhaps.
func (c *Catalog) Note(ctx context.Context, n *Note) (taken bool, err error) {
	if c.shared() || c.options.Deltas == nil {
		return false, nil
	}
	err = c.await(&request{ctx: ctx, note: n, done: make(chan struct{})})
	return n.taken, err
}

// noteAll puts notes on record. Requires: committing.
func (c *Catalog) noteAll(ctx context.Context, list []*request) {
	if !c.noted.Restored {
		if err := c.sealAll(ctx); err != nil {
			(&group{catalog: c, requests: list}).failAll(err)
			return
		}
	}
	var rows []notes.Rows
	var taken []*request
	for _, r := range list {
		of, err := c.admit(r)
		if errors.Is(err, ErrDeltasFull) { // those that were admitted are sealed, too: on record first
			c.put(ctx, rows, taken)
			rows, taken = nil, nil
			if err = c.sealAll(ctx); err == nil {
				of, err = c.admit(r)
			}
		}
		if r.err = err; err == nil && of.Rows != nil {
			rows, taken = append(rows, of), append(taken, r)
		}
	}
	c.put(ctx, rows, taken)
}

// put puts notes on record that were admitted. Requires: committing.
func (c *Catalog) put(ctx context.Context, rows []notes.Rows, taken []*request) {
	err := c.noted.Put(context.WithoutCancel(ctx), rows)
	if cause := notes.Cause(err); cause != nil {
		err = notCommitted(cause)
	} else if errors.Is(err, store.ErrUnknown) {
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		c.broken = err
	}
	c.unsealed.Store(len(c.noted.Keys) > 0)
	for _, r := range taken {
		r.err, r.note.taken = err, err == nil
		r.note.Noted(err)
	}
}

// admit asks whether a note's rows may be noted.
func (c *Catalog) admit(r *request) (rows notes.Rows, err error) {
	current, err := c.usable(r.ctx)
	if err != nil {
		return rows, err
	}
	now := current.tables.Of(r.note.Table).version
	if rows.Rows, err = r.note.Admit(now); rows.Rows != nil {
		rows.Table = now.Table().ID
	}
	return rows, err
}

// SealDeltas has snapshots that are taken from now on show all rows that have been noted.
func (c *Catalog) SealDeltas(ctx context.Context) error {
	if !c.unsealed.Load() {
		return nil
	}
	select {
	case c.committing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.committing }()
	return c.sealAll(ctx)
}

// sealAll commits the rows of all deltas. A cancel does not end it: memory is set aside for it once. Requires: committing.
func (c *Catalog) sealAll(ctx context.Context) error {
	if !c.unsealed.Load() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if c.options.Deltas == nil {
		return fmt.Errorf("%w: rows that were inserted are in no chunk yet", ErrFormat)
	}
	err := c.noted.Restore(ctx, func(r notes.Rows) error {
		v, ok := c.Applied().TableOf(r.Table, TableName{})
		if !ok {
			return fmt.Errorf("there is no table %d", r.Table)
		}
		return c.options.Deltas.Restore(v.Table(), r.Rows)
	})
	if err != nil {
		return damaged("note", err)
	}
	s, err := c.leased(ctx, Holder{Domain: c.options.Domain, Description: "seal"}, 0)
	if err != nil {
		return err
	}
	defer s.Close()
	t := c.Begin(s)
	if err := c.options.Deltas.Append(ctx, t); err != nil {
		t.Rollback()
		return fmt.Errorf("seal rows that were inserted: %w", err)
	}
	t.over, t.notes = true, c.noted.Keys
	r := &request{ctx: ctx, transaction: t, held: t.taken, done: make(chan struct{})}
	if c.commitAlone(r, nil); r.err != nil {
		return fmt.Errorf("seal rows that were inserted: %w", r.err)
	}
	c.noted.Keys = nil
	c.unsealed.Store(false)
	c.options.Deltas.Sealed()
	return nil
}
