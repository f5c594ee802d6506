package store

import (
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

	"github.com/csmsql/csmsql/catalog/store/commitlog"
	"github.com/csmsql/csmsql/internal/filelock"
)

// FileName is the store's file in a data directory.
const FileName = "catalog.db"

// lockWait is how long OpenBolt waits for another process to let go: long enough for one that was killed and whose
// gigabytes of mappings the kernel takes apart before its locks.
const lockWait = 2 * time.Second

const (
	boltMagic    = "csmsql catalog 2"
	boltMagicOld = "csmsql catalog 1" // without a log
	revisionSize = 8
	// headSize is what lies before a value: revision and checksum. bbolt checks its roots, but not its other pages.
	headSize = revisionSize + 8
	lifeSize = 8
)

var (
	itemsBucket     = []byte("items")
	ephemeralBucket = []byte("ephemeral")
	metaBucket      = []byte("meta")
	magicKey        = []byte("magic")
	revisionKey     = []byte("revision")
	lifeKey         = []byte("life")
)

// Bolt is a Store in a data directory: a bbolt file, and before it a log with what was committed lately. A file lock
// keeps other processes out, so the session is the open file: what is ephemeral and found by OpenBolt belonged to a
// process that is gone.
//
//	Commit ─► compares ─► log, one sync ─► active ──the half of the log is full──► settling ─► bbolt file, two syncs
//	Get, Scan ────────────────────────────► active, else settling, else the bbolt file
//
//	bucket "meta":       magic → "csmsql catalog 2"   revision → 8 bytes, big endian   life → of the log, 8 bytes; 0: it has nothing
//	bucket "items":      key   → 8 bytes revision ‖ 8 bytes xxh3 of key, revision and value, both big endian ‖ value
//	bucket "ephemeral":  key   → nothing; those of items that the next OpenBolt deletes
//	bucket "redo":       revision ‖ number → a Redo that the log had when the store was opened
type Bolt struct {
	db      *bbolt.DB
	path    string
	history history
	session *localSession
	closed  chan struct{}
	closing sync.Once
	torn    bool // immutable after OpenBolt

	// writing is held over a commit and its entry in the history, so that they have one order.
	writing sync.Mutex
	log     *commitlog.Log // guarded by writing
	newest  Revision       // guarded by writing
	record  []byte         // guarded by writing; room for the next one
	over    bool           // guarded by writing; the files are closed
	logFile *os.File
	logIn   commitlog.File // what the log's file is written by

	pending struct {
		sync.RWMutex
		active   *layer          // guarded, changed under writing; what the half of the log that is written says
		settling *layer          // guarded, replaced under settler.one; what the other half says; nil: the file has it
		doubtful map[string]bool // guarded; keys of a transaction of which it is not known whether it happened
	}
	settler settler
	beside  func([]Redo) error // guarded by settler.one
}

// OpenBolt opens or makes the store in a data directory. Another process that has it open is ErrInUse and is named
// as far as it is known; a file of another program ErrForeign; a damaged one ErrCorrupt.
func OpenBolt(directory string) (*Bolt, error) {
	return openBolt(directory, func(file *os.File) commitlog.File { return commitlog.Disk{File: file} })
}

func openBolt(directory string, logIn func(*os.File) commitlog.File) (*Bolt, error) {
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
	made, err := b.openLog(logIn)
	if err == nil {
		err = b.begin(made)
	}
	if err != nil {
		return nil, errors.Join(err, b.closeFiles())
	}
	b.settler.start(b)
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
	// whose panic over a damaged page cannot be caught.
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

// begin brings what the log has into the file, and begins a life of the log.
func (b *Bolt) begin(newLog bool) error {
	return b.guard(func() error {
		return b.db.Update(func(tx *bbolt.Tx) error { // all of it at once: a crash here is one before
			meta := tx.Bucket(metaBucket)
			if meta == nil {
				if err := b.format(tx); err != nil {
					return err
				}
				return b.newLife(tx)
			}
			if magic := string(meta.Get(magicKey)); magic != boltMagic && magic != boltMagicOld {
				return fmt.Errorf("%w: %s has the mark %q, this program knows %q and %q", ErrForeign, b.path, magic, boltMagic, boltMagicOld)
			}
			if tx.Bucket(itemsBucket) == nil || len(meta.Get(revisionKey)) != revisionSize {
				return fmt.Errorf("%w: %s has no items or no revision", ErrCorrupt, b.path)
			}
			if err := b.replay(tx, newLog); err != nil {
				return err
			}
			if err := b.endSessions(tx); err != nil {
				return err
			}
			return b.newLife(tx)
		})
	})
}

// endSessions deletes the ephemeral keys of former lives (S5). Files from before there were any have no bucket for
// them.
func (b *Bolt) endSessions(tx *bbolt.Tx) error {
	ephemeral, err := tx.CreateBucketIfNotExists(ephemeralBucket)
	if err != nil {
		return err
	}
	done := Change{Revision: newestOf(tx) + 1}
	cursor := ephemeral.Cursor()
	for key, _ := cursor.First(); key != nil; key, _ = cursor.Next() {
		done.Deletes = append(done.Deletes, string(key))
	}
	if done.empty() {
		return nil
	}
	return apply(tx, done)
}

func newestOf(tx *bbolt.Tx) Revision {
	return Revision(binary.BigEndian.Uint64(tx.Bucket(metaBucket).Get(revisionKey)))
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

func stored(put Item) []byte {
	b := make([]byte, 0, headSize+len(put.Value))
	b = binary.BigEndian.AppendUint64(b, uint64(put.Revision))
	b = binary.BigEndian.AppendUint64(b, checksum([]byte(put.Key), uint64(put.Revision), put.Value))
	return append(b, put.Value...)
}

// setNewest puts the revision of the newest transaction that the file has.
func setNewest(tx *bbolt.Tx, r Revision) error {
	return tx.Bucket(metaBucket).Put(revisionKey, binary.BigEndian.AppendUint64(nil, uint64(r)))
}

// Torn reports whether the log ended with a part of a transaction, which was acknowledged to no caller: the machine
// lost power then, or the disk is damaged.
func (b *Bolt) Torn() bool { return b.torn }

// Limits implements Store: bbolt takes what memory takes.
func (b *Bolt) Limits() Limits { return Limits{} }

// Watch implements Store. It knows no change from before OpenBolt.
func (b *Bolt) Watch(ctx context.Context, prefixes []string, after Revision, apply func(Change) error) error {
	return b.history.watch(ctx, b.closed, prefixes, after, apply)
}

// Session implements Store.
func (b *Bolt) Session() Session { return b.session }

// Close implements Store, brings all into the file, and lets go of it. Ephemeral keys are deleted by the next Open:
// there is no reader before.
func (b *Bolt) Close() error {
	b.end()
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.over {
		return nil
	}
	b.over = true
	_ = os.Remove(pidPath(b.path))
	err := b.settleAll(nil, noLife)
	if err != nil {
		err = fmt.Errorf("what was committed last stays in %s until the next start: %w", b.logPath(), err)
	}
	return errors.Join(err, b.closeFiles())
}

// end refuses new calls, and joins the settler.
func (b *Bolt) end() {
	b.closing.Do(func() {
		close(b.closed)
		b.session.end(fmt.Errorf("%w: %w", ErrSessionOver, ErrClosed))
	})
	b.settler.joined.Wait()
}

// closeFiles closes the log first: the lock of the other file keeps others out.
func (b *Bolt) closeFiles() error {
	var err error
	if b.logFile != nil {
		err = b.logFile.Close()
	}
	if err = errors.Join(err, b.db.Close()); err != nil {
		return fmt.Errorf("close the catalog file %s: %w", b.path, err)
	}
	return nil
}
