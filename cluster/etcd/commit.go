package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/csmsql/csmsql/catalog/store"
)

// Commit implements store.Store: it is one etcd transaction. While etcd is known to be in trouble, it first asks
// whether it answers at all, so that the error is that nothing happened and not ErrUnknown. After ErrUnknown the
// outcome is settled before anything else is done through this handle: what a Get does not show then will not come
// later (E4).
func (s *Store) Commit(ctx context.Context, t store.Transaction) (store.Revision, error) {
	if err := t.Validate(limits()); err != nil {
		return 0, err
	}
	call, done, err := s.call(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	began := time.Now()
	if s.session.inTrouble() {
		if _, err := s.ask(call, s.fence.key, clientv3.WithCountOnly()); err != nil {
			return 0, s.failure(ctx, "commit", err)
		}
	}
	for {
		fence, err := s.settled(call)
		if err != nil {
			return 0, s.commitFailed(ctx, err)
		}
		revision, again, err := s.try(call, t, fence)
		switch {
		case again:
		case err != nil:
			if isConflict(err) {
				s.counts.latency.add(time.Since(began))
			}
			return 0, s.commitFailed(ctx, err)
		default:
			s.counts.latency.add(time.Since(began))
			s.counts.commits.Add(1)
			return revision, nil
		}
	}
}

func isConflict(err error) bool {
	_, ok := err.(*store.Conflict)
	return ok
}

// unanswered is the error of a transaction of which nothing is known.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

func (s *Store) commitFailed(ctx context.Context, err error) error {
	switch e := err.(type) {
	case *store.Conflict:
		s.counts.conflicts.Add(1)
		return e
	case unanswered:
		s.counts.unknown.Add(1)
		return s.unknown(e.error)
	}
	if isSessionOver(err) {
		return err
	}
	return s.failure(ctx, "commit", err)
}

// try does the transaction once. Again: it certainly did not happen, for a reason that has passed.
func (s *Store) try(ctx context.Context, t store.Transaction,
	fence int64) (revision store.Revision, again bool, err error) {
	sending, sent := watchSending(ctx)
	answer, err := s.client.Txn(sending).If(s.conditions(t, fence)...).Then(s.writes(t)...).Else(s.questions(t)...).Commit()
	switch {
	case err == nil && answer.Succeeded:
		return store.Revision(answer.Header.Revision), false, nil
	case err == nil:
		return s.whyNot(t, fence, answer)
	case !sent.Load() || errors.Is(err, rpctypes.ErrNoLeader): // no connection now, or the member did not take it
		return 0, wait(ctx, retryEvery) == nil, err
	case harmless(err):
		return 0, false, err
	case !errors.Is(err, rpctypes.ErrNoSpace): // which is an answer: it was done or not, and nothing is under way
		s.fence.doubt(fence)
	}
	return 0, false, unanswered{err}
}

func (s *Store) conditions(t store.Transaction, fence int64) []clientv3.Cmp {
	all := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.fence.key), "=", fence)}
	for _, c := range t.Compares {
		if c.Prefix {
			newer := clientv3.Compare(clientv3.ModRevision(s.keys+c.Key), "<", int64(c.Revision)+1)
			all = append(all, newer.WithPrefix())
			continue
		}
		how := "="
		if c.Present { // whose Revision is 0
			how = ">"
		}
		all = append(all, clientv3.Compare(clientv3.ModRevision(s.keys+c.Key), how, int64(c.Revision)))
	}
	return all
}

func (s *Store) writes(t store.Transaction) []clientv3.Op {
	var all []clientv3.Op
	for _, key := range t.Deletes {
		all = append(all, clientv3.OpDelete(s.keys+key))
	}
	for _, put := range t.Puts {
		var of []clientv3.OpOption
		if put.Ephemeral {
			of = append(of, clientv3.WithLease(s.session.lease))
		}
		all = append(all, clientv3.OpPut(s.keys+put.Key, string(put.Value), of...))
	}
	return all
}

// questions find out which condition did not hold.
func (s *Store) questions(t store.Transaction) []clientv3.Op {
	all := []clientv3.Op{clientv3.OpGet(s.fence.key, clientv3.WithKeysOnly())}
	for _, c := range t.Compares {
		of := []clientv3.OpOption{clientv3.WithKeysOnly()}
		if c.Prefix {
			of = append(of, clientv3.WithPrefix(), clientv3.WithMinModRev(int64(c.Revision)+1), clientv3.WithLimit(1))
		}
		all = append(all, clientv3.OpGet(s.keys+c.Key, of...))
	}
	return all
}

// whyNot reads the answers to questions.
func (s *Store) whyNot(t store.Transaction, fence int64, answer *clientv3.TxnResponse) (store.Revision, bool, error) {
	own := answer.Responses[0].GetResponseRange().Kvs
	if len(own) == 0 {
		return 0, false, s.session.lost()
	}
	for i, c := range t.Compares {
		found := answer.Responses[i+1].GetResponseRange().Kvs
		if c.Prefix && len(found) > 0 {
			return 0, false, &store.Conflict{Compare: c}
		}
		var revision store.Revision
		if len(found) > 0 {
			revision = store.Revision(found[0].ModRevision)
		}
		if c.Present && revision == 0 || !c.Present && !c.Prefix && revision != c.Revision {
			return 0, false, &store.Conflict{Compare: c}
		}
	}
	s.fence.doubt(fence) // it was moved meanwhile; the next try compares what it is now
	return 0, true, nil
}
