package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// lazyMost is how long what is Lazy may not be on the disk.
const lazyMost = time.Second

// settler brings what is pending into the file, and syncs what is lazy, in a goroutine of its own.
type settler struct {
	full   chan struct{} // a commit turned to the other half of the log
	lazy   chan struct{} // something is not synced
	joined sync.WaitGroup

	// one settles at a time; below Bolt.writing, above pending.
	one sync.Mutex
}

func (s *settler) start(b *Bolt) {
	s.full, s.lazy = make(chan struct{}, 1), make(chan struct{}, 1)
	s.joined.Go(func() { s.run(b) })
}

func (s *settler) run(b *Bolt) {
	soon := time.NewTimer(lazyMost)
	defer soon.Stop()
	soon.Stop()
	waiting := false
	for {
		select {
		case <-b.closed:
			return
		case <-s.full:
			_ = b.settle() // the commit that needs the room tries again, and returns the error
		case <-s.lazy:
			if !waiting {
				soon.Reset(lazyMost / 2)
				waiting = true
			}
		case <-soon.C:
			waiting = false
			b.writing.Lock()
			_ = b.log.Sync() // if it failed the next commit says so
			b.writing.Unlock()
		}
	}
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// turn goes on in the other half of the log, when what is there is settled, and has the one that is full settled.
// Requires: writing.
func (b *Bolt) turn() error {
	if err := b.settle(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err) // though nothing happened: a later Get or Scan shows that
	}
	b.pending.Lock()
	b.pending.settling, b.pending.active = b.pending.active, newLayer(b.newest)
	b.pending.Unlock()
	b.log.Turn()
	wake(b.settler.full)
	return nil
}

// settle brings the layer that is settling into the file, and waits for a running one.
func (b *Bolt) settle() error {
	if !b.isSettling() {
		return nil
	}
	b.settler.one.Lock()
	defer b.settler.one.Unlock()
	settling := b.pending.settling
	if settling == nil {
		return nil
	}
	if err := b.syncBeside(settling.redos); err != nil {
		return err
	}
	if err := b.update(settling.apply); err != nil {
		return err
	}
	b.pending.Lock()
	defer b.pending.Unlock()
	b.pending.settling = nil
	return nil
}

func (b *Bolt) isSettling() bool {
	b.pending.RLock()
	defer b.pending.RUnlock()
	return b.pending.settling != nil
}

// Settle brings all that is pending into the file, and what it is about beside the store onto the disk.
func (b *Bolt) Settle() error {
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.over {
		return ErrClosed
	}
	err := b.settleAll(nil, func(*bbolt.Tx) error { return nil })
	if err == nil {
		b.log.Restart(uint64(b.newest))
	}
	return err
}

// settleAll brings all that is pending into the file, and what is done with it there; redos are of that. Requires:
// writing.
func (b *Bolt) settleAll(redos []Redo, also func(*bbolt.Tx) error) error {
	b.settler.one.Lock()
	defer b.settler.one.Unlock()
	settling, active := b.pending.settling, b.pending.active
	if settling != nil {
		redos = slices.Concat(settling.redos, redos)
	}
	if err := b.syncBeside(slices.Concat(active.redos, redos)); err != nil {
		return err
	}
	err := b.update(func(tx *bbolt.Tx) error {
		if settling != nil {
			if err := settling.apply(tx); err != nil {
				return err
			}
		}
		return errors.Join(active.apply(tx), also(tx))
	})
	if err != nil {
		return err
	}
	b.pending.Lock()
	defer b.pending.Unlock()
	b.pending.settling = nil
	b.pending.active = newLayer(active.newest)
	return nil
}

// update is a transaction of the file.
func (b *Bolt) update(do func(*bbolt.Tx) error) error {
	return b.guard(func() error { return b.db.Update(do) })
}

// keepDirectly has a change go into the file, behind all that is pending. Requires: writing.
func (b *Bolt) keepDirectly(done Change, redos []Redo) error {
	err := b.settleAll(redos, func(tx *bbolt.Tx) error { return apply(tx, done) })
	if err != nil {
		if b.hasHappened(done.Revision) { // it is seen, and whether it is on the disk is unknown
			b.log.Fail(err)
			b.doubt(done)
		}
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	b.pending.Lock()
	b.pending.active.newest = done.Revision
	b.pending.Unlock()
	b.log.Restart(uint64(done.Revision))
	return nil
}

// hasHappened reports whether the file shows a transaction that failed: its root was written, if not to the disk.
func (b *Bolt) hasHappened(r Revision) (happened bool) {
	err := b.guard(func() error {
		return b.db.View(func(tx *bbolt.Tx) error { happened = newestOf(tx) >= r; return nil })
	})
	return happened || err != nil
}

// apply writes what is pending in a layer.
func (l *layer) apply(tx *bbolt.Tx) error {
	for key, e := range l.keys {
		if err := write(tx, key, e); err != nil {
			return err
		}
	}
	return setNewest(tx, l.newest)
}

// apply writes a change.
func apply(tx *bbolt.Tx, c Change) error {
	l := newLayer(c.Revision)
	l.add(c)
	return l.apply(tx)
}

func write(tx *bbolt.Tx, key string, e entry) error {
	items, ephemeral := tx.Bucket(itemsBucket), tx.Bucket(ephemeralBucket)
	if e.gone {
		if err := errors.Join(items.Delete([]byte(key)), ephemeral.Delete([]byte(key))); err != nil {
			return fmt.Errorf("delete %q: %w", key, err)
		}
		return nil
	}
	err := items.Put([]byte(key), stored(e.item))
	if e.item.Ephemeral {
		err = errors.Join(err, ephemeral.Put([]byte(key), nil))
	} else {
		err = errors.Join(err, ephemeral.Delete([]byte(key)))
	}
	if err != nil {
		return fmt.Errorf("put %q: %w", key, err)
	}
	return nil
}
