package node

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/wire"
)

// refuseGrace is how long connections that have not sent a request yet may take for it before the next server takes
// over the doors.
const refuseGrace = time.Second

// refuse refuses all connections at every door with the reason why, until stop is called.
func (d *doors) refuse(o Options, why *noderpc.Error) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	// Errors are ignored: the next server at the door runs into the same ones.
	options := noderpc.ServerOptions{Name: o.Node, Log: o.Log, Grace: refuseGrace, Refuse: func() *noderpc.Error { return why }}
	all.Go(func() { _ = noderpc.NewServer(nil, options).Serve(ctx, d.rpc.open()) })
	if d.remote != nil {
		certified := options
		credentials, err := certificate.Load(certificate.FilesIn(o.Certificates, certificate.RoleNode))
		if certified.Certificate = credentials; err == nil { // else clients wait: the node cannot start without it
			all.Go(func() { _ = noderpc.NewServer(nil, certified).Serve(ctx, d.remote.open()) })
		}
	}
	postgres := wire.NewServer(refusing{why}, wire.Options{ServerVersion: engine.Version, ShutdownGrace: refuseGrace, Logger: o.Log})
	for _, one := range d.postgres() {
		all.Go(func() { _ = postgres.Serve(ctx, one.open()) })
	}
	if d.http != nil {
		all.Go(func() {
			_ = serveRequests(ctx, d.http.open(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, why.Error(), http.StatusServiceUnavailable)
			}))
		})
	}
	return sync.OnceFunc(func() {
		end()
		all.Wait()
	})
}

// refusing is the backend of a node that is not up.
type refusing struct{ why *noderpc.Error }

// Open implements wire.Backend.
func (r refusing) Open(context.Context, wire.Startup) (wire.Session, error) { return nil, r.why }
