package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// Redo is bytes of a file beside the store, which are there by now and need not be on the disk: the log has them, until
// the half that they are in is settled.
//
//	Commit ─► log: transaction and bytes, one sync ─┬─ half full, Close ─► the owner syncs the file ─► settled
//	                                                └─ crash ─► OpenBolt: bucket "redo" ─► the owner writes, syncs ─► Redone
type Redo struct {
	Region     uint64
	Generation uint64
	Offset     int64
	Length     int64 // in the file: Data and zeroes
	Data       []byte
}

var redoBucket = []byte("redo")

// Beside sets the function by which the owner of the files that Redo is about syncs them: it returns when those of the
// bytes that are still needed are on the disk. It is called from any goroutine, one call at a time, with no data. Call
// Beside before the first transaction that has Redo.
func (b *Bolt) Beside(sync func([]Redo) error) {
	b.settler.one.Lock()
	defer b.settler.one.Unlock()
	b.beside = sync
}

// syncBeside requires settler.one.
func (b *Bolt) syncBeside(list []Redo) error {
	if len(list) == 0 {
		return nil
	}
	if b.beside == nil {
		return fmt.Errorf("no owner syncs what %d transactions have written beside the catalog", len(list))
	}
	return b.beside(list)
}

// HasRedos reports whether Redos has something to visit.
func (b *Bolt) HasRedos() (has bool, err error) {
	err = b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			has = tx.Bucket(redoBucket) != nil
			return nil
		})
	})
	return has, err
}

// Redos visits, in the order in which it was written, what a life that did not end in order may not have brought to the
// disk. It is there until Redone.
func (b *Bolt) Redos(visit func(Redo) error) error {
	return b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket(redoBucket)
			if bucket == nil {
				return nil
			}
			return bucket.ForEach(func(key, value []byte) error {
				r := &recordReader{rest: value}
				redo := r.redo()
				if r.bad || len(r.rest) > 0 {
					return fmt.Errorf("%w: %s: redo %x: %w", ErrCorrupt, b.path, key, errRecord)
				}
				return visit(redo)
			})
		})
	})
}

// Redone records that all that Redos visits is on the disk, or not needed.
func (b *Bolt) Redone() error {
	return b.update(func(tx *bbolt.Tx) error {
		if tx.Bucket(redoBucket) == nil {
			return nil
		}
		return tx.DeleteBucket(redoBucket)
	})
}

// keepRedos puts what a record of the log has of it where it lasts.
func keepRedos(tx *bbolt.Tx, r Revision, list []Redo) error {
	if len(list) == 0 {
		return nil
	}
	bucket, err := tx.CreateBucketIfNotExists(redoBucket)
	for i, redo := range list {
		key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(r)), uint32(i))
		if err == nil {
			err = bucket.Put(key, appendRedo(nil, redo))
		}
	}
	return err
}

// What a record says: uvarint numbers, each text behind its length.
//
//	version │ deletes │ key … │ puts │ flags, key, value … │ redos │ region, generation, offset, length, data …
const (
	recordVersion = 1
	flagEphemeral = 1
)

// encodeRecord writes a record into a buffer, which it makes longer if it must.
func encodeRecord(buffer []byte, c Change, redos []Redo) []byte {
	const number = binary.MaxVarintLen64
	size := 1 + 3*number
	for _, key := range c.Deletes {
		size += len(key) + number
	}
	for _, put := range c.Puts {
		size += len(put.Key) + len(put.Value) + 2*number + 1
	}
	for _, redo := range redos {
		size += len(redo.Data) + 5*number
	}
	b := append(slices.Grow(buffer[:0], size), recordVersion)
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
	b = binary.AppendUvarint(b, uint64(len(redos)))
	for _, redo := range redos {
		b = appendRedo(b, redo)
	}
	return b
}

func appendRedo(b []byte, r Redo) []byte {
	for _, n := range []uint64{r.Region, r.Generation, uint64(r.Offset), uint64(r.Length)} {
		b = binary.AppendUvarint(b, n)
	}
	return appendText(b, r.Data)
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var errRecord = errors.New("not a transaction")

// recordReader takes a record apart; that something is not one is known at the end.
type recordReader struct {
	rest []byte
	bad  bool
}

func (r *recordReader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *recordReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *recordReader) text() []byte { return r.bytes(r.number()) }

// byte is the next one, 0 behind the end.
func (r *recordReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *recordReader) redo() Redo {
	return Redo{
		Region: r.number(), Generation: r.number(), Offset: int64(r.number()), Length: int64(r.number()), Data: r.text(),
	}
}

func decodeRecord(revision Revision, payload []byte) (Change, []Redo, error) {
	r, c := &recordReader{rest: payload}, Change{Revision: revision}
	if version := r.byte(); version != recordVersion {
		return c, nil, fmt.Errorf("%w of this program: version %d", errRecord, version)
	}
	for n := r.number(); n > 0 && !r.bad; n-- {
		c.Deletes = append(c.Deletes, string(r.text()))
	}
	for n := r.number(); n > 0 && !r.bad; n-- {
		flags := r.byte()
		c.Puts = append(c.Puts, Item{
			Key: string(r.text()), Value: r.text(), Revision: revision, Ephemeral: flags&flagEphemeral != 0,
		})
	}
	var redos []Redo
	for n := r.number(); n > 0 && !r.bad; n-- {
		redos = append(redos, r.redo())
	}
	if r.bad || len(r.rest) > 0 {
		return c, nil, errRecord
	}
	return c, redos, nil
}
