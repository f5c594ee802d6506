package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/csmsql/csmsql/catalog/store/commitlog"
)

// LogName is the file of the store's log in a data directory.
const LogName = "catalog.log"

// openLog opens the log's file, or makes it. Requires: the bbolt file is locked.
func (b *Bolt) openLog(in func(*os.File) commitlog.File) (made bool, err error) {
	path := b.logPath()
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		made = true
	case err != nil:
		return false, fmt.Errorf("open the commit log: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: %s is not a regular file", ErrForeign, path)
	}
	if b.logFile, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return made, fmt.Errorf("open the commit log: %w", err)
	}
	if b.logIn = in(b.logFile); made {
		return made, syncDirectory(filepath.Dir(path))
	}
	return made, nil
}

func (b *Bolt) logPath() string { return filepath.Join(filepath.Dir(b.path), LogName) }

// syncDirectory has the names of new files survive the machine.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// replay brings into the file what the log has, if the last life did not end in order.
func (b *Bolt) replay(tx *bbolt.Tx, missing bool) error {
	stored := tx.Bucket(metaBucket).Get(lifeKey)
	if stored == nil { // from before there was a log
		return nil
	}
	if len(stored) != lifeSize {
		return fmt.Errorf("%w: %s names the life of its log with %d bytes", ErrCorrupt, b.path, len(stored))
	}
	life := binary.BigEndian.Uint64(stored)
	if life == 0 {
		return nil
	}
	if missing {
		return fmt.Errorf("%w: %s is missing, which has what was committed last", ErrCorrupt, b.logPath())
	}
	records, torn, err := commitlog.Read(b.logIn, life, uint64(newestOf(tx)))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, b.logPath(), err)
	}
	b.torn = torn
	for _, r := range records {
		c, redos, err := decodeRecord(Revision(r.Number), r.Payload)
		if err != nil {
			return fmt.Errorf("%w: %s: record %d: %w", ErrCorrupt, b.logPath(), r.Number, err)
		}
		if err := errors.Join(apply(tx, c), keepRedos(tx, c.Revision, redos)); err != nil {
			return err
		}
	}
	return nil
}

// newLife begins a life of the log: what it had is in the file.
func (b *Bolt) newLife(tx *bbolt.Tx) error {
	var life [lifeSize]byte
	for binary.BigEndian.Uint64(life[:]) == 0 {
		_, _ = rand.Read(life[:])
	}
	meta := tx.Bucket(metaBucket)
	if err := errors.Join(meta.Put(magicKey, []byte(boltMagic)), meta.Put(lifeKey, life[:])); err != nil {
		return err
	}
	b.newest = newestOf(tx)
	b.pending.active = newLayer(b.newest)
	b.history.begin(b.newest)
	log, err := commitlog.New(b.logIn, binary.BigEndian.Uint64(life[:]), uint64(b.newest))
	b.log = log
	return err
}

// noLife says that the log has nothing that the file has not.
func noLife(tx *bbolt.Tx) error {
	return tx.Bucket(metaBucket).Put(lifeKey, make([]byte, lifeSize))
}
