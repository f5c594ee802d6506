package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveHTTP answers /metrics and /healthz until ctx ends.
func (n *serving) serveHTTP(ctx context.Context) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{node: n}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}))
	routes.HandleFunc("GET /healthz", n.health)
	return serveRequests(ctx, n.doors.http.open(), routes)
}

// serveRequests answers until ctx ends, and returns when no request is being answered (R2).
func serveRequests(ctx context.Context, listener net.Listener, handler http.Handler) error {
	requests := &requests{handler: handler}
	server := &http.Server{
		Handler: requests, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}
	defer requests.end()
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// requests counts those that are being answered: an http.Server that is closed does not wait for them.
type requests struct {
	handler http.Handler
	running sync.WaitGroup

	mu    sync.Mutex // guards ended
	ended bool
}

func (r *requests) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if !r.begin() {
		return // its connection is closed
	}
	defer r.running.Done()
	r.handler.ServeHTTP(w, request)
}

func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.running.Add(1)
	}
	return !r.ended
}

// end returns when no request is being answered, and none will be.
func (r *requests) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.running.Wait()
}

// health runs the shortest query that passes through the whole engine.
func (n *serving) health(w http.ResponseWriter, r *http.Request) {
	session, err := n.engine.Session(sessionOfHealth)
	if err == nil {
		_, err = session.Exec(r.Context(), "SELECT 1")
		err = errors.Join(err, session.Close())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok") // an error is a client that went away
}
