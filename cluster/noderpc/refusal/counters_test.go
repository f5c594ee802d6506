package refusal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
)

type peer string

func (p peer) Label() string     { return string(p) }
func (p peer) ProcessID() string { return "7" }

var errRefused = errors.New("refused")

// A kind has the name of the call as the protocol has it, without what the call was about.
func TestKinds(t *testing.T) {
	for what, call := range map[string]string{
		"grant of 5 bytes": "Grant", "free, ticket 3": "Free", "seal": "Seal", "": "",
	} {
		r := refusal.New(slog.New(slog.DiscardHandler))
		r.Call(context.Background(), refusal.Forged, peer("n2"), what, errRefused)
		require.Equal(t, map[refusal.Kind]uint64{{Peer: "n2", Call: call, Reason: refusal.Forged}: 1}, r.By(), what)
	}
}

// RF1: names that a peer makes up take no memory without end, and are still counted.
func TestKindsAreBounded(t *testing.T) {
	r := refusal.New(slog.New(slog.DiscardHandler))
	const many = 2000
	for i := range many {
		r.Call(context.Background(), refusal.Role, peer(fmt.Sprint("n", i)), "grant", errRefused)
	}
	by := r.By()
	require.Less(t, len(by), many/2)
	sum := uint64(0)
	for _, n := range by {
		sum += n
	}
	require.EqualValues(t, many, sum)
	require.Positive(t, by[refusal.Kind{Peer: "(others)", Call: "(others)", Reason: refusal.Role}])
	require.EqualValues(t, many, r.Calls(refusal.Role))
}

// RF1: the log has so many lines a second; the counters have all.
func TestTheLogIsBounded(t *testing.T) {
	var log bytes.Buffer
	r := refusal.New(slog.New(slog.NewTextHandler(&log, nil)))
	const many = 500 // in less than twelve seconds
	for range many {
		r.Call(context.Background(), refusal.Quota, peer("n2"), "grant", errRefused)
	}
	require.Positive(t, strings.Count(log.String(), "refused a call"))
	require.Less(t, strings.Count(log.String(), "refused a call"), many/2)
	require.EqualValues(t, many, r.Calls(refusal.Quota))
}

// A connection is counted by its reason, one that no counter knows as another; one that went before it said anything is
// not worth a line.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		reason, counted string
		logged          bool
	}{{"expired", "expired", true}, {"nonsense", "other", true}, {refusal.TooMany, refusal.TooMany, true}, {"gone", "gone", false}} {
		var log bytes.Buffer
		r := refusal.New(slog.New(slog.NewTextHandler(&log, nil)))
		r.Connection(&net.TCPAddr{}, certificate.Refusal{Reason: c.reason, Err: errRefused})
		counted := map[string]uint64{}
		r.Each(func(s coherence.Sample) {
			if s.Value > 0 {
				counted[s.Step] = s.Value
			}
		})
		require.Equal(t, map[string]uint64{c.counted: 1}, counted, c.reason)
		require.Equal(t, c.logged, strings.Contains(log.String(), "refused a connection"), c.reason)
	}
}
