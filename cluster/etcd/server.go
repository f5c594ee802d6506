package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/csmsql/csmsql/internal/filelock"
)

// ErrInUse: another process uses the member's directory.
var ErrInUse = errors.New("the etcd member's directory is in use")

// Server is a member of an etcd cluster in this process. Goroutines are etcd's own, and two of ours; Close joins them.
type Server struct {
	options ServerOptions
	etcd    *embed.Etcd
	lock    *os.File
	serving context.Context // done when Close begins
	stop    context.CancelFunc
	done    chan struct{}
	closing sync.Once

	maintaining sync.WaitGroup

	removed atomic.Bool // from its cluster, for ever

	reading sync.RWMutex // held by reads of this process; Close takes it, and keeps it
	reads   atomic.Int64 // of this process, that were answered

	mu     sync.Mutex
	reason error // guarded by mu
}

// Serve starts a member and waits until it takes part in its cluster, for which a majority of the members must be
// started: start the first ones of a cluster at once. When ctx ends before, the member is stopped again.
//
// What is promised to be durable is synced to disk. A disk that fails ends the process: a member that forgot what it
// agreed to would be worse than none. A database that was full, and is not with today's quota, accepts changes again when
// Serve returns (E7).
func Serve(ctx context.Context, options ServerOptions) (*Server, error) {
	s, err := start(options)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.announce(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	warned := s.healAtStart(ctx)
	s.maintaining.Go(func() { s.maintain(warned) })
	return s, nil
}

// announce reports to the others where they reach this member, if that is news: they remember where it was.
func (s *Server) announce(ctx context.Context) error {
	client := v3client.New(s.etcd.Server)
	defer func() { _ = client.Close() }() // it has no connection
	own, address := s.etcd.Server.MemberID(), []string{s.options.peerURL(s.options.AdvertisePeer)}
	err := tryUntil(ctx, func(ctx context.Context) (bool, error) {
		known := s.etcd.Server.Cluster().Member(own)
		if known == nil || slices.Equal(known.PeerURLs, address) {
			return true, nil
		}
		_, err := client.MemberUpdate(ctx, uint64(own), address)
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("tell etcd's other members where member %s is: %w", s.options.Name, err)
	}
	return nil
}

// portTries bounds how often a free port is looked for: another process may take it before etcd listens at it.
const portTries = 5

func start(options ServerOptions) (*Server, error) {
	for try := 1; ; try++ {
		s, err := startAt(options)
		if try == portTries || !options.anyPort() || !errors.Is(err, unix.EADDRINUSE) {
			return s, err
		}
	}
}

func startAt(options ServerOptions) (*Server, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	lock, err := lockDirectory(o.Directory)
	if err != nil {
		return nil, err
	}
	if o.beforeListening != nil {
		o.beforeListening(o)
	}
	s := &Server{options: o, lock: lock, done: make(chan struct{})}
	s.serving, s.stop = context.WithCancel(context.Background()) // the member outlives the call that started it
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger(o.Log, s.quiet))
	config.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainStreamInterceptor(s.endStreams)}
	if s.etcd, err = embed.StartEtcd(config); err != nil {
		s.stop()
		return nil, errors.Join(fmt.Errorf("start etcd member %s in %s: %w", o.Name, o.Directory, err), filelock.Give(lock))
	}
	go s.wait()
	return s, nil
}

// quiet is quietServer until Close begins: what breaks then is meant to.
func (s *Server) quiet(level zapcore.Level, message string) slog.Level {
	if message == "data-dir used by this member must be removed" { // nothing else shows that it hears from the others
		s.removed.Store(true)
	}
	if s.serving.Err() != nil && level < zapcore.DPanicLevel {
		return slog.LevelDebug
	}
	return quietServer(level, message)
}

// endStreams ends watches when Close begins: etcd would wait for the watchers to leave.
func (s *Server) endStreams(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	handle grpc.StreamHandler) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.serving, cancel)()
	return handle(srv, &boundStream{stream, ctx})
}

// boundStream is a stream with another context.
type boundStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (b *boundStream) Context() context.Context { return b.ctx }

const (
	lockName = "csmsql.lock"
	// lockWait is for a process that was killed and whose memory the kernel takes apart before its locks.
	lockWait = 2 * time.Second
)

// lockDirectory: etcd itself would wait for the other process without a word.
func lockDirectory(directory string) (*os.File, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("make the etcd member's directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(directory, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the etcd member's directory: %w", err)
	}
	for until := time.Now().Add(lockWait); ; time.Sleep(retryEvery) {
		err := filelock.Take(file)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, filelock.ErrTaken):
			return nil, errors.Join(fmt.Errorf("lock the etcd member's directory %s: %w", directory, err), file.Close())
		case time.Now().After(until):
			return nil, errors.Join(fmt.Errorf("%w: %s; stop the other server or choose another directory", ErrInUse, directory), file.Close())
		}
	}
}

// ready waits until the member takes part.
func (s *Server) ready(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return &Error{
			State: stateUnavailable, Cause: errors.Join(ErrUnavailable, ctx.Err()),
			Message:  fmt.Sprintf("etcd member %s did not become ready: a majority of %v must be started", s.options.Name, s.options.InitialCluster),
			HintText: "Start the other members, or look whether they reach each other at these addresses.",
		}
	}
}

// wait notices when the member stops by itself.
func (s *Server) wait() {
	defer close(s.done)
	var err error
	select {
	case err = <-s.etcd.Err():
	case <-s.etcd.Server.StopNotify():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == nil {
		s.reason = fmt.Errorf("etcd member %s stopped: %w", s.options.Name, errors.Join(errStopped, err))
		if s.removed.Load() {
			s.reason = fmt.Errorf("etcd member %s was taken out of its cluster for good, as “csmsql cluster forget” does: join again with a new data directory: %w", s.options.Name, errStopped)
		}
		s.options.Log.Error("the etcd member stopped", "name", s.options.Name, "error", err)
	}
}

var (
	errStopped = errors.New("it does not serve any more")
	errClosed  = errors.New("it was closed")
)

// read reads a key linearizably, as any client's read does, but without a connection. false: the member knows no
// leader, or ends, or ctx does.
func (s *Server) read(ctx context.Context, key string) (found []*mvccpb.KeyValue, ok bool) {
	if !s.reading.TryRLock() {
		return nil, false
	}
	defer s.reading.RUnlock()
	if s.etcd.Server.Leader() == 0 { // it would wait for one
		return nil, false
	}
	ctx, cancel := context.WithCancel(fromHere(ctx))
	defer cancel()
	defer context.AfterFunc(s.serving, cancel)()
	answer, err := s.etcd.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(key)})
	if err != nil {
		return nil, false
	}
	s.reads.Add(1)
	return answer.Kvs, true
}

// fromHere removes this process' gRPC caller from ctx: the member would take that for its own caller, and look for its
// certificate, though it may have come by a socket.
func fromHere(ctx context.Context) context.Context { return peer.NewContext(ctx, &peer.Peer{}) }

// Done is closed when the member does not serve any more, for whatever cause; Err says why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the member serves.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Endpoint is where clients reach the member, as Options.Endpoints wants it.
func (s *Server) Endpoint() string { return s.options.endpoint() }

// PeerAddress is where other members reach it, as ServerOptions.InitialCluster wants it.
func (s *Server) PeerAddress() string { return s.options.AdvertisePeer }

// Leave takes the member out of its cluster for ever and stops it; its directory is of no use afterwards. It fails, and
// the member stays, if the others could not go on without it.
func (s *Server) Leave(ctx context.Context) error {
	client := v3client.New(s.etcd.Server)
	defer func() { _ = client.Close() }() // it has no connection
	own := s.etcd.Server.MemberID()
	err := tryUntil(ctx, func(ctx context.Context) (bool, error) {
		if !s.etcd.Server.IsMemberExist(own) { // a member that hears of its own end stops, and may not answer
			return true, nil
		}
		_, err := client.MemberRemove(ctx, uint64(own))
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("take etcd member %s out of its cluster: %w", s.options.Name, err)
	}
	return s.Close()
}

// Close stops the member; if it leads, another one takes over first. Its directory stays.
func (s *Server) Close() (err error) {
	s.closing.Do(func() {
		s.mu.Lock()
		if s.reason == nil {
			s.reason = fmt.Errorf("etcd member %s: %w", s.options.Name, errClosed)
		}
		s.mu.Unlock()
		s.stop()
		s.maintaining.Wait() // a defragmentation under way ends first
		s.reading.Lock()     // for ever: nothing reads from what is closed
		s.etcd.Close()
		<-s.done
		err = filelock.Give(s.lock)
	})
	return err
}
