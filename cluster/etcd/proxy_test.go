package etcd_test

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between clients and a member and does to their connections what networks do.
type proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	open    *sync.Cond // that stalled may have changed
	stalled bool
	closed  bool
	links   map[*link]bool
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn

	mu     sync.Mutex
	marker []byte        // what to look for in what the client sends
	held   []byte        // what is not forwarded since the marker was looked for
	found  chan struct{} // closed when the marker was seen; from then on everything from the client is dropped
	back   []byte        // what the server sent since held was let go
	wanted []byte        // what to look for in it
	came   chan struct{} // closed when it was seen
}

func newProxy(t testing.TB, target string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{target: target, listener: listener, links: map[*link]bool{}}
	p.open = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.open.Broadcast()
		_ = listener.Close()
		p.cut()
		p.running.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		p.running.Go(func() { p.copy(l, client, server, l.request) })
		p.running.Go(func() { p.copy(l, server, client, l.answer) })
	}
}

func (p *proxy) copy(l *link, from, to net.Conn, filter func([]byte) []byte) {
	defer l.ended()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.stalled && !p.closed { // the peer's kernel still takes bytes
			p.open.Wait()
		}
		p.mu.Unlock()
		if b := filter(buffer[:n]); len(b) > 0 {
			if _, err := to.Write(b); err != nil && from == l.client {
				return
			}
		}
	}
}

// ended: one end was closed. What is held outlives its sender.
func (l *link) ended() {
	l.mu.Lock()
	holding := l.marker != nil
	l.mu.Unlock()
	if !holding {
		l.cut()
	}
}

func (l *link) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// cut breaks all connections; new ones are possible.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
	clear(p.links)
}

// stall lets nothing through, in no direction, as if the peer were frozen; false: go on.
func (p *proxy) stall(stalled bool) {
	p.mu.Lock()
	p.stalled = stalled
	p.mu.Unlock()
	p.open.Broadcast()
}

// hold keeps what clients send on the connections there are, up to where the marker is seen; what comes after is lost.
// The link on which it was seen is sent.
func (p *proxy) hold(marker string) <-chan *link {
	seen := make(chan *link, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.mu.Lock()
		l.marker, l.found = []byte(marker), make(chan struct{})
		found := l.found
		l.mu.Unlock()
		p.running.Go(func() {
			<-found
			seen <- l
		})
	}
	return seen
}

func (l *link) request(b []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marker == nil {
		return b
	}
	select {
	case <-l.found:
		return nil
	default:
	}
	l.held = append(l.held, b...)
	if bytes.Contains(l.held, l.marker) {
		close(l.found)
	}
	return nil
}

func (l *link) answer(b []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted == nil {
		return b
	}
	l.back = append(l.back, b...)
	if bytes.Contains(l.back, l.wanted) {
		close(l.came)
		l.wanted = nil
	}
	return b
}

// release sends what was held. The channel is closed when the server's answers contain what is wanted.
func (l *link) release(t *testing.T, wanted string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted, l.came = []byte(wanted), make(chan struct{})
	_, err := l.server.Write(l.held)
	require.NoError(t, err)
	return l.came
}
