package fetched

import (
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
)

// expectedMost is how many names are asked for along with the first.
const expectedMost = 256

// Fetch asks the node that holds the snapshot.
type Fetch func(record.TablesAsked) (record.TablesAnswer, error)

// Tables of a snapshot. Safe for concurrent use.
type Tables[C any] struct {
	fetch Fetch
	add   func(to C, answers []record.TablesAnswer) (C, error)

	fetching sync.Mutex // one fetches at a time; above mu

	mu    sync.Mutex // guards what follows
	known C
	names map[hugetable.TableName]bool // without case; true: it was looked for
	ids   map[hugetable.TableID]bool
	whole bool
	err   error

	expected []hugetable.TableName // guarded by fetching; asked for along with the first
}

// New knows what is known without asking. add gives it the tables of answers too. expected are names that are likely to
// be looked for.
func New[C any](known C, fetch Fetch, add func(C, []record.TablesAnswer) (C, error),
	expected []hugetable.TableName) *Tables[C] {
	return &Tables[C]{
		fetch: fetch, add: add, known: known, expected: expected[:min(len(expected), expectedMost)],
		names: map[hugetable.TableName]bool{}, ids: map[hugetable.TableID]bool{},
	}
}

// Err says why something that was looked for may be missing (LZ1). Of nil, of which nothing is fetched, nothing is.
func (t *Tables[C]) Err() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Sought are the names that were looked for, for the next snapshot to expect; of nil, none.
func (t *Tables[C]) Sought() []hugetable.TableName {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []hugetable.TableName
	for name, sought := range t.names {
		if sought {
			list = append(list, name)
		}
	}
	return list
}

// Named knows the tables that have a name, if case does not matter.
func (t *Tables[C]) Named(name hugetable.TableName) C {
	if name.Name == "" || len(name.Schema) > keys.NameBytesMost || len(name.Name) > keys.NameBytesMost {
		known, _ := t.look(func() bool { return true })
		return known
	}
	folded := hugetable.Folded(name).Folded
	asked := func() bool {
		_, asked := t.names[folded]
		if asked || t.whole {
			t.names[folded] = true
		}
		return asked
	}
	return t.know(asked, func() ([]record.TablesAnswer, func(), error) {
		names := []hugetable.TableName{folded}
		for _, n := range t.expected {
			if n = hugetable.Folded(n).Folded; n != folded {
				names = append(names, n)
			}
		}
		t.expected = nil
		answer, err := t.fetch(record.TablesAsked{Names: names})
		if err == nil && (answer.Answered < 1 || answer.Answered > len(names)) {
			err = fmt.Errorf("%d of %d names were answered", answer.Answered, len(names))
		}
		return []record.TablesAnswer{answer}, func() {
			for i, n := range names[:answer.Answered] {
				t.names[n] = t.names[n] || i == 0
			}
		}, err
	})
}

// Identified knows the table that has an identity.
func (t *Tables[C]) Identified(id hugetable.TableID) C {
	return t.know(func() bool { return t.ids[id] }, func() ([]record.TablesAnswer, func(), error) {
		answer, err := t.fetch(record.TablesAsked{ID: id})
		return []record.TablesAnswer{answer}, func() { t.ids[id] = true }, err
	})
}

// Whole knows all tables.
func (t *Tables[C]) Whole() C {
	return t.know(func() bool { return false }, func() (list []record.TablesAnswer, note func(), err error) {
		for from := (hugetable.TableName{}); ; {
			answer, err := t.fetch(record.TablesAsked{All: true, From: from})
			if err == nil && answer.Next != (hugetable.TableName{}) && answer.Next.Compare(from) <= 0 {
				err = fmt.Errorf("the tables from %v on go on at %v", from, answer.Next)
			}
			if list = append(list, answer); err != nil || answer.Next == (hugetable.TableName{}) {
				return list, func() { t.whole = true }, err
			}
			from = answer.Next
		}
	})
}

// look gives what is known if nothing more can be, or asked says so, which is called with mu held.
func (t *Tables[C]) look(asked func() bool) (C, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	enough := asked() || t.whole || t.err != nil
	return t.known, enough
}

// know fetches unless something was asked before. note says what is known when it was added, with mu held.
func (t *Tables[C]) know(asked func() bool, fetch func() (answers []record.TablesAnswer, note func(), err error)) C {
	if known, enough := t.look(asked); enough {
		return known
	}
	t.fetching.Lock()
	defer t.fetching.Unlock()
	known, enough := t.look(asked) // another one may have asked meanwhile
	if enough {
		return known
	}
	answers, note, err := fetch()
	if err == nil {
		known, err = t.add(known, answers)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.err = fmt.Errorf("ask for the tables of a snapshot: %w", err)
		return t.known
	}
	t.known = known
	note()
	return known
}
