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
	if stored == nil { // of before there was a log
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
		c, err := decodeChange(Revision(r.Number), r.Payload)
		if err != nil {
			return fmt.Errorf("%w: %s: record %d: %w", ErrCorrupt, b.logPath(), r.Number, err)
		}
		if err := apply(tx, c); err != nil {
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

// What a record says: uvarint numbers, each text behind its length.
//
//	version │ deletes │ key … │ puts │ flags, key, value …
const (
	changeVersion = 1
	flagEphemeral = 1
)

func encodeChange(c Change) []byte {
	size := 64
	for _, key := range c.Deletes {
		size += len(key) + binary.MaxVarintLen32
	}
	for _, put := range c.Puts {
		size += len(put.Key) + len(put.Value) + 2*binary.MaxVarintLen32 + 1
	}
	b := append(make([]byte, 0, size), changeVersion)
	b = binary.AppendUvarint(b, uint64(len(c.Deletes)))
	for _, key := range c.Deletes {
		b = appendText(b, key)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Puts)))
	for _, put := range c.Puts {
		var flags byte
		if put.Ephemeral {
			flags = flagEphemeral
		}
		b = appendText(appendText(append(b, flags), put.Key), put.Value)
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var errRecord = errors.New("not a transaction")

// changeReader takes a record apart; what is not one is an error once, at the end.
type changeReader struct {
	rest []byte
	bad  bool
}

func (r *changeReader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *changeReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *changeReader) text() []byte { return r.bytes(r.number()) }

// byte is the next one, 0 behind the end.
func (r *changeReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func decodeChange(revision Revision, payload []byte) (Change, error) {
	r, c := &changeReader{rest: payload}, Change{Revision: revision}
	if version := r.byte(); version != changeVersion {
		return c, fmt.Errorf("%w of this program: version %d", errRecord, version)
	}
	for n := r.number(); n > 0 && !r.bad; n-- {
		c.Deletes = append(c.Deletes, string(r.text()))
	}
	for n := r.number(); n > 0 && !r.bad; n-- {
		flags := r.byte()
		c.Puts = append(c.Puts, Item{Key: string(r.text()), Value: r.text(), Revision: revision, Ephemeral: flags&flagEphemeral != 0})
	}
	if r.bad || len(r.rest) > 0 {
		return c, errRecord
	}
	return c, nil
}
