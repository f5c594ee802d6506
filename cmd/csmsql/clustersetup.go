package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/member"
)

// setup is what cluster init and join have in common: they make a data directory of which “csmsql serve --data DIR”
// makes a node.
type setup struct {
	data      string
	node      string
	authority string
	hosts     []string
	etcdPeer  string
	serving   *pflag.FlagSet // the flags of serve that are written down
}

// writtenDown are the flags of serve that init and join take and write down.
var writtenDown = []string{"pg", "rpc", "certs", "region", "region-dir", "fabric", "memory", "threads", "http", "session-ttl", "repair-after", "etcd-listen"}

func (s *setup) flags(c *cobra.Command, more ...string) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&s.data, "data", place.DefaultData(), "data `directory` to be made")
	flags.StringVar(&s.node, "node", "", "the node's `name`, for ever")
	flags.StringVar(&s.authority, "authority", "", "`directory` of the cluster's authority, made if need be: the node's certificate is made, too, and kept in the data directory")
	flags.StringSliceVar(&s.hosts, "host", nil, "`address` or name at which the node is reached, for the certificate that --authority makes (may be repeated)")
	serving := newServe().Flags()
	s.serving = pflag.NewFlagSet("serve", pflag.ContinueOnError)
	for _, name := range append(more, writtenDown...) {
		flags.AddFlag(serving.Lookup(name))
		s.serving.AddFlag(serving.Lookup(name))
	}
	flags.StringVar(&s.etcdPeer, "etcd-peer", "", "`address` for etcd's other members, if the node runs one (default: a free port of this machine)")
}

// checkServing returns the error that serve would have for the settings that are going to be written.
func (s *setup) checkServing(part map[string]any) error {
	given := &serving{}
	serve := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	given.flags(serve)
	settings := s.settings(part)
	if s.etcdPeer != "" {
		settings["etcd-peer"] = s.etcdPeer
	}
	if s.authority != "" {
		settings["certs"] = filepath.Join(s.data, "certs") // will be made
	}
	for name, value := range settings {
		if err := setFromFile(serve, name, value); err != nil {
			return err
		}
	}
	return given.check(serve)
}

// check finds what is wrong before anything is made. part is the node's part in the cluster.
func (s *setup) check(part map[string]any) (err error) {
	switch {
	case s.node == "":
		return usageError{errors.New("what is the node to be called? Say it with --node NAME")}
	case s.node == "local":
		return usageError{errors.New("a node of a cluster needs a name of its own, not “local”")}
	case s.authority != "" && s.serving.Lookup("certs").Changed:
		return usageError{errors.New("--authority makes the node's certificate and --certs has one: give one of them")}
	case s.authority == "" && len(s.hosts) > 0:
		return usageError{errors.New("--host is for the certificate that --authority makes")}
	}
	if err := s.checkServing(part); err != nil {
		return usageError{err}
	}
	if s.data, err = filepath.Abs(s.data); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the data directory: %w", err)
	case exists(filepath.Join(s.data, serveFile)):
		return fmt.Errorf("%s is a node's already: start it with “csmsql serve --data %s”, or name another directory", s.data, s.data)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty; name a directory that is, or one that is not there", s.data)
	}
	return nil
}

// certify makes the node's certificate if it is to.
func (s *setup) certify(out io.Writer) error {
	if s.authority == "" {
		return nil
	}
	directory := filepath.Join(s.data, "certs")
	if err := issueCertificate(out, s.authority, directory, certificate.Identity{Role: certificate.RoleNode, Name: s.node}, s.reachedAt()); err != nil {
		return err
	}
	return s.serving.Set("certs", directory)
}

// reachedAt are the addresses that the certificate names: etcd looks at them.
func (s *setup) reachedAt() []string {
	hosts := append([]string{"127.0.0.1", "localhost"}, s.hosts...)
	for _, name := range []string{"rpc", "etcd-listen"} {
		if host, _, err := net.SplitHostPort(s.serving.Lookup(name).Value.String()); err == nil && host != "" {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// settings are what serve.json says: the flags that were given, and those of its part in the cluster.
func (s *setup) settings(part map[string]any) map[string]any {
	settings := map[string]any{"node": s.node}
	s.serving.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		value := f.Value.String()
		if f.Name == "certs" || f.Name == "region-dir" {
			value, _ = filepath.Abs(value) // it was made absolute before, or there is no working directory
		}
		settings[f.Name] = value
	})
	for name, value := range part {
		settings[name] = value
	}
	return settings
}

// peerAddress is where etcd's other members will reach this one: it must stay what it is.
func (s *setup) peerAddress() (string, error) {
	if s.etcdPeer != "" {
		return s.etcdPeer, nil
	}
	host, _, err := net.SplitHostPort(s.serving.Lookup("etcd-listen").Value.String())
	if err != nil {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", fmt.Errorf("find a port for etcd's other members: %w", err)
	}
	defer l.Close() // it was only to find the port
	return l.Addr().String(), nil
}

func newClusterInit() *cobra.Command {
	s := &setup{}
	c := &cobra.Command{
		Use:   "init --node NAME",
		Short: "Make the data directory of a cluster's first node",
		Long: `Make the data directory of the first node of a new cluster. "csmsql serve --data DIR" then starts it, and its member of
etcd, which keeps the cluster's catalog. Flags of serve that are given here are kept in DIR/serve.json.

On one machine, with one user, nothing else is needed. For nodes that are reached over a network say where the cluster's
authority is, or is to be, with --authority; and --rpc and --etcd-listen, for the other nodes.`,
		Example: `  csmsql cluster init --data A --node a --pg 127.0.0.1:7001
  csmsql cluster init --data /srv/a --node a --authority ~/ca --rpc 10.0.0.1:7101 --etcd-listen 10.0.0.1:2379`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.init(c.OutOrStdout()) },
	}
	s.flags(c)
	return c
}

func (s *setup) init(out io.Writer) error {
	if err := s.check(map[string]any{"cluster-init": true}); err != nil {
		return err
	}
	peer, err := s.peerAddress()
	if err != nil {
		return err
	}
	if err := s.certify(out); err != nil {
		return err
	}
	if err := writeServeFile(s.data, s.settings(map[string]any{"cluster-init": true, "etcd-peer": peer})); err != nil {
		return err
	}
	join := "csmsql cluster join --node NAME --data DIR --to " + s.data
	if listen := s.serving.Lookup("etcd-listen").Value.String(); listen != "" {
		join = "csmsql cluster join --node NAME --data DIR --etcd " + listen
	}
	if s.authority != "" {
		join += " --authority " + s.authority + " --rpc HOST:PORT"
	} else if s.serving.Lookup("certs").Changed {
		join += " --certs CERTS --rpc HOST:PORT"
	}
	_, err = fmt.Fprintf(out, `%s is node %s, the first of a cluster.
start it:  csmsql serve --data %s
then for each further node:  %s
`, s.data, s.node, s.data, join)
	return err
}

func newClusterJoin() *cobra.Command {
	s := &setup{}
	var to string
	var endpoints []string
	var member bool
	c := &cobra.Command{
		Use:   "join --node NAME (--to TARGET | --etcd ADDRESS,…)",
		Short: "Make the data directory of a further node",
		Long: `Make the data directory of a node that joins a cluster. "csmsql serve --data DIR" then starts it. Flags of serve that are
given here are kept in DIR/serve.json.

The cluster is found through one of its nodes (--to) or through its etcd (--etcd). Before anything is made it is checked
that etcd answers, that the certificate is good, and that no other node has the name.

With --etcd-member the node also runs a member of etcd. Three members bear the loss of one, five of two; two are worse than
one. The member joins when the node is started.`,
		Example: `  csmsql cluster join --data B --node b --pg 127.0.0.1:7002 --to A
  csmsql cluster join --data B --node b --to A --etcd-member
  csmsql cluster join --data /srv/b --node b --authority ~/ca --rpc 10.0.0.2:7101 --etcd 10.0.0.1:2379`,
		Args: noArguments,
		RunE: interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
			return s.join(ctx, c.OutOrStdout(), to, endpoints, member)
		}),
	}
	c.Flags().StringVar(&to, "to", "", "`target`: a node of the cluster: its data directory, its socket or, with certificates, host:port")
	c.Flags().StringSliceVar(&endpoints, "etcd", nil, "`addresses` of the cluster's etcd: host:port or unix:///path, separated by commas")
	c.Flags().BoolVar(&member, "etcd-member", false, "run a member of etcd, too")
	s.flags(c)
	return c
}

func (s *setup) join(ctx context.Context, out io.Writer, to string, endpoints []string, member bool) error {
	if (to == "") == (len(endpoints) == 0) {
		return usageError{errors.New("which cluster? Name a node of it with --to DIR, or its etcd with --etcd ADDRESS")}
	}
	if err := s.check(map[string]any{"etcd": slices.Concat(endpoints, []string{"127.0.0.1:0"})[:max(len(endpoints), 1)], "etcd-member": member}); err != nil {
		return err
	}
	if err := s.certify(out); err != nil {
		return err
	}
	found, err := s.probe(ctx, to, endpoints)
	if err != nil {
		if s.authority != "" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.data, "certs"))) // made for nothing
		}
		return fmt.Errorf("node %s cannot join: %w", s.node, err)
	}
	part := map[string]any{"etcd": found} // all members, so that the node can start when one of them is not there
	if member {
		peer, err := s.peerAddress()
		if err != nil {
			return err
		}
		part["etcd-member"], part["etcd-peer"] = true, peer
	}
	if err := writeServeFile(s.data, s.settings(part)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s is node %s, which joins the cluster of etcd at %s.\nstart it:  csmsql serve --data %s\n", s.data, s.node, strings.Join(found, ", "), s.data)
	return err
}

// probe finds the cluster's etcd and whether the node may join.
func (s *setup) probe(ctx context.Context, to string, endpoints []string) (found []string, err error) {
	certificates := s.serving.Lookup("certs").Value.String()
	if to != "" {
		if endpoints, err = etcdOf(ctx, target{to: to, certificates: certificates}); err != nil {
			return nil, err
		}
	}
	found, err = member.Probe(ctx, s.node, engine.Cluster{Endpoints: endpoints, Certificates: certificates})
	if err == nil && len(found) == 0 {
		found = endpoints
	}
	return found, err
}

// etcdOf asks a node where its cluster's etcd is.
func etcdOf(ctx context.Context, to target) (endpoints []string, err error) {
	client, err := to.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close() // only calls that have ended
	status, err := client.ClusterStatus(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range status.Etcd {
		endpoints = append(endpoints, m.Clients...)
	}
	if len(endpoints) == 0 {
		return nil, fmt.Errorf("node %s does not know where its etcd is (%s); name it with --etcd", status.Node, status.Trouble)
	}
	return endpoints, nil
}
