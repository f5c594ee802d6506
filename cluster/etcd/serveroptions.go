package etcd

import (
	"log/slog"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// What ServerOptions default to.
const (
	DefaultQuotaBytes = 4 << 30
	DefaultHeartbeat  = 100 * time.Millisecond
	// DefaultHistory is how long etcd remembers changes: a watch that was cut off for less misses nothing (S6).
	DefaultHistory = 10 * time.Minute
	// DefaultMaintenance is how often a member looks after its database.
	DefaultMaintenance = 30 * time.Second
	// ClientSocket is the unix socket in the member's directory on which it listens by default.
	ClientSocket = "etcd.sock"
	// electionTicks is how many heartbeats a leader may miss.
	electionTicks = 10
	maxSocketPath = 100 // the kernel takes 107
)

// Files are where a member's certificate lies. It must name the hosts and addresses of the member: etcd checks them.
type Files struct {
	Authority   string // a peer with a certificate of this authority is let in, in either role
	Certificate string
	Key         string
}

// ServerOptions of Serve and Join.
type ServerOptions struct {
	// Directory is the member's own; it is made if need be. What is in it makes the member: it must not be lost, nor
	// put back to an earlier state, nor be used by two.
	Directory string
	// Name is the member's, unique in the cluster.
	Name string
	// ListenClient is host:port, with TLS if that is set, or unix:///path; empty: ClientSocket in the directory. Port 0
	// is a free one.
	ListenClient string
	// AdvertiseClient is how others reach ListenClient; empty: the same.
	AdvertiseClient string
	// ListenPeer is host:port; empty: a free port of 127.0.0.1, at which no other machine can join.
	ListenPeer string
	// AdvertisePeer is how others reach ListenPeer; empty: the same.
	AdvertisePeer string
	// InitialCluster has the advertised peer addresses, host:port by name, of all members that a new cluster begins
	// with; empty: this one alone. It must be the same for all, and counts only at the first start.
	InitialCluster map[string]string
	// Existing: the members of InitialCluster form a cluster already, of which this one was made a member. Join does
	// that.
	Existing bool
	// TLS and PeerTLS are for clients and for the other members. Without them only this machine's addresses are
	// allowed.
	TLS, PeerTLS *Files
	// QuotaBytes bounds etcd's database; 0: DefaultQuotaBytes.
	QuotaBytes int64
	// History is how long etcd remembers changes; 0: DefaultHistory.
	History time.Duration
	// Maintenance is how often the member looks whether its database is full or wasteful; 0: DefaultMaintenance.
	Maintenance time.Duration
	// Heartbeat between members, of which a leader may miss ten; it should be about the round trip between the farthest
	// two; 0: DefaultHeartbeat.
	Heartbeat time.Duration
	// Log receives etcd's warnings and errors; nil: not reported.
	Log *slog.Logger

	beforeListening func(ServerOptions) // of tests; nil otherwise
}

func (o ServerOptions) withDefaults() (ServerOptions, error) {
	var err error
	if o.Directory == "" || o.Name == "" {
		return o, badOption("a member needs a directory and a name, it has %q and %q", o.Directory, o.Name)
	}
	if o.Directory, err = filepath.Abs(o.Directory); err != nil {
		return o, badOption("directory %q: %v", o.Directory, err)
	}
	if o.ListenClient == "" {
		o.ListenClient = "unix://" + filepath.Join(o.Directory, ClientSocket)
	}
	if o.ListenPeer == "" {
		o.ListenPeer = "127.0.0.1:0"
	}
	if o.QuotaBytes == 0 {
		o.QuotaBytes = DefaultQuotaBytes
	}
	if o.History == 0 {
		o.History = DefaultHistory
	}
	if o.Maintenance == 0 {
		o.Maintenance = DefaultMaintenance
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.listenAddresses(); err != nil {
		return o, err
	}
	o.InitialCluster = maps.Clone(o.InitialCluster)
	if len(o.InitialCluster) == 0 {
		o.InitialCluster = map[string]string{o.Name: o.AdvertisePeer}
	}
	if own, ok := o.InitialCluster[o.Name]; !ok || own != o.AdvertisePeer {
		return o, badOption("the initial cluster %v does not have this member %s at %s", o.InitialCluster, o.Name, o.AdvertisePeer)
	}
	return o, nil
}

// listenAddresses checks the addresses and fills in free ports.
func (o *ServerOptions) listenAddresses() (err error) {
	if path, ok := strings.CutPrefix(o.ListenClient, "unix://"); ok {
		if len(path) > maxSocketPath || !filepath.IsAbs(path) {
			return badOption("unix socket %q: the path must be absolute and have at most %d bytes; choose another for the clients", path, maxSocketPath)
		}
	} else if o.ListenClient, err = listenAddress(o.ListenClient, o.TLS); err != nil {
		return err
	}
	if o.ListenPeer, err = listenAddress(o.ListenPeer, o.PeerTLS); err != nil {
		return err
	}
	if o.AdvertiseClient == "" {
		o.AdvertiseClient = o.ListenClient
	}
	if o.AdvertisePeer == "" {
		o.AdvertisePeer = o.ListenPeer
	}
	return nil
}

func listenAddress(address string, files *Files) (string, error) {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return "", badOption("address %q is not host:port: %v", address, err)
	case net.ParseIP(host) == nil:
		return "", badOption("address %q: listening needs an IP address, not a name", address)
	case files == nil && !loopback(host):
		return "", badOption("address %q can be reached from other machines, and there are no certificates: any client could change the catalog", address)
	case port != "0":
		return address, nil
	}
	return freePort(address)
}

// anyPort reports whether a free port is to be found.
func (o ServerOptions) anyPort() bool {
	return o.ListenPeer == "" || strings.HasSuffix(o.ListenPeer, ":0") || strings.HasSuffix(o.ListenClient, ":0")
}

// freePort is one that was free a moment ago: etcd must know its address before it listens.
func freePort(address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", badOption("address %q: %v", address, err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func scheme(files *Files) string {
	if files == nil {
		return "http"
	}
	return "https"
}

func (o ServerOptions) clientURL(address string) (url.URL, error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		return url.URL{Scheme: "unix", Path: path}, nil
	}
	return urlOf(scheme(o.TLS), address)
}

// endpoint is the client address as Options.Endpoints has it.
func (o ServerOptions) endpoint() string {
	if strings.HasPrefix(o.AdvertiseClient, "unix://") {
		return o.AdvertiseClient
	}
	return scheme(o.TLS) + "://" + o.AdvertiseClient
}

func (o ServerOptions) peerURL(address string) string { return scheme(o.PeerTLS) + "://" + address }

// config is what embed needs. Everything it has an opinion on and we have not, is left as it is.
func (o ServerOptions) config() (*embed.Config, error) {
	c := embed.NewConfig()
	c.Name, c.Dir = o.Name, o.Directory
	var errs [4]error
	one := func(u url.URL, err error, at int) []url.URL { errs[at] = err; return []url.URL{u} }
	u, err := o.clientURL(o.ListenClient)
	c.ListenClientUrls = one(u, err, 0)
	u, err = o.clientURL(o.AdvertiseClient)
	c.AdvertiseClientUrls = one(u, err, 1)
	u, err = urlOf(scheme(o.PeerTLS), o.ListenPeer)
	c.ListenPeerUrls = one(u, err, 2)
	u, err = urlOf(scheme(o.PeerTLS), o.AdvertisePeer)
	c.AdvertisePeerUrls = one(u, err, 3)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(o.InitialCluster)) {
		members = append(members, name+"="+o.peerURL(o.InitialCluster[name]))
	}
	c.InitialCluster, c.ClusterState = strings.Join(members, ","), embed.ClusterStateFlagNew
	if o.Existing {
		c.ClusterState = embed.ClusterStateFlagExisting
	}
	c.InitialClusterToken = "csmsql"
	c.TickMs, c.ElectionMs = uint(o.Heartbeat.Milliseconds()), uint(electionTicks*o.Heartbeat.Milliseconds())
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, o.History.String()
	c.QuotaBackendBytes = o.QuotaBytes
	c.ClientTLSInfo, c.PeerTLSInfo = o.TLS.info(), o.PeerTLS.info()
	c.TlsMinVersion = "TLS1.3"
	return c, nil
}

func (f *Files) info() transport.TLSInfo {
	if f == nil {
		return transport.TLSInfo{}
	}
	return transport.TLSInfo{CertFile: f.Certificate, KeyFile: f.Key, TrustedCAFile: f.Authority, ClientCertAuth: true}
}
