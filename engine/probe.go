package engine

import (
	"context"
	"errors"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/etcd"
)

// ProbeCluster looks whether a node of this name could join: whether etcd answers, the certificate is the node's and the cluster's, and
// the name is free. It returns where all members of etcd are reached, and leaves nothing behind.
func ProbeCluster(ctx context.Context, name string, c Cluster) (endpoints []string, err error) {
	n := &node{config: &Config{Node: name, Cluster: &c}}
	n.config.Log = n.config.withDefaults().Log
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
