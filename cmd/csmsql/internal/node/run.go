package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/frontend"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/wire"
)

// shutdownGrace is how long running statements and loads may go on after the node was asked to stop.
const shutdownGrace = 3 * time.Second

// stuckAfter is how long they may take after that, though they were cancelled: DuckDB may work for hours on one value.
const stuckAfter = 4 * time.Second

// Ready says how the node can be reached, and what it has.
type Ready struct {
	Frontend noderpc.Frontend
	Data     string
	HTTP     string // host:port, or empty
	Status   noderpc.Status
}

// Run opens a node and serves it until ctx ends or a listener fails. ready is called when everything answers: after the
// first start, and after each restart, because the cluster had fenced the node off or DuckDB had failed. A node that
// has been in its cluster before waits without limit for an etcd that cannot be asked.
func Run(ctx context.Context, options Options, ready func(Ready)) (err error) {
	options, err = options.complete()
	if err != nil {
		return err
	}
	d, err := openDoors(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	l := &life{doors: d}
	for {
		err := l.run(ctx, options, ready)
		switch {
		case ctx.Err() != nil:
			return err
		case errors.Is(err, catalog.ErrFenced):
			options.Log.Warn("the node restarts because the cluster gave it up", "error", err)
		case errors.Is(err, engine.ErrFailed):
			options.Log.Error("the node restarts because DuckDB accepts no statements any more; its tables stay", "error", err)
		case errors.Is(err, engine.ErrClusterAway):
			options.Log.Warn("the node cannot start yet because its cluster cannot be asked; trying again", "error", err)
			l.waitsFor = err
			stop := l.doors.refuse(options, l.away(options.Node))
			select {
			case <-ctx.Done():
				stop()
				return err
			case <-time.After(retryPause):
				stop()
			}
		default:
			return err
		}
	}
}

// retryPause is before a node tries again to join.
const retryPause = time.Second

// life is a node from its first start to its end.
type life struct {
	doors    *doors
	ends     bool     // it was asked to stop
	out      error    // why it restarts; nil: it has not been up
	waitsFor error    // why it could not start yet
	knew     []string // the cluster's nodes when it was last up, with their states
}

// away is the error that clients get while the node is not up.
func (l *life) away(name string) *noderpc.Error {
	if l.ends {
		return &noderpc.Error{State: "57P03", Message: fmt.Sprintf("node %s is shutting down", name), HintText: "Ask another node, or start it again."}
	}
	e := &noderpc.Error{State: "57P03", Message: fmt.Sprintf("node %s starts, and answers when it is up", name)}
	if l.out != nil {
		e.Message = fmt.Sprintf("node %s is restarting, and answers when it is up again: %v", name, l.out)
		e.DetailText = "When it was last up it knew of " + strings.Join(l.knew, ", ") + "."
	}
	if len(l.knew) == 0 {
		e.DetailText = ""
	}
	if l.waitsFor != nil {
		e.Message += fmt.Sprintf("; it waits: %v", l.waitsFor)
	}
	e.HintText = "Ask another node, or ask again."
	return e
}

func (l *life) run(ctx context.Context, options Options, ready func(Ready)) (err error) {
	away := func() {}
	if l.out != nil || l.waitsFor != nil { // at its first start it is up soon: clients wait
		away = l.doors.refuse(options, l.away(options.Node))
	}
	defer func() { away() }()
	config := options.engine()
	config.Cluster = options.cluster(l.doors)
	e, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	away()
	err = newServing(options, l.doors, e).serve(ctx, ready)
	l.knew, l.waitsFor, l.out = knownBy(e), nil, err
	l.ends = ctx.Err() != nil
	away = l.doors.refuse(options, l.away(options.Node)) // while the engine is closed
	return err
}

// knownBy are the nodes that a node knows of.
func knownBy(e *engine.Engine) (list []string) {
	if cluster := e.Figures().Cluster; cluster != nil {
		for _, m := range cluster.Members {
			list = append(list, fmt.Sprintf("%s (%v)", m.Name, m.State))
		}
	}
	return list
}

// warnOfAbandoned logs once which files beside the node's region take memory and have no owner: a data directory that
// is removed leaves its region.
func (n *serving) warnOfAbandoned(s noderpc.Status) {
	for _, region := range s.Regions {
		if region.Gone != "" {
			continue
		}
		found, err := member.Abandoned(filepath.Dir(region.Path), n.options.Data, s.Node.Catalog)
		if err != nil || len(found) == 0 {
			continue // not this node's trouble
		}
		var bytes int64
		for _, f := range found {
			bytes += f.Bytes
		}
		n.options.Log.Warn("regions whose data directories are gone take memory; “csmsql status” lists them all", "regions", len(found),
			"size", bytesize.Size(bytes).String(), "for example", "rm "+found[0].Path)
	}
}

// messageBytes bounds a client's message by the node's memory: one is held whole, and a hundred clients may send some.
func messageBytes(e *engine.Engine) int {
	const part, least = 16, 4 << 20
	return int(min(max(e.MemoryBytes()/part, least), wire.MaxMessageBytesDefault))
}

// serving is a node that is open.
type serving struct {
	options  Options
	doors    *doors
	engine   *engine.Engine
	backend  *frontend.Backend
	frontend noderpc.Frontend
}

// hasten calls Options.Stuck if the node has not stopped shutdownGrace + stuckAfter after the end of ctx. The returned
// function says that it has stopped.
func (n *serving) hasten(ctx context.Context) (stop func()) {
	if n.options.Stuck == nil {
		return func() {}
	}
	ended := make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		select {
		case <-ended:
		case <-time.After(shutdownGrace + stuckAfter):
			n.options.Stuck()
		}
	})
	return func() {
		unwatch()
		close(ended)
	}
}

func newServing(options Options, d *doors, e *engine.Engine) *serving {
	n := &serving{options: options, doors: d, engine: e, backend: frontend.New(e, options.Log)}
	n.frontend.SocketDirectory = options.Data
	if d.tcp != nil {
		n.frontend.Address = d.tcp.listener.Addr().String()
	}
	return n
}

func (n *serving) serve(ctx context.Context, ready func(Ready)) error {
	defer n.hasten(ctx)()
	group, ctx := errgroup.WithContext(ctx)
	postgres := wire.NewServer(n.backend, wire.Options{
		ServerVersion: engine.Version, MaxMessageBytes: messageBytes(n.engine), ShutdownGrace: shutdownGrace, Logger: n.options.Log,
	})
	for _, d := range n.doors.postgres() {
		group.Go(func() error { return postgres.Serve(ctx, d.open()) })
	}
	options := n.engine.ServerOptions()
	options.Grace = shutdownGrace
	rpc := noderpc.NewServer(n.engine.Service(n.frontend), options)
	for _, d := range present(n.doors.rpc, n.doors.remote) {
		group.Go(func() error { return rpc.Serve(ctx, d.open()) })
	}
	group.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-n.engine.Fenced():
			return catalog.ErrFenced
		case <-n.engine.Failed():
			return engine.ErrFailed
		}
	})
	state := Ready{Frontend: n.frontend, Data: n.options.Data, Status: n.engine.Status(n.frontend)}
	if n.doors.http != nil {
		state.HTTP = n.doors.http.listener.Addr().String()
		group.Go(func() error { return n.serveHTTP(ctx) })
	}
	if ready != nil {
		ready(state)
	}
	group.Go(func() error {
		if err := n.engine.MakeFunctions(); err != nil {
			n.options.Log.Warn("PostgreSQL's functions are not made yet; the first statement that calls some tries again",
				"error", err)
		}
		return nil
	})
	n.warnOfAbandoned(state.Status)
	err := group.Wait()
	n.backend.Wait()
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
