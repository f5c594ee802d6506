package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Join makes a member of the cluster that is reached through the endpoints of through, starts it, and waits until it
// has a vote. It may be called again after it failed or the process died, and to start the member again later.
//
// The new member first only learns: if it never comes up, the others' majority is what it was.
//
//	not a member ──▶ learner, not started ──▶ learner, catching up ──▶ voting
func Join(ctx context.Context, options ServerOptions, through Options) (*Server, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	through, err = through.withDefaults()
	if err != nil {
		return nil, err
	}
	client, err := connect(through)
	if err != nil {
		return nil, badOption("cannot make a client of %s: %v", strings.Join(through.Endpoints, ", "), err)
	}
	defer func() { _ = client.Close() }() // nothing is lost with it
	return join(ctx, o, client, through.Prefix+"joining")
}

// alone waits until no other member joins. Two must not: etcd 3.7.3 may reject the second learner only after it is in
// the log, and a member that restarts then takes it for one and tries to connect to it for ever.
func alone(ctx context.Context, client *clientv3.Client, key string) (leave func(), err error) {
	session, err := concurrency.NewSession(client, concurrency.WithContext(ctx), concurrency.WithTTL(int(DefaultSessionTTL/time.Second)))
	if err != nil {
		return nil, err
	}
	if err := concurrency.NewMutex(session, key).Lock(ctx); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return func() { _ = session.Close() }, nil // its key goes with it, now or with its TTL
}

func join(ctx context.Context, o ServerOptions, client *clientv3.Client, lock string) (*Server, error) {
	o.Existing = true
	if _, err := os.Stat(filepath.Join(o.Directory, "member")); errors.Is(err, os.ErrNotExist) { // etcd's own folder
		leave, err := alone(ctx, client, lock)
		if err != nil {
			return nil, fmt.Errorf("join etcd as member %s: %w", o.Name, err)
		}
		defer leave()
		if o.InitialCluster, err = enlist(ctx, o, client); err != nil {
			return nil, fmt.Errorf("join etcd as member %s: %w", o.Name, err)
		}
	} // else it is a member, and may be one that the others need for a majority
	s, err := Serve(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.promote(ctx, client); err != nil {
		return nil, errors.Join(fmt.Errorf("join etcd as member %s: %w", o.Name, err), s.Close())
	}
	return s, nil
}

// tryWait bounds one try to change the members: etcd drops a change that comes while another one is under way, and
// never answers it.
const tryWait = 2 * time.Second

// tryUntil tries until it is done, fails for good, or ctx ends. A cluster whose members have not all been connected for
// five seconds is a reason to wait: etcd then changes nothing.
func tryUntil(ctx context.Context, try func(context.Context) (done bool, err error)) error {
	for {
		bound, cancel := context.WithTimeout(ctx, tryWait)
		done, err := try(bound)
		cancel()
		if done {
			return err
		}
		if wait(ctx, retryEvery) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// enlist adds the member to the cluster's list, if it is not there, and returns the list.
func enlist(ctx context.Context, o ServerOptions, client *clientv3.Client) (members map[string]string, err error) {
	err = tryUntil(ctx, func(ctx context.Context) (bool, error) {
		list, err := client.MemberList(ctx)
		if err != nil {
			return false, err
		}
		known := false
		if members, known, err = o.members(list.Members); known || err != nil {
			return true, err
		}
		for _, m := range list.Members {
			if m.IsLearner {
				return false, fmt.Errorf("member %q at %v has no vote yet: start it, or take it out of the cluster", m.Name, m.PeerURLs)
			}
		}
		_, err = client.MemberAddAsLearner(ctx, []string{o.peerURL(o.AdvertisePeer)})
		return false, err // the next look at the list finds it
	})
	return members, err
}

// members makes an initial cluster of the list, and says whether this member is in it.
func (o ServerOptions) members(list []*etcdserverpb.Member) (members map[string]string, known bool, err error) {
	members = map[string]string{}
	for _, m := range list {
		name := m.Name
		switch {
		case slices.Contains(m.PeerURLs, o.peerURL(o.AdvertisePeer)):
			known = true
			if name != "" {
				return nil, true, fmt.Errorf("the cluster knows member %s at %s, which has run, and %s is empty: take that member out of the cluster first", name, o.AdvertisePeer, o.Directory)
			}
			name = o.Name
		case name == o.Name:
			return nil, false, fmt.Errorf("the cluster has a member %s already, at %v: choose another name", name, m.PeerURLs)
		case name == "":
			name = fmt.Sprintf("not started %x", m.ID) // etcd compares addresses only
		}
		if len(m.PeerURLs) > 0 {
			_, members[name], _ = strings.Cut(m.PeerURLs[0], "://")
		}
	}
	return members, known, nil
}

// promote gives the member a vote as soon as it has caught up.
func (s *Server) promote(ctx context.Context, client *clientv3.Client) error {
	return tryUntil(ctx, func(ctx context.Context) (bool, error) {
		if !s.etcd.Server.IsLearner() {
			return true, nil
		}
		_, err := client.MemberPromote(ctx, uint64(s.etcd.Server.MemberID()))
		return errors.Is(err, rpctypes.ErrMemberNotFound), err // else the member will know soon, or must learn more
	})
}
