package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Revision counts the transactions that changed something, from 1; in an etcd that others use too, also theirs. A key's
// revision is that of the transaction that wrote it last.
type Revision int64

// Item is a key with its value and the revision that wrote it.
type Item struct {
	Key      string
	Value    []byte
	Revision Revision
	// Ephemeral: the key lives no longer than the session of the handle that put it (S5). The latest put decides:
	// without Ephemeral the key stays, with it it belongs to that handle's session from then on.
	Ephemeral bool
}

// Compare is one condition of a transaction.
type Compare struct {
	Key string
	// Prefix extends the condition to every key that begins with Key.
	Prefix bool
	// Revision: of a single key, its revision must be exactly this (0: the key must not exist); of a prefix, no key
	// may be newer than this.
	Revision Revision
	// Present: the single key must exist, whatever its revision.
	Present bool
}

// Present demands that the key exists, at any revision.
func Present(key string) Compare { return Compare{Key: key, Present: true} }

// Unchanged demands that the key still has the revision (0: still does not exist).
func Unchanged(key string, revision Revision) Compare { return Compare{Key: key, Revision: revision} }

// NothingNewer demands that no key below the prefix was written after the revision.
func NothingNewer(prefix string, revision Revision) Compare {
	return Compare{Key: prefix, Prefix: true, Revision: revision}
}

// Transaction is a compare-and-swap over many keys: if every condition holds, the deletions and the puts happen at
// once,
// else nothing does. No key may be put twice, or deleted and put. One that changes nothing has no revision of its own.
type Transaction struct {
	Compares []Compare
	Deletes  []string
	Puts     []Item // Revision is ignored
	// Lazy: it survives the process when Commit has returned, but the machine only a second later. What a machine loses
	// so is the newest, and all that came after it. A store may do more than this.
	Lazy bool
	// Redo is bytes that the store has to keep until they are on the disk where they lie. Only
	// Bolt does that: see Beside.
	Redo []Redo
}

// Validate reports whether the transaction is one that a store with these limits takes, whatever it compares.
func (t Transaction) Validate(l Limits) error {
	written := make(map[string]bool, len(t.Deletes)+len(t.Puts))
	for _, key := range t.Deletes {
		written[key] = true
	}
	for _, put := range t.Puts {
		if written[put.Key] {
			return fmt.Errorf("%w: it writes %q twice", ErrTransaction, put.Key)
		}
		written[put.Key] = true
	}
	return t.within(l)
}

// Change is what one transaction did to the keys of a watch.
type Change struct {
	Revision Revision
	Puts     []Item   // in key order, each key once; others may look at the values too: do not write into them
	Deletes  []string // of keys that existed; in key order
}

func (c Change) empty() bool { return len(c.Puts)+len(c.Deletes) == 0 }

// below returns what of the change is below the prefixes; false if nothing is.
func (c Change) below(prefixes []string) (Change, bool) {
	out := func(key string) bool { return !Below(key, prefixes) }
	some := Change{
		Revision: c.Revision,
		Puts:     slices.DeleteFunc(slices.Clone(c.Puts), func(i Item) bool { return out(i.Key) }),
		Deletes:  slices.DeleteFunc(slices.Clone(c.Deletes), out),
	}
	return some, !some.empty()
}

// Sort brings the change into key order, as Watch promises it.
func (c Change) Sort() {
	slices.SortFunc(c.Puts, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	slices.Sort(c.Deletes)
}

// Below reports whether the key begins with one of the prefixes.
func Below(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Limits bound one transaction; a caller that writes more splits it. Zero means unbounded.
type Limits struct {
	Operations int
	Bytes      int
}

// Fit reports whether a transaction, with more that it is to put, is within them.
func (l Limits) Fit(t Transaction, more []Item) bool {
	operations, bytes := len(t.Compares)+len(t.Puts)+len(t.Deletes)+len(more), 0
	for _, p := range t.Puts {
		bytes += len(p.Key) + len(p.Value)
	}
	for _, p := range more {
		bytes += len(p.Key) + len(p.Value)
	}
	return (l.Operations == 0 || operations <= l.Operations) && (l.Bytes == 0 || bytes <= l.Bytes)
}

// Forget takes out the deletions of keys that are also written: a renamed table keeps its record.
func (t *Transaction) Forget() {
	written := map[string]bool{}
	for _, p := range t.Puts {
		written[p.Key] = true
	}
	deletes, seen := t.Deletes[:0], map[string]bool{}
	for _, key := range t.Deletes {
		if !written[key] && !seen[key] {
			seen[key] = true
			deletes = append(deletes, key)
		}
	}
	t.Deletes = deletes
}

// Session is the life of one handle of a store, by which the others know that its process lives (S5).
type Session interface {
	// Check is nil while the session certainly lives, by this machine's clock alone: it sends no request and costs a
	// reading of the clock. ErrSessionUnsure: the store was not heard of for so long that it may have ended the
	// session; it may turn out that it did not. ErrSessionOver: it did, or the handle is closed; final.
	//
	// A process that was paused learns it here, so check after what the session is to cover, not only before. A Commit
	// needs no check: it fails when the session is over (S7).
	Check() error
	// Lasts is nil only if Check certainly stays nil for d from now on, whatever becomes of the store: what is
	// promised to others for as long does not outlive the session.
	Lasts(d time.Duration) error
	// Done is closed when the session is over.
	Done() <-chan struct{}
	// Lag bounds how old the world is that this handle's watches have shown: a transaction that was acknowledged longer
	// ago, to whomever, was applied by each Watch that is running. It grows while the store cannot be reached or an
	// apply
	// does not return; without a Watch it says how long ago the store was surely reached. Stores in this process say 0:
	// their watches lag only by what waits for a processor.
	Lag() time.Duration
}

// Store is one handle on the catalog's records. bbolt keeps them on one machine, etcd in a cluster; both must pass
// storetest. Safe for concurrent use.
type Store interface {
	// Get returns the item of a key; false if there is none. The value is the caller's. It is linearizable (S4).
	Get(ctx context.Context, key string) (Item, bool, error)
	// Scan visits the items below each prefix, in key order, all as of one revision, which it returns: no older
	// than the newest when Scan was called (S4). A visited value is valid until visit returns.
	Scan(ctx context.Context, prefixes []string, visit func(Item) error) (Revision, error)
	// Commit does the transaction and returns its revision, or the newest if it changed nothing. It is durable when
	// Commit returns, see Lazy. ErrConflict means that a condition did not hold; ErrSessionOver that the session is
	// over (S7); ErrUnknown that the outcome is not known, but is settled before a Get or Scan of this handle that
	// begins later answers: what that does not see never happens (S8). Any other error means that nothing happened.
	Commit(ctx context.Context, t Transaction) (Revision, error)
	// Watch calls apply, from one goroutine, for each transaction newer than after that touched a key below the
	// prefixes:
	// in the order of revisions, none left out, each with all that it did there (S6). It returns when ctx is done, with
	// its error; when apply fails, with that error; ErrClosed; or ErrCompacted if what came after that revision is not
	// kept any more, or no longer when its turn came: Scan again and watch from there. A lost connection is no reason
	// to
	// return: it goes on where it was (Session.Lag says how far behind it may be).
	Watch(ctx context.Context, prefixes []string, after Revision, apply func(Change) error) error
	// Session is the life of this handle: it begins when the store is opened.
	Session() Session
	Limits() Limits
	// Close ends the session: its ephemeral keys are gone at once, if the store can be reached. It is for this handle
	// only, and ends its watches.
	Close() error
}

// Local is a Store that can read what a copy of the records near to it has, which may be of any former revision.
type Local interface {
	// GetLocal returns the item of a key as some revision had it; false if it was not found, or nothing answered.
	GetLocal(ctx context.Context, key string) (Item, bool)
}

// GetImmutable is Get for a key whose value is never another one: as long as a copy has it, no majority is asked.
func GetImmutable(ctx context.Context, s Store, key string) (Item, bool, error) {
	if near, is := s.(Local); is {
		if item, found := near.GetLocal(ctx, key); found {
			return item, true, nil
		}
	}
	return s.Get(ctx, key)
}

// within reports whether the transaction is not larger than the limits.
func (t Transaction) within(l Limits) error {
	if n := len(t.Compares) + len(t.Deletes) + len(t.Puts); l.Operations > 0 && n > l.Operations {
		return fmt.Errorf("%w: it has %d compares and writes, at most %d go at once", ErrTransaction, n, l.Operations)
	}
	bytes := 0
	for _, put := range t.Puts {
		bytes += len(put.Key) + len(put.Value)
	}
	if l.Bytes > 0 && bytes > l.Bytes {
		return fmt.Errorf("%w: it writes %d bytes, at most %d go at once", ErrTransaction, bytes, l.Bytes)
	}
	return nil
}
