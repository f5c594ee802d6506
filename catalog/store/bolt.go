package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/csmsql/csmsql/internal/filelock"
)

// FileName is the store's file in a data directory.
const FileName = "catalog.db"

// lockWait is how long OpenBolt waits for another process to let go: long enough for one that was killed and whose
// gigabytes of mappings the kernel takes apart before its locks.
const lockWait = 2 * time.Second

const (
	boltMagic    = "csmsql catalog 1"
	revisionSize = 8
	// headSize is what lies before a value: revision and checksum. bbolt checks its roots, but not its other pages.
	headSize = revisionSize + 8
)

var (
	itemsBucket     = []byte("items")
	ephemeralBucket = []byte("ephemeral")
	metaBucket      = []byte("meta")
	magicKey        = []byte("magic")
	revisionKey     = []byte("revision")
)

// Bolt is a Store in one file. A file lock keeps other processes out, so the session is the open file: what is
// ephemeral and found by OpenBolt belonged to a process that is gone.
//
//	bucket "meta":       magic → "csmsql catalog 1"   revision → 8 bytes, big endian
//	bucket "items":      key   → 8 bytes revision ‖ 8 bytes xxh3 of key, revision and value, both big endian ‖ value
//	bucket "ephemeral":  key   → nothing; those of items that the next OpenBolt deletes
type Bolt struct {
	db      *bbolt.DB
	path    string
	history history
	session *localSession
	closed  chan struct{}
	closing sync.Once

	// writing is held over a commit and its entry in the history, so that they have one order.
	writing sync.Mutex
}

// OpenBolt opens or makes the store in a data directory. Another process that has it open is ErrInUse and is named
// as far as it is known; a file of another program ErrForeign; a damaged one ErrCorrupt.
func OpenBolt(directory string) (*Bolt, error) {
	path := filepath.Join(directory, FileName)
	if err := checkFile(path); err != nil {
		return nil, err
	}
	db, err := open(path)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, inUse(directory, path)
	}
	if err != nil {
		return nil, openFault(path, err)
	}
	b := &Bolt{db: db, path: path, session: newLocalSession(), closed: make(chan struct{})}
	if err := b.begin(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	_ = os.WriteFile(pidPath(path), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600) // for the other's message only
	return b, nil
}

// open turns a panic of bbolt over a damaged file into an error.
func open(path string) (db *bbolt.DB, err error) {
	var file *os.File
	defer func() {
		if r := recover(); r != nil {
			if file != nil {
				_ = filelock.Give(file) // bbolt's map keeps the file, and so the lock, alive
			}
			err = fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
	}()
	keep := func(name string, flag int, mode os.FileMode) (*os.File, error) {
		opened, err := os.OpenFile(name, flag, mode)
		file = opened
		return opened, err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	// The free list stays in the file: without it bbolt walks the whole tree when it opens, in a goroutine of its own
	// whose panic over a damaged page nobody can catch.
	return bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, OpenFile: keep})
}

func openFault(path string, err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %s: %w", ErrForeign, path, err)
	case errors.Is(err, bolterrors.ErrChecksum):
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	case errors.Is(err, ErrCorrupt):
		return fmt.Errorf("%s: %w", path, err)
	default:
		return fmt.Errorf("open the catalog file %s: %w", path, err)
	}
}

// checkFile refuses what bbolt would not notice: what is not a regular file, and a file that lost its end, which bbolt
// would map and read beyond.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the catalog file %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", ErrForeign, path)
	}
	return checkLength(path, info.Size())
}

func pidPath(path string) string { return path + ".pid" }

func inUse(directory, path string) error {
	text, err := os.ReadFile(pidPath(path))
	if err != nil || len(text) == 0 {
		return fmt.Errorf("%w: another server has %s open; stop it or choose another directory", ErrInUse, directory)
	}
	return fmt.Errorf("%w: another server (process %s) has %s open; stop it or choose another directory", ErrInUse, strings.TrimSpace(string(text)), directory)
}

func (b *Bolt) begin() error {
	return b.guard(func() error {
		return b.db.Update(func(tx *bbolt.Tx) error {
			meta := tx.Bucket(metaBucket)
			if meta == nil {
				return b.format(tx)
			}
			if magic := meta.Get(magicKey); string(magic) != boltMagic {
				return fmt.Errorf("%w: %s has the mark %q, this program knows %q", ErrForeign, b.path, magic, boltMagic)
			}
			if tx.Bucket(itemsBucket) == nil || len(meta.Get(revisionKey)) != revisionSize {
				return fmt.Errorf("%w: %s has no items or no revision", ErrCorrupt, b.path)
			}
			return b.endSessions(tx)
		})
	})
}

// endSessions deletes the ephemeral keys of former lives (S5). Files of before there were any have no bucket for them.
func (b *Bolt) endSessions(tx *bbolt.Tx) error {
	ephemeral, err := tx.CreateBucketIfNotExists(ephemeralBucket)
	if err != nil {
		return err
	}
	var t Transaction
	cursor := ephemeral.Cursor()
	for key, _ := cursor.First(); key != nil; key, _ = cursor.Next() {
		t.Deletes = append(t.Deletes, string(key))
	}
	done, err := b.apply(tx, t)
	b.history.begin(done.Revision)
	return err
}

func (b *Bolt) format(tx *bbolt.Tx) error {
	if name, _ := tx.Cursor().First(); name != nil {
		return fmt.Errorf("%w: %s is a database of another program (it has %q)", ErrForeign, b.path, name)
	}
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	for _, bucket := range [][]byte{itemsBucket, ephemeralBucket} {
		if _, err := tx.CreateBucket(bucket); err != nil {
			return err
		}
	}
	if err := meta.Put(magicKey, []byte(boltMagic)); err != nil {
		return err
	}
	return meta.Put(revisionKey, make([]byte, revisionSize))
}

// guard turns panics of bbolt, which asserts the structure of its file, and faults of its map into ErrCorrupt.
func (b *Bolt) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", ErrCorrupt, b.path, r)
		}
	}()
	err = do()
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// item is the item of a key as it lies in the file; its value is valid as long as the transaction.
func (b *Bolt) item(tx *bbolt.Tx, key, stored []byte) (Item, error) {
	if len(stored) < headSize {
		return Item{}, fmt.Errorf("%w: %s: key %q has a value of %d bytes", ErrCorrupt, b.path, key, len(stored))
	}
	revision, value := binary.BigEndian.Uint64(stored), stored[headSize:]
	if sum := checksum(key, revision, value); sum != binary.BigEndian.Uint64(stored[revisionSize:]) {
		return Item{}, fmt.Errorf("%w: %s: the value of key %q was altered (checksum %016x)", ErrCorrupt, b.path, key, sum)
	}
	ephemeral := tx.Bucket(ephemeralBucket).Get(key) != nil
	return Item{Key: string(key), Value: value, Revision: Revision(revision), Ephemeral: ephemeral}, nil
}

func checksum(key []byte, revision uint64, value []byte) uint64 {
	return xxh3.HashSeed(key, revision) ^ xxh3.HashSeed(value, ^revision)
}

func stored(put Item, revision uint64) []byte {
	b := make([]byte, 0, headSize+len(put.Value))
	b = binary.BigEndian.AppendUint64(b, revision)
	b = binary.BigEndian.AppendUint64(b, checksum([]byte(put.Key), revision, put.Value))
	return append(b, put.Value...)
}

// Get implements Store.
func (b *Bolt) Get(ctx context.Context, key string) (item Item, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return Item{}, false, err
	}
	err = b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			stored := tx.Bucket(itemsBucket).Get([]byte(key))
			if stored == nil {
				return nil
			}
			item, err = b.item(tx, []byte(key), stored)
			item.Value, ok = bytes.Clone(item.Value), err == nil
			return err
		})
	})
	return item, ok, err
}

// Scan implements Store.
func (b *Bolt) Scan(ctx context.Context, prefixes []string, visit func(Item) error) (revision Revision, err error) {
	err = b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			revision = Revision(binary.BigEndian.Uint64(tx.Bucket(metaBucket).Get(revisionKey)))
			for _, prefix := range prefixes {
				if err := b.scan(ctx, tx, []byte(prefix), visit); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return revision, err
}

func (b *Bolt) scan(ctx context.Context, tx *bbolt.Tx, prefix []byte, visit func(Item) error) error {
	cursor := tx.Bucket(itemsBucket).Cursor()
	for key, stored := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, stored = cursor.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		item, err := b.item(tx, key, stored)
		if err != nil {
			return err
		}
		if err := visit(item); err != nil {
			return err
		}
	}
	return nil
}

// Commit implements Store. bbolt syncs the file before it returns (S1).
func (b *Bolt) Commit(ctx context.Context, t Transaction) (Revision, error) {
	if err := t.Validate(Limits{}); err != nil {
		return 0, err
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	if err := over(ctx, b.closed); err != nil {
		return 0, err
	}
	done, storing := Change{}, false
	err := b.guard(func() error {
		tx, err := b.db.Begin(true)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it only says that the transaction is closed
		if err := b.holdAll(tx, t.Compares); err != nil {
			return err
		}
		if done, err = b.apply(tx, t); err != nil || done.empty() {
			return err
		}
		storing = true
		return tx.Commit()
	})
	switch {
	case err != nil && storing: // the write of the root may or may not have reached the disk
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	case err != nil:
		return 0, err
	case !done.empty():
		b.history.add(done)
	}
	return done.Revision, nil
}

// apply writes and returns what that changed; if nothing, with the revision that the store has.
func (b *Bolt) apply(tx *bbolt.Tx, t Transaction) (Change, error) {
	meta, items, ephemeral := tx.Bucket(metaBucket), tx.Bucket(itemsBucket), tx.Bucket(ephemeralBucket)
	newest := binary.BigEndian.Uint64(meta.Get(revisionKey))
	done := Change{Revision: Revision(newest + 1)}
	for _, key := range t.Deletes {
		if items.Get([]byte(key)) != nil {
			done.Deletes = append(done.Deletes, key)
		}
		if err := errors.Join(items.Delete([]byte(key)), ephemeral.Delete([]byte(key))); err != nil {
			return done, fmt.Errorf("delete %q: %w", key, err)
		}
	}
	mark := map[bool]func([]byte) error{
		true:  func(key []byte) error { return ephemeral.Put(key, nil) },
		false: ephemeral.Delete,
	}
	for _, put := range t.Puts {
		key := []byte(put.Key)
		if err := errors.Join(items.Put(key, stored(put, newest+1)), mark[put.Ephemeral](key)); err != nil {
			return done, fmt.Errorf("put %q: %w", put.Key, err)
		}
		done.Puts = append(done.Puts, Item{Key: put.Key, Value: bytes.Clone(put.Value), Revision: done.Revision, Ephemeral: put.Ephemeral})
	}
	if done.empty() {
		return Change{Revision: Revision(newest)}, nil
	}
	return done, meta.Put(revisionKey, binary.BigEndian.AppendUint64(nil, newest+1))
}

func (b *Bolt) holdAll(tx *bbolt.Tx, compares []Compare) error {
	for _, c := range compares {
		if err := b.holds(tx, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bolt) holds(tx *bbolt.Tx, c Compare) error {
	items := tx.Bucket(itemsBucket)
	if c.Prefix {
		cursor := items.Cursor()
		prefix := []byte(c.Key)
		for key, stored := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, stored = cursor.Next() {
			if item, err := b.item(tx, key, stored); err != nil || item.Revision > c.Revision {
				return errors.Join(err, &Conflict{c})
			}
		}
		return nil
	}
	var revision Revision
	if stored := items.Get([]byte(c.Key)); stored != nil {
		item, err := b.item(tx, []byte(c.Key), stored)
		if err != nil {
			return err
		}
		revision = item.Revision
	}
	if c.Present && revision == 0 || !c.Present && revision != c.Revision {
		return &Conflict{c}
	}
	return nil
}

// Limits implements Store: bbolt takes what memory takes.
func (b *Bolt) Limits() Limits { return Limits{} }

// Watch implements Store. It knows nothing of before OpenBolt.
func (b *Bolt) Watch(ctx context.Context, prefixes []string, after Revision, apply func(Change) error) error {
	return b.history.watch(ctx, b.closed, prefixes, after, apply)
}

// Session implements Store.
func (b *Bolt) Session() Session { return b.session }

// Close implements Store and lets go of the file. Ephemeral keys are deleted by who opens it next: nobody can look
// before.
func (b *Bolt) Close() error {
	b.closing.Do(func() {
		close(b.closed)
		b.session.end(fmt.Errorf("%w: %w", ErrSessionOver, ErrClosed))
	})
	_ = os.Remove(pidPath(b.path))
	if err := b.db.Close(); err != nil {
		return fmt.Errorf("close the catalog file %s: %w", b.path, err)
	}
	return nil
}
