package receipt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/catalog/store"
)

// commit is what a collector does: with the receipt, a mark that it happened.
func commit(s store.Store, r receipt.Receipt) (store.Revision, error) {
	return s.Commit(context.Background(), store.Transaction{
		Compares: []store.Compare{r.Condition()}, Puts: []store.Item{r.Put(), {Key: "table/" + r.Token}},
	})
}

func open() *store.Memory { return new(store.Memory) }

// RC1, RC2: collectors commit, or do not, before or after their receipts are settled, and stores fail; what Settle has said
// stays true.
func TestWhatIsSettledStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open()
		f := &failing{Store: s}
		b := &receipt.Book{Store: f, Node: "b", Incarnation: "1"}
		var late []receipt.Receipt   // that a collector still may commit
		settled := map[string]bool{} // by token: whether it happened
		happened := func(token string) bool {
			_, ok, err := s.Get(context.Background(), "table/"+token)
			require.NoError(t, err)
			return ok
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "late") && len(late) > 0 {
				i := rapid.IntRange(0, len(late)-1).Draw(t, "which")
				_, _ = commit(s, late[i])
				continue
			}
			r, err := b.Take(t.Context())
			require.NoError(t, err)
			require.NotNil(t, r)
			switch rapid.IntRange(0, 3).Draw(t, "course") {
			case 0: // it is answered
				revision, err := commit(s, *r)
				if err != nil { // a late one was committed in its slot, which is not known here
					require.ErrorIs(t, err, store.ErrConflict)
					b.Return(r, false)
					continue
				}
				r.Revision = revision
				b.Return(r, true)
			case 1: // it happens, and is not answered
				_, err := commit(s, *r)
				is, settling := b.Settle(t.Context(), r)
				require.NoError(t, settling)
				require.Equal(t, err == nil, is)
				settled[r.Token] = is
			case 2: // it has not happened yet
				late = append(late, *r)
				is, err := b.Settle(t.Context(), r)
				require.NoError(t, err)
				require.False(t, is)
				settled[r.Token] = false
			case 3: // the store fails meanwhile, before or after
				late = append(late, *r)
				f.fails, f.done = rapid.IntRange(1, 5).Draw(t, "fails"), rapid.Bool().Draw(t, "done")
				is, err := b.Settle(t.Context(), r)
				f.fails = 0
				if err == nil {
					require.False(t, is)
					settled[r.Token] = false
				}
			}
		}
		for _, r := range late {
			_, _ = commit(s, r)
		}
		for token, is := range settled {
			require.Equal(t, is, happened(token), "%s", token)
		}
	})
}

// failing does not answer some commits, whether they were done or not, and then some reads.
type failing struct {
	store.Store
	fails int
	done  bool
}

var errSilent = errors.New("no answer")

func (f *failing) Commit(ctx context.Context, t store.Transaction) (store.Revision, error) {
	if f.fails == 0 {
		return f.Store.Commit(ctx, t)
	}
	f.fails--
	if f.done {
		_, _ = f.Store.Commit(ctx, t)
	}
	return 0, fmt.Errorf("%w: %w", store.ErrUnknown, errSilent)
}

func TestSlotsAreFew(t *testing.T) {
	b := &receipt.Book{Store: open(), Node: "b", Incarnation: "1"}
	keys := map[string]bool{}
	var all []*receipt.Receipt
	for range receipt.Slots {
		r, err := b.Take(t.Context())
		require.NoError(t, err)
		keys[r.Put().Key] = true
		all = append(all, r)
	}
	require.Len(t, keys, receipt.Slots)
	r, err := b.Take(t.Context())
	require.NoError(t, err)
	require.Nil(t, r)
	b.Return(all[3], false)
	r, err = b.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, r.Slot)
	require.NotEqual(t, all[3].Token, r.Token)
}

// A process that takes over a node's name knows nothing of its receipts.
func TestReceiptsOfFormerProcesses(t *testing.T) {
	s := open()
	before := &receipt.Book{Store: s, Node: "b", Incarnation: "1"}
	r, err := before.Take(t.Context())
	require.NoError(t, err)
	revision, err := commit(s, *r)
	require.NoError(t, err)
	now := &receipt.Book{Store: s, Node: "b", Incarnation: "2"}
	r, err = now.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, revision, r.Since)
	_, err = commit(s, *r)
	require.NoError(t, err)
}

// late has a commit happen between the question and the answer.
type late struct {
	store.Store
	commits func()
}

func (l *late) Commit(ctx context.Context, t store.Transaction) (store.Revision, error) {
	if commits := l.commits; commits != nil {
		l.commits = nil
		commits()
	}
	return l.Store.Commit(ctx, t)
}

// RC1: the commit comes while the receipt is settled.
func TestACommitOvertakesTheSettlement(t *testing.T) {
	l := &late{Store: open()}
	b := &receipt.Book{Store: l, Node: "b", Incarnation: "1"}
	r, err := b.Take(t.Context())
	require.NoError(t, err)
	l.commits = func() {
		_, err := commit(l.Store, *r)
		require.NoError(t, err)
	}
	is, err := b.Settle(t.Context(), r)
	require.NoError(t, err)
	require.True(t, is)
	require.Positive(t, r.Revision)
}
