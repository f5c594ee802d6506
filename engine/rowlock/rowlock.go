package rowlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Locks are the claims of a process' transactions.
type Locks struct {
	mu     sync.Mutex
	claims map[catalog.TableID][]*claim // in the order in which they were made
	ended  uint64
	// waiting is how many owners wait.
	waiting int
}

// Mode is what an owner wants of rows.
type Mode int

// The modes.
const (
	Changed Mode = iota // it changes them; the zero value
	Locked              // no other owner is to change or to lock them
	Shared              // no other owner is to change them
)

// excludes reports whether one owner cannot have a row in one mode while another has it in the other.
func (m Mode) excludes(other Mode) bool { return m != Shared || other != Shared }

// Rows are rows of one table, by their chunks in a version of it that is committed.
type Rows struct {
	Version *catalog.TableVersion
	Chunks  map[int]*positions.Set
	Mode    Mode
}

type claim struct {
	owner *Owner
	rows  Rows
	gone  chan struct{} // is closed when the owner has let go of it
	bytes int64         // that it takes
}

// claimBytes and setBytes are what a claim takes, and a chunk's entry in it beside its rows.
const claimBytes, setBytes = 256, 48

func newClaim(owner *Owner, rows Rows, gone chan struct{}) *claim {
	c := &claim{owner, rows, gone, claimBytes}
	for _, set := range rows.Chunks {
		c.bytes += setBytes + set.Bytes()
	}
	return c
}

// Owner is one transaction. It is for one goroutine.
type Owner struct {
	locks  *Locks
	claims []*claim
	bytes  int64      // of claims
	waits  *HeldError // locks.mu; what it waits for
}

// HeldError says that a row is another transaction's. It is no error for users: the transaction that gets it waits.
type HeldError struct {
	by    *Owner
	until <-chan struct{} // is closed when that one has let go of the rows
}

func (*HeldError) Error() string { return "a row is held by another transaction" }

// isOver reports whether there is nothing to wait for any longer.
func (e *HeldError) isOver() bool {
	select {
	case <-e.until:
		return true
	default:
		return false
	}
}

// New are no claims.
func New() *Locks { return &Locks{claims: map[catalog.TableID][]*claim{}} }

// Owner is a new transaction.
func (l *Locks) Owner() *Owner { return &Owner{locks: l} }

// Ended counts the owners that have ended and had claims. If the count has changed since a transaction found the rows
// that it claims, another one may have changed them meanwhile.
func (l *Locks) Ended() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Claim makes rows the owner's until it ends; those that it has already may be among them. A HeldError has claimed
// nothing.
func (o *Owner) Claim(ctx context.Context, rows Rows) error {
	if len(rows.Chunks) == 0 {
		return nil
	}
	l, id := o.locks, rows.Version.Table().ID
	l.mu.Lock()
	c := newClaim(o, rows, make(chan struct{}))
	before := l.claims[id]
	l.claims[id] = append(slices.Clip(before), c) // of two that are made at once the later one sees the earlier one
	l.mu.Unlock()
	o.claims, o.bytes = append(o.claims, c), o.bytes+c.bytes
	for _, other := range before {
		if other.owner == o || !other.rows.Mode.excludes(rows.Mode) {
			continue
		}
		meets, err := other.rows.meet(ctx, rows)
		if err == nil && meets {
			err = &HeldError{other.owner, other.gone}
		}
		if err != nil {
			o.release(len(o.claims) - 1)
			if ctx.Err() == nil && !l.has(other) { // it has moved meanwhile, or ended: its version may be gone
				return o.Claim(ctx, rows)
			}
			return err
		}
	}
	return nil
}

// has reports whether a claim is made and not let go of.
func (l *Locks) has(c *claim) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.claims[c.rows.Version.Table().ID], c)
}

// meet reports whether a row is in both.
func (r Rows) meet(ctx context.Context, other Rows) (bool, error) {
	if r.Version.Version() > other.Version.Version() {
		r, other = other, r
	}
	earlier, err := other.Version.RowsNow(ctx, r.Version, r.Chunks)
	switch {
	case errors.Is(err, hugetable.ErrDiverged):
		return false, nil // what was claimed is no row any more
	case err != nil:
		return false, fmt.Errorf("find the rows that another transaction holds: %w", err)
	}
	for i, rows := range earlier {
		if positions.Meets(rows, other.Chunks[i]) {
			return true, nil
		}
	}
	return false, nil
}

// Deleted are the rows of committed that are deleted in a version that is made of it, since an earlier version.
func Deleted(ctx context.Context, committed *catalog.Contents, since, now *catalog.TableVersion) (Rows, error) {
	base, ok := committed.Table(now.Table().Name)
	if !ok || since == nil {
		return Rows{}, nil
	}
	rows, _, err := now.Removed(ctx, since)
	maps.DeleteFunc(rows, func(chunk int, _ *positions.Set) bool { return chunk >= base.NumChunks() })
	return Rows{Version: base, Chunks: rows}, err
}

// Move says that the owner sees later contents from now on: pages of versions before may go. That a row which it has
// locked is not there any more is catalog.ErrConflict.
func (o *Owner) Move(ctx context.Context, contents *catalog.Contents) error {
	for _, c := range slices.Clone(o.claims) {
		table := c.rows.Version.Table()
		if c.rows.Mode != Changed {
			if err := contents.HasRows(ctx, c.rows.Version, c.rows.Chunks); err != nil {
				return fmt.Errorf("rows that the transaction has locked: %w", err)
			}
		}
		to, ok := contents.TableOf(table.ID, table.Name)
		if !ok || c.rows.Version == to {
			continue
		}
		rows, err := to.RowsNow(ctx, c.rows.Version, c.rows.Chunks)
		if errors.Is(err, hugetable.ErrDiverged) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find the rows that the transaction holds: %w", err)
		}
		o.locks.replace(c, Rows{to, rows, c.rows.Mode})
	}
	return nil
}

// replace gives a claim its rows by another version. Others hold the claims of before, as a whole.
func (l *Locks) replace(c *claim, rows Rows) {
	l.mu.Lock()
	defer l.mu.Unlock()
	claims := slices.Clone(l.claims[c.rows.Version.Table().ID])
	moved := newClaim(c.owner, rows, c.gone)
	c.owner.bytes += moved.bytes - c.bytes
	claims[slices.Index(claims, c)] = moved
	l.claims[rows.Version.Table().ID] = claims
	c.owner.claims[slices.Index(c.owner.claims, c)] = moved
}

// Merge makes one claim of a table of all but the first ones, when nothing will go back to between them: a transaction
// of many statements has few claims (RK5). An owner that waits for one that goes claims again, and finds the one that
// stays.
func (o *Owner) Merge(but int) {
	for i := but; i < len(o.claims); i++ {
		c := o.claims[i]
		of := func(earlier *claim) bool {
			return earlier.rows.Version == c.rows.Version && earlier.rows.Mode == c.rows.Mode
		}
		into := slices.IndexFunc(o.claims[but:i], of)
		if into < 0 {
			continue
		}
		first := o.claims[but+into]
		chunks := maps.Clone(first.rows.Chunks)
		for chunk, rows := range c.rows.Chunks {
			chunks[chunk] = positions.Union(chunks[chunk], rows)
		}
		o.locks.replace(first, Rows{first.rows.Version, chunks, c.rows.Mode})
		o.locks.release(c)
		o.bytes -= c.bytes
		o.claims = slices.Delete(o.claims, i, i+1)
		i--
	}
}

// Locks lists the rows that the owner has locked and may not have changed.
func (o *Owner) Locks() (list []Rows) {
	for _, c := range o.claims {
		if c.rows.Mode != Changed {
			list = append(list, c.rows)
		}
	}
	return list
}

// Claims counts the owner's.
func (o *Owner) Claims() int { return len(o.claims) }

// Bytes is what the owner's claims take.
func (o *Owner) Bytes() int64 { return o.bytes }

// Release lets go of all claims but the first ones, for a transaction that goes back to when it had only those.
func (o *Owner) Release(but int) {
	if but < len(o.claims) {
		o.release(but)
	}
}

func (o *Owner) release(but int) {
	o.locks.release(o.claims[but:]...)
	for _, c := range o.claims[but:] {
		o.bytes -= c.bytes
	}
	clear(o.claims[but:])
	o.claims = o.claims[:but]
}

// release takes claims out.
func (l *Locks) release(claims ...*claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range claims {
		id := c.rows.Version.Table().ID
		rest := slices.DeleteFunc(slices.Clone(l.claims[id]), func(other *claim) bool { return other == c })
		if l.claims[id] = rest; len(rest) == 0 {
			delete(l.claims, id)
		}
		close(c.gone)
	}
}

// End lets go of everything. What the transaction did is visible by now, or has not happened.
func (o *Owner) End() {
	if len(o.claims) == 0 {
		return
	}
	o.locks.mu.Lock()
	o.locks.ended++
	o.locks.mu.Unlock()
	o.release(0)
}

// Wait returns when the owner of a row that another one has claimed may claim it again. An error is the cause of the
// context's end, or 40P01: they would wait for each other (RK3).
func (o *Owner) Wait(ctx context.Context, held *HeldError) error {
	if err := o.locks.wait(o, held); err != nil {
		return err
	}
	defer o.locks.wait(o, nil)
	select {
	case <-held.until:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Usage is what there is at some time.
type Usage struct {
	Claims  int
	Waiting int // owners that wait for others
}

// Usage counts claims and waiting owners.
func (l *Locks) Usage() (u Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, claims := range l.claims {
		u.Claims += len(claims)
	}
	u.Waiting = l.waiting
	return u
}

// wait notes what an owner waits for; nil: nothing any more.
func (l *Locks) wait(o *Owner, held *HeldError) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for next := held; next != nil && !next.isOver(); next = next.by.waits {
		if next.by == o {
			return sqlerror.New("40P01", "deadlock detected: transactions wait for rows that each other has changed").
				WithHint("Retry the transaction. Transactions that change rows in one order do not run into this.")
		}
	}
	if o.waits = held; held != nil {
		l.waiting++
	} else {
		l.waiting--
	}
	return nil
}
