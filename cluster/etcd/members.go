package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
)

// Member of an etcd as it answers, or does not.
type Member struct {
	Name    string // empty: it was added and has not started yet
	Clients []string
	Peers   []string
	Leader  bool
	Learner bool // it has no vote yet
	Version string
	Bytes   int64 // of its database
	// Trouble is why it does not answer, or what it says is wrong with it; empty: nothing.
	Trouble string
}

// memberWait bounds how long one member is waited for.
const memberWait = time.Second

// Members lists the members of the etcd, by name, and asks each how it is. Without a majority the list is one that some member
// remembers, and the error says so.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	call, done, err := s.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	try, cancel := context.WithTimeout(call, s.options.Timeout/tries)
	answer, trouble := s.client.MemberList(try)
	cancel()
	if trouble != nil {
		// Whoever answers need not know a leader: so this call goes without call's demand for one.
		any, cancel := context.WithTimeout(ctx, memberWait)
		answer, err = s.client.MemberList(any, clientv3.WithSerializable())
		cancel()
		if err != nil {
			return nil, s.failure(ctx, "list the members of etcd", trouble)
		}
		trouble = s.failure(ctx, "list the members of etcd", trouble)
	}
	list := make([]Member, len(answer.Members))
	var group errgroup.Group
	for i, m := range answer.Members {
		group.Go(func() error {
			list[i] = s.member(ctx, m)
			return nil
		})
	}
	_ = group.Wait() // what went wrong is in the list
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return list, trouble
}

func (s *Store) member(ctx context.Context, m *etcdserverpb.Member) Member {
	made := Member{Name: m.Name, Clients: m.ClientURLs, Peers: m.PeerURLs, Learner: m.IsLearner}
	if len(m.ClientURLs) == 0 {
		made.Trouble = "it has not started yet"
		return made
	}
	ctx, cancel := context.WithTimeout(ctx, memberWait)
	defer cancel()
	var err error
	for _, at := range m.ClientURLs {
		var status *clientv3.StatusResponse
		if status, err = s.client.Status(ctx, at); err != nil {
			continue
		}
		made.Version, made.Bytes, made.Leader = status.Version, status.DbSize, status.Leader == m.ID
		if status.Leader == 0 {
			made.Trouble = "it knows no leader"
		}
		for _, e := range status.Errors {
			made.Trouble = e
		}
		return made
	}
	made.Trouble = fmt.Sprintf("it does not answer: %s", describe(err))
	return made
}
