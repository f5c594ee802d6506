package main_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/anomaly"
	"github.com/csmsql/csmsql/internal/anomaly/workload"
)

// client is a session over the wire, as workloads have it.
type client struct{ *pgx.Conn }

func (c client) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Conn.Close(ctx) // it may be broken
}

func (c client) Query(ctx context.Context, sql string) (rows [][]string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*statementMax)
	defer cancel()
	results, err := c.PgConn().Exec(ctx, sql).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = string(cell)
			}
			rows = append(rows, cells)
		}
		err = errors.Join(err, r.Err)
	}
	return rows, err
}

// leavesOpen reports whether an error is to be expected while something is broken: the statement's outcome is unknown
// to its client.
func leavesOpen(err error) bool {
	var pgError *pgconn.PgError
	return !errors.As(err, &pgError) || slices.Contains(expected, pgError.Code)
}

// TestAnomaliesOverTheWire: transactions are isolated as promised (E1, K4, K5, K11) whatever happens to the processes of a cluster, and
// what was acknowledged stays. CSMSQL_SOAK has it go on for so long.
func TestAnomaliesOverTheWire(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	duration, seed := soakFor(t, 10*time.Second)
	s := newSoak(t, seed, false)
	t.Logf("seed %d (CSMSQL_SEED=%[1]d CSMSQL_SOAK=%v)", seed, duration)
	require.NoError(t, s.members.heal())
	var all workload.Counts
	const round = 20 * time.Second // the longest that one history is
	for end := time.Now().Add(duration); time.Now().Before(end); s.seed++ {
		s.isolated(min(round, time.Until(end)), &all)
	}
	t.Logf("%v; the machine stood still or was crowded %d times", all, s.members.stalls.count.Load())
	require.Positive(t, all.Transactions[anomaly.Committed])
	require.Positive(t, all.Values)
}

// isolated has clients run transactions while things break, and looks at their history.
func (s *soak) isolated(duration time.Duration, all *workload.Counts) {
	ctx := s.t.Context()
	placements := []string{"", "WITH (placement = 'rows')", "WITH (placement = 'hash(k)')", "WITH (replicas = 2)"}
	w, err := workload.New(ctx, workload.Options{
		Seed: s.seed, Clients: 6, Unanswered: leavesOpen,
		With: func(r *rand.Rand) string { return placements[r.IntN(len(placements))] },
		Open: func(ctx context.Context, number int) (workload.Session, error) {
			ctx, cancel := context.WithTimeout(ctx, statementMax)
			defer cancel()
			conn, err := s.members.nodes[number%len(s.members.nodes)].connect(ctx)
			if err != nil {
				return nil, err
			}
			return client{conn}, nil
		},
	})
	require.NoError(s.t, err)
	defer w.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Concurrent(ctx, 1_000_000)
	}()
	done := s.breakThings(duration)
	w.Stop()
	<-ended
	s.require()
	w.Look(ctx)
	counts := w.Counts()
	all.Add(counts)
	s.t.Logf("seed %d: %v; %v", s.seed, done, counts)
	require.NoError(s.t, w.Check(), "seed %d", s.seed)
	for _, m := range s.members.nodes {
		require.Empty(s.t, m.complaints(), m.name)
	}
}
