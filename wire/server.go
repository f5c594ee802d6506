package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Defaults of Options, and bounds that need no setting.
const (
	MaxConnectionsDefault   = 100
	MaxMessageBytesDefault  = 64 << 20
	StartupTimeoutDefault   = 15 * time.Second
	ShutdownGraceDefault    = 5 * time.Second
	OutputBufferBytes       = 128 << 10 // rows are sent when this much has been encoded
	StatementsMax           = 10_000    // prepared statements of one connection
	PortalsMax              = 1_000     // open portals of one connection
	NoticesMax              = 1_000     // notices queued by one statement
	NoticesBytesMax         = 64 << 10  // bytes of them, and one more notice
	lobbyBeyondMax          = 32        // connections over the limit: being refused, or carrying a cancel request
	acceptRetryDelay        = 50 * time.Millisecond
	disconnectCheckInterval = time.Second
)

// Options configure a Server. The zero value is usable.
type Options struct {
	// ServerVersion is the number after "15.0 (csmsql " in server_version; empty means "dev".
	ServerVersion string
	// MaxConnections bounds the open sessions; further clients get 53300. 0 means MaxConnectionsDefault.
	MaxConnections int
	// MaxMessageBytes bounds one message of a client after start-up. 0 means MaxMessageBytesDefault.
	MaxMessageBytes int
	// StartupTimeout bounds the time from accept to the end of start-up. 0 means StartupTimeoutDefault.
	StartupTimeout time.Duration
	// ShutdownGrace is how long running statements may go on after Serve's context ended; then they are cancelled.
	// 0 means ShutdownGraceDefault.
	ShutdownGrace time.Duration
	// Logger gets connection-level events and recovered panics; nil means slog.Default.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.ServerVersion == "" {
		o.ServerVersion = "dev"
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = MaxConnectionsDefault
	}
	if o.MaxMessageBytes <= 0 {
		o.MaxMessageBytes = MaxMessageBytesDefault
	}
	if o.StartupTimeout <= 0 {
		o.StartupTimeout = StartupTimeoutDefault
	}
	if o.ShutdownGrace <= 0 {
		o.ShutdownGrace = ShutdownGraceDefault
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Server speaks the PostgreSQL protocol for one Backend, on any number of listeners at once.
type Server struct {
	backend  Backend       // immutable
	options  Options       // immutable
	registry registry      // has its own lock
	slots    chan struct{} // one token per session: bounds them (W2)
	lobby    lobby         // has its own lock
	calm     calm          // atomic
}

// NewServer makes a server; Serve starts it.
func NewServer(backend Backend, options Options) *Server {
	options = options.withDefaults()
	s := &Server{
		backend: backend,
		options: options,
		slots:   make(chan struct{}, options.MaxConnections),
		lobby:   lobby{most: options.MaxConnections + lobbyBeyondMax},
	}
	s.registry.init()
	return s
}

// Serve accepts connections until ctx ends or the listener fails, and returns when all its connections have ended
// (W3). The listener is closed. When ctx ends, idle clients get 57P01 at once; running statements may finish within
// Options.ShutdownGrace. Serve returns nil after a shutdown. It may be called for several listeners.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	var connections sync.WaitGroup
	defer connections.Wait()
	defer stop()
	closing := context.AfterFunc(ctx, func() { listener.Close() })
	defer closing()
	defer listener.Close()

	connections.Go(func() { s.watchDisconnects(ctx) })
	for {
		network, err := listener.Accept()
		if err == nil {
			if c := newConnection(s, network); s.lobby.enter(c) {
				connections.Go(func() { s.serveConnection(ctx, c) }) // also after ctx has ended: it gets the error
			} else {
				network.Close() // a flood of clients that are starting up. Not worth a goroutine.
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("accept a connection: %w", err)
			}
			// Out of descriptors or a connection that died in the queue: neither ends the server.
			s.options.Logger.Warn("accept failed", "error", err)
			pause(ctx, acceptRetryDelay)
		}
	}
}

// pause waits, or less if ctx ends.
func pause(ctx context.Context, delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
