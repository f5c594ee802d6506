package member

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Probe looks whether a node of this name could join: whether etcd answers, the certificate is the node's and the
// cluster's, and the name is free. It returns where all members of etcd are reached, and leaves nothing behind.
func Probe(ctx context.Context, name string, c Cluster) (endpoints []string, err error) {
	n := &Node{config: Config{Node: name, Cluster: &c, Log: slog.Default()}}
	if err := n.loadCredentials(); err != nil {
		return nil, err
	}
	shared, err := etcd.Open(ctx, n.etcdClient())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	if err := catalog.CheckFree(ctx, shared, name); err != nil {
		return nil, err
	}
	members, err := shared.Members(ctx)
	for _, m := range members {
		endpoints = append(endpoints, m.Clients...)
	}
	return endpoints, err
}

// Forgotten is what there was of a node that is lost for good.
type Forgotten struct {
	Regions int  // of memory
	Member  bool // of etcd
}

// Forget takes a node that is lost for good, and of which the tables need nothing any more (Drain), out of its
// cluster, with its member of etcd: its name is free then. endpoints are where etcd is reached, without those of
// the node; credentials are nil where there are no certificates. A node that is there is refused (55006), and so is an
// unknown one (42704).
func Forget(ctx context.Context, name string, endpoints []string,
	credentials *certificate.Credentials) (found Forgotten, err error) {
	options := etcd.Options{Endpoints: endpoints, Description: "forget node " + name, Log: slog.New(slog.DiscardHandler)}
	if credentials != nil && !slices.ContainsFunc(endpoints, func(at string) bool { return strings.HasPrefix(at, "unix://") }) {
		options.TLS = credentials.Client("")
	}
	shared, err := etcd.Open(ctx, options)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	if found.Regions, err = catalog.Forget(ctx, shared, name); err != nil {
		return found, err
	}
	if found.Member, err = shared.Forget(ctx, name); err == nil && found == (Forgotten{}) {
		err = sqlerror.New("42704", "node %q does not exist", name)
	}
	return found, err
}
