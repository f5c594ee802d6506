package refusal

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/coherence"
)

// Reason is why a call was refused, as counters are labelled.
type Reason string

// The reasons for which calls are refused and counted. What a correct peer may meet (a full region, a lease that is
// over) is not among them, except for the two limits.
const (
	// Expired: the certificate has expired since the connection began.
	Expired Reason = "expired"
	// Role: callers of this kind may not make this call.
	Role Reason = "role"
	// Argument: an argument is outside of its limits.
	Argument Reason = "argument"
	// Forged: the call is about a lease or memory of another process.
	Forged Reason = "forged"
	// Replayed: the call is about memory whose story is over.
	Replayed Reason = "replayed"
	// Former: the call is about memory that a former process of the lender granted, of whose end the caller need not
	// have heard.
	Former Reason = "former"
	// Gone: the caller's incarnation was declared dead.
	Gone Reason = "gone"
	// TooLarge: more was asked for in one call than is ever given.
	TooLarge Reason = "too_large"
	// Quota: the caller holds as much as one may.
	Quota Reason = "quota"
	// Descriptor: a peer named memory that is not its own.
	Descriptor Reason = "descriptor"
	// Checksum: a peer sealed other bytes than it wrote.
	Checksum Reason = "checksum"
	// Rate: the caller has as many calls under way as one may.
	Rate Reason = "rate"
)

var reasons = []Reason{
	Expired, Role, Argument, Forged, Replayed, Former, Gone, TooLarge, Quota, Descriptor,
	Checksum, Rate,
}

// TooMany is the one reason to refuse a connection that is not about certificates.
const TooMany = "too_many"

// Counters count and log refusals: the peer, the call and the reason. Safe for concurrent use.
type Counters struct {
	log         *slog.Logger
	connections map[string]*atomic.Uint64 // immutable
	calls       map[Reason]*atomic.Uint64 // immutable

	mu struct {
		sync.Mutex
		by         map[Kind]uint64
		second     int64 // which second it is
		lines      int   // that were logged in it
		suppressed int
	}
}

// Peer is the caller.
type Peer interface {
	// Label is the identity in its certificate, or the user at the other end of the socket; empty if neither is known.
	Label() string
	// ProcessID distinguishes the processes of one peer.
	ProcessID() string
}

// Kind is what refused calls are counted by: the peer, the call and the reason.
type Kind struct {
	Peer   string // its Label
	Call   string
	Reason Reason
}

// mostKinds bounds the kinds that are distinguished, so that no peer fills the memory with names; callsOfOthers are
// the rest.
const (
	mostKinds     = 512
	callsOfOthers = "(others)"
)

// logLinesPerSecond bounds what a hostile peer can write into the node's log; the counters have all.
const logLinesPerSecond = 20

// New makes counters that log to log (nil: slog.Default()).
func New(log *slog.Logger) *Counters {
	if log == nil {
		log = slog.Default()
	}
	r := &Counters{log: log, connections: map[string]*atomic.Uint64{TooMany: {}}, calls: map[Reason]*atomic.Uint64{}}
	r.mu.by = map[Kind]uint64{}
	for _, reason := range certificate.RefusalReasons {
		r.connections[reason] = &atomic.Uint64{}
	}
	for _, reason := range reasons {
		r.calls[reason] = &atomic.Uint64{}
	}
	return r
}

// Call counts and logs one refused call of a peer. what names the call and what it was about.
func (r *Counters) Call(ctx context.Context, reason Reason, p Peer, what string, err error) {
	if n := r.calls[reason]; n != nil {
		n.Add(1)
	}
	r.count(Kind{p.Label(), callOf(what), reason})
	if dropped, ok := r.mayLog(); ok {
		r.log.LogAttrs(ctx, slog.LevelWarn, "refused a call", slog.String("what", what), slog.String("reason", string(reason)), slog.Any("peer", p),
			slog.String("incarnation", p.ProcessID()), slog.Any("error", err), slog.Int("lines_left_out", dropped))
	}
}

// callOf is the call's name, with which what begins, as the protocol has it.
func callOf(what string) string {
	name, _, _ := strings.Cut(what, " ")
	name = strings.TrimSuffix(name, ",")
	if name == "" {
		return name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (r *Counters) count(kind Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.mu.by[kind]; !known && len(r.mu.by) >= mostKinds {
		kind = Kind{callsOfOthers, callsOfOthers, kind.Reason} // as many as there are reasons
	}
	r.mu.by[kind]++
}

// Connection counts and logs one refused connection.
func (r *Counters) Connection(from net.Addr, refusal certificate.Refusal) {
	n := r.connections[refusal.Reason]
	if n == nil {
		n = r.connections["other"]
	}
	n.Add(1)
	if refusal.Reason == "gone" {
		return // a port scan, a health check: no peer was refused
	}
	if dropped, ok := r.mayLog(); ok {
		r.log.LogAttrs(context.Background(), slog.LevelWarn, "refused a connection", slog.String("address", from.String()),
			slog.String("reason", refusal.Reason), slog.String("subject", refusal.Subject), slog.Any("error", refusal.Err), slog.Int("lines_left_out", dropped))
	}
}

// mayLog also returns how many lines were left out before.
func (r *Counters) mayLog() (dropped int, ok bool) {
	now := time.Now().Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.second != now {
		r.mu.second, r.mu.lines = now, 0
	}
	if r.mu.lines >= logLinesPerSecond {
		r.mu.suppressed++
		return 0, false
	}
	r.mu.lines++
	dropped, r.mu.suppressed = r.mu.suppressed, 0
	return dropped, true
}

// Each visits every counter in a fixed order; Sample.Step is the reason.
func (r *Counters) Each(visit func(coherence.Sample)) {
	for _, reason := range append([]string{TooMany}, certificate.RefusalReasons...) {
		visit(coherence.Sample{Name: "rpc_refused_connections_total", Step: reason, Help: "Connections refused, by reason.", Value: r.connections[reason].Load()})
	}
	for _, reason := range reasons {
		visit(coherence.Sample{Name: "rpc_refused_calls_total", Step: string(reason), Help: "Calls refused, by reason.", Value: r.calls[reason].Load()})
	}
}

// Calls is how many calls were refused for a reason.
func (r *Counters) Calls(reason Reason) uint64 { return r.calls[reason].Load() }

// By returns how many calls were refused, by kind.
func (r *Counters) By() map[Kind]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.mu.by)
}
