package etcd

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Kill ends the handle as the death of its process would: etcd is not notified.
func (s *Store) Kill() {
	s.die()
	s.session.join()
	_ = s.client.Close()
}

// Compact makes etcd forget what happened up to a revision.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	_, err := s.client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return err
}

// Use makes the handle connect elsewhere.
func (s *Store) Use(endpoints ...string) { s.client.SetEndpoints(endpoints...) }

// Unfollowed counts the keys that etcd sent to watches which do not want them.
func (s *Store) Unfollowed() int64 { return s.counts.unfollowed.Load() }

// Kill stops the member without a word to the others.
func (s *Server) Kill() error {
	s.etcd.Server.HardStop()
	return s.Close()
}

// Leads reports whether the member leads.
func (s *Server) Leads() bool { return s.etcd.Server.Leader() == s.etcd.Server.MemberID() }

// EndLease makes etcd end the session, of which the handle is not notified.
func (s *Store) EndLease(ctx context.Context) error {
	_, err := s.client.Revoke(ctx, s.session.lease)
	return err
}

// EndLeases has the server end the first so many leases of a handle that is to be opened, before their fence is
// written.
func EndLeases(t testing.TB, o *Options, server *Server, number int) {
	quiet := slog.New(slog.DiscardHandler)
	client, err := connect(Options{Endpoints: []string{server.Endpoint()}, Timeout: DefaultTimeout, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	o.beforeFence = func(lease clientv3.LeaseID) {
		if number--; number >= 0 {
			_, err := client.Revoke(t.Context(), lease)
			require.NoError(t, err)
		}
	}
}

// FreePort is freePort.
var FreePort = freePort

// Reads counts the keys that this process has read from its member without a connection.
func (s *Server) Reads() int64 { return s.reads.Load() }

// BeforeListening has take called before each attempt to listen, with the address for other members.
func BeforeListening(o *ServerOptions, take func(peer string)) {
	o.beforeListening = func(o ServerOptions) { take(o.ListenPeer) }
}

// Retention is how long etcd keeps former revisions, as its configuration has it.
func (s *Server) Retention() string { return s.etcd.Config().AutoCompactionRetention }
