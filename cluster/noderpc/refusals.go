package noderpc

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

// RefusalReason is why a call was refused, as counters are labelled.
type RefusalReason string

// The reasons for which calls are refused and counted. What an honest peer may meet (a full region, a lease that is over)
// is not among them, but for the two limits.
const (
	// RefusedExpired: the certificate has expired since the connection began.
	RefusedExpired RefusalReason = "expired"
	// RefusedRole: callers of this kind may not make this call.
	RefusedRole RefusalReason = "role"
	// RefusedArgument: an argument is outside of its limits.
	RefusedArgument RefusalReason = "argument"
	// RefusedForged: the call is about a lease or memory of somebody else.
	RefusedForged RefusalReason = "forged"
	// RefusedReplayed: the call is about memory whose story is over.
	RefusedReplayed RefusalReason = "replayed"
	// RefusedFormer: the call is about memory that a former process of the lender granted, of whose end the caller need not have heard.
	RefusedFormer RefusalReason = "former"
	// RefusedGone: the caller's incarnation was declared dead.
	RefusedGone RefusalReason = "gone"
	// RefusedTooLarge: more was asked for in one call than is ever given.
	RefusedTooLarge RefusalReason = "too_large"
	// RefusedQuota: the caller holds as much as one may.
	RefusedQuota RefusalReason = "quota"
	// RefusedDescriptor: a peer named memory that is not its own.
	RefusedDescriptor RefusalReason = "descriptor"
	// RefusedChecksum: a peer sealed other bytes than it wrote.
	RefusedChecksum RefusalReason = "checksum"
	// RefusedRate: the caller has as many calls under way as one may.
	RefusedRate RefusalReason = "rate"
)

var refusalReasons = []RefusalReason{
	RefusedExpired, RefusedRole, RefusedArgument, RefusedForged, RefusedReplayed, RefusedFormer, RefusedGone, RefusedTooLarge, RefusedQuota, RefusedDescriptor,
	RefusedChecksum, RefusedRate,
}

// refusedTooMany is the one reason to refuse a connection that is not about certificates.
const refusedTooMany = "too_many"

// Refusals counts and logs what was refused: who, what and why. Safe for concurrent use.
type Refusals struct {
	log         *slog.Logger
	connections map[string]*atomic.Uint64        // immutable
	calls       map[RefusalReason]*atomic.Uint64 // immutable

	mu struct {
		sync.Mutex
		by         map[RefusedCall]uint64
		second     int64 // which second it is
		lines      int   // that were logged in it
		suppressed int
	}
}

// RefusedCall is what one kind of refused call is counted by: who called, and what.
type RefusedCall struct {
	Peer   string // whom the certificate names, or the user at the other end of the socket; empty if neither is known
	Call   string
	Reason RefusalReason
}

// refusedKinds bounds the kinds that are told apart, so that nobody fills the memory with names; callsOfOthers are the rest.
const (
	refusedKinds  = 512
	callsOfOthers = "(others)"
)

// logLinesPerSecond bounds what a peer who means harm can write into the node's log; the counters have all.
const logLinesPerSecond = 20

// NewRefusals makes counters that log to log (nil: slog.Default()).
func NewRefusals(log *slog.Logger) *Refusals {
	if log == nil {
		log = slog.Default()
	}
	r := &Refusals{log: log, connections: map[string]*atomic.Uint64{refusedTooMany: {}}, calls: map[RefusalReason]*atomic.Uint64{}}
	r.mu.by = map[RefusedCall]uint64{}
	for _, reason := range certificate.RefusalReasons {
		r.connections[reason] = &atomic.Uint64{}
	}
	for _, reason := range refusalReasons {
		r.calls[reason] = &atomic.Uint64{}
	}
	return r
}

// Call counts and logs one refused call of a peer. what names the call and what it was about.
func (r *Refusals) Call(ctx context.Context, reason RefusalReason, p Peer, what string, err error) {
	if n := r.calls[reason]; n != nil {
		n.Add(1)
	}
	r.count(RefusedCall{p.label(), callOf(what), reason})
	if dropped, ok := r.mayLog(); ok {
		r.log.LogAttrs(ctx, slog.LevelWarn, "refused a call", slog.String("what", what), slog.String("reason", string(reason)), slog.Any("peer", p),
			slog.String("incarnation", p.Incarnation.String()), slog.Any("error", err), slog.Int("lines_left_out", dropped))
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

func (r *Refusals) count(kind RefusedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.mu.by[kind]; !known && len(r.mu.by) >= refusedKinds {
		kind = RefusedCall{callsOfOthers, callsOfOthers, kind.Reason} // as many as there are reasons
	}
	r.mu.by[kind]++
}

func (r *Refusals) connection(from net.Addr, refusal certificate.Refusal) {
	n := r.connections[refusal.Reason]
	if n == nil {
		n = r.connections["other"]
	}
	n.Add(1)
	if refusal.Reason == "gone" {
		return // a port scan, a health check: nobody was refused
	}
	if dropped, ok := r.mayLog(); ok {
		r.log.LogAttrs(context.Background(), slog.LevelWarn, "refused a connection", slog.String("address", from.String()),
			slog.String("reason", refusal.Reason), slog.String("subject", refusal.Subject), slog.Any("error", refusal.Err), slog.Int("lines_left_out", dropped))
	}
}

// mayLog also tells how many lines were left out before.
func (r *Refusals) mayLog() (dropped int, ok bool) {
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
func (r *Refusals) Each(visit func(coherence.Sample)) {
	for _, reason := range append([]string{refusedTooMany}, certificate.RefusalReasons...) {
		visit(coherence.Sample{Name: "rpc_refused_connections_total", Step: reason, Help: "Connections refused, by reason.", Value: r.connections[reason].Load()})
	}
	for _, reason := range refusalReasons {
		visit(coherence.Sample{Name: "rpc_refused_calls_total", Step: string(reason), Help: "Calls refused, by reason.", Value: r.calls[reason].Load()})
	}
}

// Calls is how many calls were refused for a reason.
func (r *Refusals) Calls(reason RefusalReason) uint64 { return r.calls[reason].Load() }

// By says who was refused what, and how often.
func (r *Refusals) By() map[RefusedCall]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.mu.by)
}
