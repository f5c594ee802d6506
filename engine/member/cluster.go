package member

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Cluster makes a node one of several that share a catalog in etcd and each other's memory.
type Cluster struct {
	// Endpoints are etcd's client addresses: host:port or unix:///path. Empty with Init.
	Endpoints []string
	// Init runs a member of etcd in this process, in Config.Directory/etcd, which listens at EtcdListen: host:port, or
	// empty for a unix socket there.
	Init       bool
	EtcdListen string
	// Member runs a member of etcd in this process that joins those of Endpoints, so that there is a majority
	// without the first node: three members bear the loss of one.
	Member bool
	// EtcdPeer is where the other members of etcd reach this node's: host:port. Empty: a port of 127.0.0.1 that stays
	// the same.
	EtcdPeer string
	// EtcdQuota bounds the database of this node's member of etcd, in bytes, and EtcdHistory how long that remembers
	// changes; 0: etcd.DefaultQuotaBytes, etcd.DefaultHistory.
	EtcdQuota   int64
	EtcdHistory time.Duration
	// Address is where the other nodes reach this one: the path of its unix socket when all are on one machine, or
	// host:port, which needs Certificates.
	Address string
	// Frontend is where clients reach this node, for status output.
	Frontend string
	// Certificates is a directory with ca.crt, node.crt and node.key, the node's own; empty: only nodes on this
	// machine, of the same user.
	Certificates string
	// SessionTTL is how long the others wait for this node before they hold it for dead, and how long it may read their
	// memory without having heard from etcd; 0: 10 s.
	SessionTTL time.Duration
	// RepairAfter is how long a node may be away before the others rebuild its replicas; 0: 1 min, below 0: for ever.
	RepairAfter time.Duration
}

// loadCredentials reads the node's certificate, which must be its own.
func (n *Node) loadCredentials() error {
	c := n.config.Cluster
	if c.Certificates == "" {
		return nil
	}
	credentials, err := certificate.Load(certificate.FilesIn(c.Certificates, certificate.RoleNode))
	if err != nil {
		return err
	}
	if name := credentials.Identity().Name; name != n.config.Node {
		return sqlerror.New("22023", "the certificate in %s is node %s's, and this is node %s", c.Certificates, name, n.config.Node).
			WithHint("Name the node as its certificate says, or make one with “csmsql cluster cert”.")
	}
	n.Credentials = credentials
	return nil
}

// localDirectoryKey is what a node of a cluster keeps in its own directory: whose directory it is. The file's lock
// keeps a second process out, which is what lets a node that comes back take its own name over.
const localDirectoryKey = "cluster/directory"

// openStore opens what keeps the catalog: a file in the data directory, or the cluster's etcd.
func (n *Node) openStore(ctx context.Context) error {
	bolt, err := store.OpenBolt(n.config.Directory)
	if err != nil {
		return err
	}
	if n.local = bolt; bolt.Torn() {
		n.config.Log.Warn("the commit log ends with a part of a transaction that was not acknowledged: the machine went down then, or its disk is damaged",
			"file", filepath.Join(n.config.Directory, store.LogName))
	}
	item, clustered, err := bolt.Get(ctx, localDirectoryKey)
	if err != nil {
		return err
	}
	if n.config.Cluster == nil {
		if clustered {
			return sqlerror.New("55000", "%s belongs to a node of a cluster", n.config.Directory).
				WithHint("Start it with --etcd or --cluster-init as before, or name another data directory.")
		}
		n.Store = bolt
		return nil
	}
	if n.joined = clustered; !clustered {
		if item.Value, err = n.newDirectory(ctx, bolt); err != nil {
			return err
		}
	}
	return n.join(ctx, string(item.Value))
}

// newDirectory makes an empty data directory one of a cluster's node.
func (n *Node) newDirectory(ctx context.Context, bolt *store.Bolt) ([]byte, error) {
	used := false
	if _, err := bolt.Scan(ctx, []string{"meta/"}, func(store.Item) error { used = true; return nil }); err != nil {
		return nil, err
	}
	if used {
		return nil, sqlerror.New("55000", "%s holds the tables of a node that is alone", n.config.Directory).
			WithHint("Join the cluster with an empty data directory, and load the tables there.")
	}
	name := []byte(rand.Text())
	_, err := bolt.Commit(ctx, store.Transaction{
		Compares: []store.Compare{store.Unchanged(localDirectoryKey, 0)}, Puts: []store.Item{{Key: localDirectoryKey, Value: name}},
	})
	return name, err
}

// join starts this node's own member of etcd, if it has one, and connects to the cluster.
func (n *Node) join(ctx context.Context, directory string) error {
	if err := n.loadCredentials(); err != nil {
		return err
	}
	c := n.config.Cluster
	if c.Init || c.Member {
		if err := n.startMember(ctx); err != nil {
			return err
		}
		c.Endpoints = []string{n.member.Endpoint()}
	}
	options := n.etcdClient()
	options.Member = n.member
	shared, err := etcd.Open(ctx, options)
	if err != nil {
		return err
	}
	n.Store = shared
	boot, err := memregion.BootID()
	if err != nil {
		return err
	}
	n.Incarnation = noderpc.NewIncarnation()
	n.Self = &catalog.NodeRecord{
		Incarnation: n.Incarnation.String(),
		Name:        n.config.Node, Address: c.Address, Frontend: c.Frontend, BootID: boot, Started: time.Now(), Directory: directory,
	}
	return nil
}

// memberPatience is how long the start of a member is silent; then the log says what it waits for.
const memberPatience = 3 * time.Second

// startMember starts this node's member of etcd: the first one of its cluster, or one that joins the others.
func (n *Node) startMember(ctx context.Context) (err error) {
	c := n.config.Cluster
	options := etcd.ServerOptions{
		Directory: filepath.Join(n.config.Directory, "etcd"), Name: n.config.Node, ListenClient: c.EtcdListen, ListenPeer: c.EtcdPeer, Log: n.config.Log,
		QuotaBytes: c.EtcdQuota, History: c.EtcdHistory,
	}
	if n.Credentials != nil {
		files := certificate.FilesIn(c.Certificates, certificate.RoleNode)
		options.PeerTLS = &etcd.Files{Authority: files.Authority, Certificate: files.Certificate, Key: files.Key}
		if c.EtcdListen != "" {
			options.TLS = options.PeerTLS
		}
	}
	if c.EtcdPeer == "" {
		if options.ListenPeer, err = n.rememberedPeer(ctx); err != nil {
			return err
		}
	}
	waiting := time.AfterFunc(memberPatience, func() {
		n.config.Log.Warn("this node's member of etcd waits for a majority: start the nodes that run the others")
	})
	defer waiting.Stop()
	if c.Init {
		n.member, err = etcd.Serve(ctx, options)
	} else {
		n.member, err = etcd.Join(ctx, options, n.etcdClient())
	}
	if err != nil || c.EtcdPeer != "" || n.member.PeerAddress() == options.ListenPeer {
		return err
	}
	return n.rememberPeer(ctx, n.member.PeerAddress())
}

// localPeerKey is where the other members of etcd reach this node's, in its own directory: they remember it, too.
const localPeerKey = "cluster/etcd-peer"

func (n *Node) rememberedPeer(ctx context.Context) (string, error) {
	item, _, err := n.local.Get(ctx, localPeerKey)
	return string(item.Value), err
}

func (n *Node) rememberPeer(ctx context.Context, address string) error {
	_, err := n.local.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: localPeerKey, Value: []byte(address)}}})
	return err
}

// etcdClient is how this node reaches etcd.
func (n *Node) etcdClient() etcd.Options {
	c := n.config.Cluster
	options := etcd.Options{Endpoints: c.Endpoints, SessionTTL: c.SessionTTL, Description: "node " + n.config.Node, Log: n.config.Log, Fault: n.config.Fault}
	isSocket := func(endpoint string) bool { return strings.HasPrefix(endpoint, "unix://") }
	if n.Credentials != nil && !slices.ContainsFunc(c.Endpoints, isSocket) { // sockets need none
		options.TLS = n.Credentials.Client("")
	}
	return options
}

// ErrClusterAway: the node has been in its cluster, which cannot be asked now. Open it again later: nothing has
// changed but, it may be, that it is on record as joining.
var ErrClusterAway = errors.New("the node's cluster cannot be asked now")

// Away marks the error of a node that only has to wait: etcd cannot be asked, has not said what became of the node's
// registration, or has ended its session meanwhile. A node that comes for the first time does not wait: it may have
// been given the wrong address.
func (n *Node) Away(err error) error {
	if n == nil || !n.joined {
		return err
	}
	var state interface{ SQLState() string }
	unreachable := errors.As(err, &state) && state.SQLState() == "57P03"
	if unreachable || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrSessionOver) {
		return fmt.Errorf("%w: %w", ErrClusterAway, err)
	}
	return err
}

// follow keeps this node in the cluster until it is closed or fenced off, and takes it online. Requires: the
// regions of an earlier life are taken over.
func (n *Node) follow(ctx context.Context) error {
	if n.Self == nil {
		return nil
	}
	running, stop := context.WithCancel(context.Background())
	n.leave, n.left = stop, make(chan struct{})
	go func() {
		defer close(n.left)
		err := n.Catalog.Run(running)
		if running.Err() == nil {
			n.config.Log.Error("this node is out of the cluster", "error", err)
			close(n.out)
		}
	}()
	if err := n.Catalog.SetState(ctx, catalog.Online); err != nil {
		return err
	}
	n.config.Fault.At(faults.NodeOnline)
	return nil
}

// borrow maps a region that another node lends.
func (n *Node) borrow(id memregion.RegionID) error {
	record, ok := n.Catalog.Region(id)
	if !ok || record.Node == n.config.Node {
		return fmt.Errorf("%w: region %d is not mapped in this process", memregion.ErrRegionGone, id)
	}
	if err := n.Fabric.Accepts(record.Spec, record.Node); err != nil {
		return err
	}
	view, err := memregion.BorrowIn(n.Fabric.Domain, false, record.Spec)
	if err != nil {
		return fmt.Errorf("borrow region %d of node %s: %w", id, record.Node, err)
	}
	if err := n.Reader.Add(view, record.Trusted); err != nil {
		return errors.Join(err, view.Close())
	}
	n.views = append(n.views, view)
	return nil
}
