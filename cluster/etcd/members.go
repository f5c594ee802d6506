package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

	id uint64
}

// memberWait bounds how long one member is waited for.
const memberWait = time.Second

// Members lists the members of the etcd, by name, and asks each how it is. Without a majority the list is one that some
// member remembers, or this process if no member answers, and the error says so. It takes twice memberWait at most.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	call, done, err := s.call(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	answer, trouble := s.memberList(ctx, call)
	if trouble != nil {
		trouble = s.failure(ctx, "list the members of etcd", trouble)
	}
	if answer == nil {
		return s.lastMembers(trouble), trouble
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
	s.members.Store(&list)
	return list, trouble
}

// memberList asks the leader and, at the same time, any member. That one need not know a leader: ctx is without call's
// demand for one. trouble is the leader's error; answer is nil if no member answers.
func (s *Store) memberList(ctx, call context.Context) (answer *clientv3.MemberListResponse, trouble error) {
	ctx, cancel := context.WithTimeout(ctx, memberWait)
	defer cancel()
	call, done := context.WithTimeout(call, memberWait)
	defer done()
	var some *clientv3.MemberListResponse
	var group errgroup.Group
	group.Go(func() error {
		some, _ = s.client.MemberList(ctx, clientv3.WithSerializable()) // if no member answers, the leader does not, either
		return nil
	})
	answer, trouble = s.client.MemberList(call)
	if trouble == nil {
		cancel()
	}
	_ = group.Wait()
	if trouble != nil {
		answer = some
	}
	return answer, trouble
}

// lastMembers are those that were there when some of them last answered.
func (s *Store) lastMembers(trouble error) []Member {
	last := s.members.Load()
	if last == nil {
		return nil
	}
	list := slices.Clone(*last)
	for i := range list {
		list[i].Leader, list[i].Trouble = false, "it does not answer: "+trouble.Error()
	}
	return list
}

func (s *Store) member(ctx context.Context, m *etcdserverpb.Member) Member {
	made := Member{id: m.ID, Name: m.Name, Clients: m.ClientURLs, Peers: m.PeerURLs, Learner: m.IsLearner}
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

// Forget takes a member out of the etcd that is lost with its directory, so that another one may take its place. It
// reports whether there was one of that name. A member that answers is not lost, and is refused (55006); so is any
// change without a majority.
func (s *Store) Forget(ctx context.Context, name string) (found bool, err error) {
	list, err := s.Members(ctx)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(list, func(m Member) bool { return m.Name == name })
	switch {
	case i < 0:
		return false, nil
	case list[i].Trouble == "":
		return true, &Error{State: stateInUse, Message: fmt.Sprintf("member %s of etcd answers, it is not lost", name), HintText: "Stop its process first, if it is to go for good."}
	}
	err = tryUntil(ctx, func(ctx context.Context) (bool, error) {
		_, err := s.client.MemberRemove(ctx, list[i].id)
		return err == nil || errors.Is(err, rpctypes.ErrMemberNotFound), dropNotFound(err)
	})
	if err != nil {
		return true, s.failure(ctx, "take member "+name+" out of etcd", err)
	}
	return true, nil
}

func dropNotFound(err error) error {
	if errors.Is(err, rpctypes.ErrMemberNotFound) { // an earlier try did it
		return nil
	}
	return err
}
