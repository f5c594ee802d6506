package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// promises is the record of the leases that a node gives to other processes, for the case that it is killed: until when
// one of them may be trusted. A borrower trusts its lease without asking, so the node's next process must not reuse
// memory before that time. It does not wait if no process had borrowed. Safe for concurrent use.
type promises struct {
	path   string // immutable
	boot   string // immutable
	shared bool   // immutable: other machines can reach the node's memory, which is there after a boot of this one

	mu    sync.Mutex      // guards what follows; above the catalog's locks
	until noderpc.Instant // what the file says
	ttl   time.Duration   // the longest that was given
}

// promiseRecord is the file: this machine's clock since it booted, which goes on over processes and ends with the
// borrowers on it. Those on other machines go on, and this one cannot tell how long it was off: from its next boot
// on they are waited for as long as they could have trusted a lease of that moment.
type promiseRecord struct {
	Boot  string
	Until int64         // nanoseconds
	Long  time.Duration `json:",omitempty"` // for how long it was promised, where other machines borrow
}

func newPromises(directory string, shared bool) (*promises, error) {
	boot, err := memregion.BootID()
	return &promises{path: filepath.Join(directory, "leases.json"), boot: boot, shared: shared}, err
}

// give puts on record that a lease, which is taken already, may be trusted for ttl from now on. It writes once per ttl:
// the record is
// ahead by as much.
func (p *promises) give(ttl time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := noderpc.Now()
	p.ttl = max(p.ttl, ttl)
	if p.until.Sub(now) >= p.ttl {
		return nil
	}
	until := now.Add(2 * p.ttl)
	record := promiseRecord{Boot: p.boot, Until: int64(until)}
	if p.shared {
		record.Long = until.Sub(now)
	}
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := replaceFile(p.path, data, p.shared); err != nil {
		return fmt.Errorf("put a lease on record: %w", err)
	}
	p.until = until
	return nil
}

// await returns when no lease of a former process is trusted any more.
func (p *promises) await(ctx context.Context) error {
	data, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("leases of the node's former process: %w", err)
	}
	var record promiseRecord
	if err := json.Unmarshal(data, &record); err != nil {
		return sqlerror.New("XX001", "%s is damaged: %v", p.path, err).WithHint("Remove it when no process has the node's memory attached.")
	}
	wait := noderpc.Instant(record.Until).Sub(noderpc.Now())
	if record.Boot != p.boot {
		wait = record.Long // 0: the borrowers ended with the machine's last life
	}
	left := time.NewTimer(wait)
	defer left.Stop()
	select {
	case <-left.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle takes the record back if no lease is left that could be trusted.
func (p *promises) settle(outstanding func() bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == 0 || outstanding() {
		return nil
	}
	p.until, p.ttl = 0, 0
	if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take a lease from the record: %w", err)
	}
	return nil
}

// lentOut reports whether another process holds a lease.
func (n *Node) lentOut() bool {
	return slices.ContainsFunc(n.Catalog.Leases(), func(l catalog.Lease) bool { return !l.Expires.IsZero() })
}

// replaceFile writes a file so that a reader finds the old or the new content, also when this machine was switched off
// meanwhile, if it is to be synced.
func replaceFile(path string, data []byte, sync bool) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil && sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil || !sync {
		return err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
