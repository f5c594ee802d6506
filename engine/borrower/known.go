package borrower

import (
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
)

// known are versions of tables by their records, so that a table that did not change is the same version in the next
// snapshot, and what is known of it stays known. Those that neither of the last two snapshots asked for are forgotten.
// Safe for concurrent use.
type known struct {
	source *hugetable.Source

	mu          sync.Mutex
	now, before map[string]*catalog.TableVersion // guarded by mu
}

func newKnown(pages catalog.Pages) *known { return &known{source: hugetable.NewSource(pages, 0)} }

// next begins another snapshot.
func (k *known) next() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before, k.now = k.now, map[string]*catalog.TableVersion{}
}

func (k *known) version(record []byte) (*catalog.TableVersion, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := k.now[string(record)]; v != nil {
		return v, nil
	}
	v := k.before[string(record)]
	if v == nil {
		var err error
		if v, err = hugetable.Decode(record, k.source); err != nil {
			return nil, err
		}
	}
	k.now[string(record)] = v
	return v, nil
}
