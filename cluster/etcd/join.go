package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Join makes a member of the cluster that is reached through the endpoints of through, starts it, and waits until it has
// a vote. It may be called again after it failed or the process died, and to start the member again later.
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
	return join(ctx, o, client)
}

func join(ctx context.Context, o ServerOptions, client *clientv3.Client) (*Server, error) {
	o.Existing = true
	if _, err := os.Stat(filepath.Join(o.Directory, "member")); errors.Is(err, os.ErrNotExist) { // etcd's own folder
		if o.InitialCluster, err = enlist(ctx, o, client); err != nil {
			return nil, fmt.Errorf("join etcd as member %s: %w", o.Name, err)
		}
	}
	s, err := Serve(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.promote(ctx, client); err != nil {
		return nil, errors.Join(fmt.Errorf("join etcd as member %s: %w", o.Name, err), s.Close())
	}
	return s, nil
}

// enlist adds the member to the cluster's list, if it is not there, and returns the list.
func enlist(ctx context.Context, o ServerOptions, client *clientv3.Client) (map[string]string, error) {
	for {
		list, err := client.MemberList(ctx)
		if err == nil {
			members, known, err := o.members(list.Members)
			if known || err != nil {
				return members, err
			}
			added, err := client.MemberAddAsLearner(ctx, []string{o.peerURL(o.AdvertisePeer)})
			if err == nil {
				members, _, err := o.members(added.Members)
				return members, err
			}
		}
		// Another learner, or a cluster that is just now not well, are reasons to wait.
		if err := stillTrying(ctx, err); err != nil {
			return nil, err
		}
	}
}

// stillTrying waits a moment; if there is no more time, it returns the reason.
func stillTrying(ctx context.Context, reason error) error {
	if wait(ctx, retryEvery) != nil {
		return errors.Join(reason, ctx.Err())
	}
	return nil
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
	for s.etcd.Server.IsLearner() {
		_, err := client.MemberPromote(ctx, uint64(s.etcd.Server.MemberID()))
		switch {
		case err == nil, errors.Is(err, rpctypes.ErrMemberNotLearner):
			err = errLearning // the member itself has yet to hear of it
		case errors.Is(err, rpctypes.ErrMemberNotFound):
			return err
		}
		if err := stillTrying(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

var errLearning = errors.New("the member does not know yet that it has a vote")
