package traffic

import (
	"errors"
	"net"
	"sync"
	"time"
)

// Count is how much was sent in one direction.
type Count struct{ Messages, Bytes int64 }

// Plus is the sum of two.
func (c Count) Plus(d Count) Count { return Count{c.Messages + d.Messages, c.Bytes + d.Bytes} }

// Minus is what c has more than d.
func (c Count) Minus(d Count) Count { return Count{c.Messages - d.Messages, c.Bytes - d.Bytes} }

// Counts are of all connections of a proxy so far.
type Counts struct{ ToServer, ToClient Count }

// Both is the sum of the directions.
func (c Counts) Both() Count { return c.ToServer.Plus(c.ToClient) }

// Minus is what c has more than d.
func (c Counts) Minus(d Counts) Counts {
	return Counts{c.ToServer.Minus(d.ToServer), c.ToClient.Minus(d.ToClient)}
}

// Proxy passes on what clients of its socket and a server say. Safe for concurrent use; end it with Close.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex // guards the rest
	target string     // the server's socket; empty: it is not there yet
	counts Counts
	moved  time.Time // when something was counted last
	open   map[net.Conn]bool
	closed bool
}

// Listen makes a proxy at a socket; the server comes with SetTarget. Until then connections are closed at once.
func Listen(socket string) (*Proxy, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, open: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// SetTarget says at which socket the server is.
func (p *Proxy) SetTarget(socket string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = socket
}

// Counts are what was sent so far, and when something was last.
func (p *Proxy) Counts() (c Counts, last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts, p.moved
}

// Close ends all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		err = errors.Join(err, ended(c.Close()))
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

// ended leaves out the error of a connection that was closed already.
func ended(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve passes on what the two sides of a connection say until one of them ends.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close() // both ends have been read to the end, or are given up
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("unix", target)
	if err != nil {
		return // the client sees that no server is there
	}
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, &frames{skip: preface}, func(c *Counts) *Count { return &c.ToServer }) })
	both.Go(func() { p.pass(client, server, &frames{}, func(c *Counts) *Count { return &c.ToClient }) })
	both.Wait()
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
	return !p.closed
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

// pass copies one direction to its end, and ends both.
func (p *Proxy) pass(to, from net.Conn, f *frames, direction func(*Counts) *Count) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if more := f.pass(buffer[:n]); more.Messages > 0 {
			p.mu.Lock()
			sum := direction(&p.counts)
			*sum, p.moved = sum.Plus(more), time.Now()
			p.mu.Unlock()
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
