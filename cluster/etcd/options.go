package etcd

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// What Options default to.
const (
	DefaultPrefix     = "csmsql/"
	DefaultSessionTTL = 10 * time.Second
	// MinSessionTTL is what etcd rounds up to with its usual election timeout of a second.
	MinSessionTTL = 2 * time.Second
	// MaxSessionTTL bounds how long the others wait for a process that died.
	MaxSessionTTL  = 10 * time.Minute
	DefaultTimeout = 5 * time.Second
)

// What one transaction takes. etcd's own limits are 128 operations, one of which is the session's fence, and 1.5 MiB
// for the whole request, in which keys count several times.
const (
	MaxOperations = 127
	MaxBytes      = 1280 << 10
)

// Options of Open.
type Options struct {
	// Endpoints are the members' client addresses: host:port, http://…, https://… or unix:///path. With several, calls
	// go on while a majority lives.
	Endpoints []string
	// TLS is used for every connection. Without it only this machine's addresses are allowed, unless Plaintext.
	TLS *tls.Config
	// Plaintext allows connections to other machines that can be read and changed on the way.
	Plaintext bool
	// Prefix is the root of all keys, so that several clusters may share an etcd; empty: DefaultPrefix.
	Prefix string
	// SessionTTL is how long the others wait for this process before they hold it for dead, in whole seconds; 0:
	// DefaultSessionTTL.
	SessionTTL time.Duration
	// Timeout bounds each call beside its context; 0: DefaultTimeout.
	Timeout time.Duration
	// Description shows operators whose session it is; it is stored in etcd.
	Description string
	// Log receives faults of the background; nil: not reported.
	Log *slog.Logger
	// Member is one of the same etcd in this process: while it knows a leader, single keys are read from it without a
	// connection, which takes a quarter of the time; nil: there is none. It is closed after the store.
	Member *Server
	// Fault is called at the fault points of sessions and commits; nil in production.
	Fault faults.Hook

	clock       func() instant         // bootTime; tests have another
	beforeFence func(clientv3.LeaseID) // of tests; nil otherwise
}

// withDefaults checks the options and fills in what they leave out.
func (o Options) withDefaults() (Options, error) {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.SessionTTL == 0 {
		o.SessionTTL = DefaultSessionTTL
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.clock == nil {
		o.clock = bootTime
	}
	o.Endpoints = slices.Clone(o.Endpoints)
	return o, o.check()
}

func (o Options) check() error {
	switch {
	case len(o.Endpoints) == 0:
		return badOption("no endpoint is given: name at least one member's client address, as in 127.0.0.1:2379")
	case o.SessionTTL < MinSessionTTL || o.SessionTTL > MaxSessionTTL || o.SessionTTL%time.Second != 0:
		return badOption("a session of %v: it must be %v to %v, in whole seconds", o.SessionTTL, MinSessionTTL, MaxSessionTTL)
	case o.Timeout < 0:
		return badOption("a timeout of %v is none", o.Timeout)
	}
	for _, endpoint := range o.Endpoints {
		if err := o.checkEndpoint(endpoint); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) checkEndpoint(endpoint string) error {
	scheme, address := "", endpoint
	if before, after, ok := strings.Cut(endpoint, "://"); ok {
		scheme, address = before, after
	}
	switch scheme {
	case "unix", "unixs":
		return nil
	case "", "http", "https":
	default:
		return badOption("endpoint %q: the scheme must be http, https or unix", endpoint)
	}
	host, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return badOption("endpoint %q is not host:port: %v", endpoint, err)
	case scheme == "http" && o.TLS != nil:
		return badOption("endpoint %q would be spoken to without TLS, though certificates are given: write https", endpoint)
	case scheme == "https" && o.TLS == nil:
		return badOption("endpoint %q needs certificates, and none are given", endpoint)
	case o.TLS == nil && !o.Plaintext && !loopback(host):
		return badOption("endpoint %q is not on this machine, and there are no certificates: the catalog could be read and changed on the way", endpoint)
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// limits of every transaction.
func limits() store.Limits { return store.Limits{Operations: MaxOperations, Bytes: MaxBytes} }

func urlOf(scheme, address string) (url.URL, error) {
	u, err := url.Parse(scheme + "://" + address)
	if err != nil {
		return url.URL{}, badOption("address %q: %v", address, err)
	}
	return *u, nil
}
