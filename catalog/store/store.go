package store

import (
	"context"
	"errors"
	"fmt"
)

// Revision counts the transactions of a store, from 1. A key's revision is that of the transaction that wrote it last.
type Revision int64

// Item is a key with its value and the revision that wrote it.
type Item struct {
	Key      string
	Value    []byte
	Revision Revision
}

// Compare is one condition of a transaction.
type Compare struct {
	Key string
	// Prefix extends the condition to every key that begins with Key.
	Prefix bool
	// Revision: of a single key, its revision must be exactly this (0: the key must not exist); of a prefix, no key
	// may be newer than this.
	Revision Revision
}

// Unchanged demands that the key still has the revision (0: still does not exist).
func Unchanged(key string, revision Revision) Compare { return Compare{Key: key, Revision: revision} }

// NothingNewer demands that no key below the prefix was written after the revision.
func NothingNewer(prefix string, revision Revision) Compare {
	return Compare{Key: prefix, Prefix: true, Revision: revision}
}

// Transaction is a compare-and-swap over many keys: if every condition holds, the deletions and then the puts happen at
// once, else nothing does.
type Transaction struct {
	Compares []Compare
	Deletes  []string
	Puts     []Item // Revision is ignored
}

// Limits bound one transaction; whoever writes more splits it. Zero means unbounded.
type Limits struct {
	Operations int
	Bytes      int
}

// Store keeps the catalog's records. bbolt does on one machine, etcd in a cluster; both must pass storetest.
type Store interface {
	// Get returns the item of a key; false if there is none. The value is the caller's.
	Get(ctx context.Context, key string) (Item, bool, error)
	// Scan visits the items below each prefix, in key order, all as of one revision, which it returns. A visited value is
	// valid until visit returns.
	Scan(ctx context.Context, prefixes []string, visit func(Item) error) (Revision, error)
	// Commit does the transaction and returns its revision. It is durable when Commit returns. ErrConflict means that a
	// condition did not hold; ErrUnknown that the outcome is not known; any other error that nothing happened.
	Commit(ctx context.Context, t Transaction) (Revision, error)
	Limits() Limits
	Close() error
}

// Errors of all stores.
var (
	// ErrConflict: a condition of the transaction did not hold; a *Conflict says which.
	ErrConflict = errors.New("the catalog was changed by somebody else")
	// ErrUnknown: the store failed in a way that leaves open whether the transaction happened.
	ErrUnknown = errors.New("the outcome of the catalog's transaction is not known")
	// ErrInUse: another process has the store open.
	ErrInUse = errors.New("the data directory is in use")
	// ErrForeign: the file is not a catalog of ours, or of a format this program does not know.
	ErrForeign = errors.New("not a csmsql catalog")
	// ErrCorrupt: the file was ours and is damaged.
	ErrCorrupt = errors.New("the catalog file is corrupt")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the catalog store is closed")
)

// Conflict is the error of a transaction whose condition did not hold.
type Conflict struct{ Compare Compare }

func (c *Conflict) Error() string {
	return fmt.Sprintf("%v: %q is newer than revision %d", ErrConflict, c.Compare.Key, c.Compare.Revision)
}

// Is makes errors.Is(err, ErrConflict) hold.
func (c *Conflict) Is(target error) bool { return target == ErrConflict }
