package fetched_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/fetched"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/record"
)

// lender answers with the names of its tables as their records, at most most at once.
type lender struct {
	tables []hugetable.TableName // in order
	most   int

	mu    sync.Mutex
	calls []record.TablesAsked
	err   error
	hold  chan struct{} // nil: it answers at once
}

func (l *lender) fetch(asked record.TablesAsked) (a record.TablesAnswer, err error) {
	l.mu.Lock()
	l.calls = append(l.calls, asked)
	err, hold := l.err, l.hold
	l.mu.Unlock()
	if hold != nil {
		<-hold
	}
	for _, name := range asked.Names {
		if a.Answered == l.most {
			break
		}
		a.Answered++
		for _, t := range l.tables {
			if hugetable.Folded(t).Folded == hugetable.Folded(name).Folded {
				a.Tables = append(a.Tables, []byte(t.String()))
			}
		}
	}
	if asked.ID > 0 && int(asked.ID) <= len(l.tables) {
		a.Tables = append(a.Tables, []byte(l.tables[asked.ID-1].String()))
	}
	for _, t := range l.tables {
		if !asked.All || t.Compare(asked.From) < 0 {
			continue
		}
		if len(a.Tables) == l.most {
			a.Next = t
			break
		}
		a.Tables = append(a.Tables, []byte(t.String()))
	}
	return a, err
}

func (l *lender) called() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

func add(to string, answers []record.TablesAnswer) (string, error) {
	for _, a := range answers {
		for _, t := range a.Tables {
			to += " " + string(t)
		}
	}
	return to, nil
}

func name(s string) hugetable.TableName { return hugetable.TableName{Schema: "s", Name: s} }

func newLender(most int) *lender {
	return &lender{tables: []hugetable.TableName{name("A"), name("a"), name("b"), name("c"), name("d")}, most: most}
}

// LZ1, LZ2.
func TestTablesAreAskedForOnce(t *testing.T) {
	l := newLender(2)
	tables := fetched.New("known:", l.fetch, add, []hugetable.TableName{name("b"), name("c")})
	for range 2 {
		require.Equal(t, "known: s.A s.a s.b", tables.Named(name("a")))
		require.Equal(t, 1, l.called(), "with one that was expected; the other one was no more answered")
		require.Equal(t, "known: s.A s.a s.b", tables.Named(name("B")))
		require.Equal(t, 1, l.called())
	}
	require.Equal(t, "known: s.A s.a s.b", tables.Named(name("none")))
	tables.Named(name("none"))
	require.Equal(t, 2, l.called(), "what is not there, too")
	require.Equal(t, []hugetable.TableName{hugetable.Folded(name("none")).Folded}, l.calls[1].Names)
	require.Equal(t, "known: s.A s.a s.b s.d", tables.Identified(5))
	require.Equal(t, "known: s.A s.a s.b s.d", tables.Identified(5))
	require.Equal(t, 3, l.called())
	require.Equal(t, "known: s.A s.a s.b s.d s.A s.a s.b s.c s.d", tables.Whole())
	require.Equal(t, 6, l.called(), "run by run")
	tables.Whole()
	tables.Named(name("e"))
	tables.Identified(6)
	require.Equal(t, 6, l.called())
	require.NoError(t, tables.Err())
	sought := tables.Sought()
	slices.SortFunc(sought, hugetable.TableName.Compare)
	require.Equal(t, []hugetable.TableName{hugetable.Folded(name("a")).Folded, hugetable.Folded(name("b")).Folded,
		hugetable.Folded(name("e")).Folded, hugetable.Folded(name("none")).Folded}, sought, "not what was only expected")
	long := name(string(make([]byte, 300)))
	for _, wrong := range []hugetable.TableName{long, name("")} {
		require.Equal(t, "known:", fetched.New("known:", l.fetch, add, nil).Named(wrong), "no table can be called so")
	}
	require.Equal(t, 6, l.called())
}

// LZ1: nothing that was looked up counts after an error, and nothing is fetched again.
func TestErrorsStay(t *testing.T) {
	for what, look := range map[string]func(*fetched.Tables[string]){
		"named":      func(t *fetched.Tables[string]) { t.Named(name("a")) },
		"identified": func(t *fetched.Tables[string]) { t.Identified(1) },
		"whole":      func(t *fetched.Tables[string]) { t.Whole() },
	} {
		l := newLender(2)
		l.err = errors.New("gone")
		tables := fetched.New("known:", l.fetch, add, nil)
		look(tables)
		require.ErrorIs(t, tables.Err(), l.err, what)
		l.err = nil
		require.Equal(t, "known:", tables.Named(name("b")), what)
		require.Equal(t, "known:", tables.Whole(), what)
		require.Error(t, tables.Err(), what)
		require.Equal(t, 1, l.called(), what)
	}
	l := newLender(2)
	tables := fetched.New("known:", l.fetch, func(string, []record.TablesAnswer) (string, error) { return "", errors.New("damaged") }, nil)
	require.Equal(t, "known:", tables.Named(name("a")))
	require.ErrorContains(t, tables.Err(), "damaged")
}

// Answers that would be asked for for ever, or are to nothing, are errors.
func TestAnswersThatAreNone(t *testing.T) {
	for what, answer := range map[string]record.TablesAnswer{
		"none": {}, "too many": {Answered: 2},
	} {
		tables := fetched.New("", func(record.TablesAsked) (record.TablesAnswer, error) { return answer, nil }, add, nil)
		tables.Named(name("a"))
		require.Error(t, tables.Err(), what)
	}
	calls := 0
	tables := fetched.New("", func(record.TablesAsked) (record.TablesAnswer, error) {
		calls++
		return record.TablesAnswer{Next: name("b")}, nil
	}, add, nil)
	tables.Whole()
	require.Error(t, tables.Err())
	require.Equal(t, 2, calls)
}

// LZ3: a look-up of what is known does not wait; concurrent look-ups of the same share one answer.
func TestManyLookAtOnce(t *testing.T) {
	l := newLender(2)
	tables := fetched.New("known:", l.fetch, add, nil)
	tables.Named(name("a"))
	l.hold = make(chan struct{})
	var over sync.WaitGroup
	var found atomic.Int32
	for range 8 {
		over.Go(func() {
			if tables.Named(name("b")) == "known: s.A s.a s.b" {
				found.Add(1)
			}
		})
	}
	require.Equal(t, "known: s.A s.a", tables.Named(name("a")))
	close(l.hold)
	over.Wait()
	require.EqualValues(t, 8, found.Load())
	require.Equal(t, 2, l.called())
	for i := range 4 {
		over.Go(func() {
			for k := range 100 {
				switch k % 3 {
				case 0:
					tables.Named(name(fmt.Sprint(i, k)))
				case 1:
					tables.Identified(hugetable.TableID(k))
				default:
					tables.Sought()
				}
			}
			tables.Whole()
		})
	}
	over.Wait()
	require.NoError(t, tables.Err())
}
