package enginetest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/anomaly"
	"github.com/csmsql/csmsql/internal/anomaly/workload"
)

// conversation is a session as workloads have it.
type conversation struct{ *engine.Session }

func (c conversation) Close() { _ = c.Session.Close() }

func (c conversation) Query(ctx context.Context, sql string) (list [][]string, err error) {
	if !strings.HasPrefix(sql, "SELECT") {
		_, err := c.Exec(ctx, sql)
		return nil, err
	}
	rows, err := c.Session.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	for rows.Next() {
		list = append(list, cells(rows.RecordBatch())...)
	}
	return list, rows.Err()
}

func cells(b arrow.RecordBatch) (list [][]string) {
	for i := range int(b.NumRows()) {
		row := make([]string, b.NumCols())
		for k := range row {
			if !b.Column(k).IsNull(i) {
				row[k] = cell(b.Column(k), i)
			}
		}
		list = append(list, row)
	}
	return list
}

// arena is where transactions run.
type arena struct {
	t        *testing.T
	engines  []*engine.Engine
	settings [][]string // each client has one of them
	with     []string   // what follows CREATE TABLE
	beside   []string
}

// TestAnomalies: no transaction sees what its level rules out, whatever others do beside it (E1, E4, K4, K5, K11, TR1
// to
// TR5). Rounds with concurrent clients alternate with rounds in which the seed decides which client asks when.
func TestAnomalies(t *testing.T) {
	for _, kind := range []struct {
		name string
		open func(*testing.T) *arena
	}{
		{"OneNode", func(t *testing.T) *arena {
			return &arena{t: t, engines: []*engine.Engine{openEngine(t)}}
		}},
		{"EmulatedFabric", func(t *testing.T) *arena {
			return &arena{t: t, engines: []*engine.Engine{openEngine(t, func(c *engine.Config) { c.Fabric = "emulated:7" })}}
		}},
		{"ThreeNodes", func(t *testing.T) *arena {
			n := openNodes(t)
			n.resize(3)
			f := &arena{
				t: t, settings: [][]string{nil, {"SET csm.distribute = always"}, {"SET csm.distribute = always", "SET csm.shuffle = always"}},
				with: []string{"", "WITH (placement = 'rows')", "WITH (placement = 'hash(k)')", "WITH (replicas = 2)"},
			}
			for _, node := range n.list {
				f.engines = append(f.engines, node.engine)
			}
			return f
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if testing.Short() && kind.name != "OneNode" {
				t.Skip("takes some seconds")
			}
			f := kind.open(t)
			for _, name := range workload.Tables() {
				f.beside = append(f.beside, "VACUUM "+name)
			}
			f.run(3 * time.Second)
		})
	}
}

func (f *arena) run(otherwise time.Duration) {
	duration, first := limits(f.t, otherwise)
	var all workload.Counts
	seed := first
	for start := time.Now(); time.Since(start) < duration && !f.t.Failed() || seed < first+2; seed++ {
		f.round(seed, &all)
	}
	f.t.Logf("seeds %d to %d: %v", first, seed-1, all)
	require.Greater(f.t, all.Transactions[anomaly.Committed], 2*all.Transactions[anomaly.Aborted]/3, "hardly anything is committed")
	require.Positive(f.t, all.States["40001"], "no transaction met another one")
	require.ElementsMatch(f.t, workload.Tables(), slices.Collect(maps.Keys(all.Appended)), "a table has no values")
	require.Greater(f.t, all.Values, all.Transactions[anomaly.Committed], "hardly anything is read")
}

// round is one history.
func (f *arena) round(seed uint64, all *workload.Counts) {
	ctx := f.t.Context()
	interleaved := seed%2 == 1
	w, err := workload.New(ctx, workload.Options{
		Seed: seed, Clients: 3 + int(seed/2)%6, Beside: f.beside,
		With: func(r *rand.Rand) string {
			if f.with == nil {
				return ""
			}
			return f.with[r.IntN(len(f.with))]
		},
		Open: func(ctx context.Context, client int) (workload.Session, error) {
			s, err := f.engines[client%len(f.engines)].Session(engine.SessionOptions{})
			if err != nil {
				return nil, err
			}
			settings := []string{"SET csm.dialect = 'postgres'"}
			if interleaved {
				settings = append(settings, "SET lock_timeout = '1ms'")
			}
			if f.settings != nil {
				settings = append(settings, f.settings[client/len(f.engines)%len(f.settings)]...)
			}
			for _, sql := range settings {
				if _, err := s.Exec(ctx, sql); err != nil {
					return nil, fmt.Errorf("%s: %w", sql, err)
				}
			}
			return conversation{s}, nil
		},
	})
	require.NoError(f.t, err, "seed %d", seed)
	defer w.Close()
	if interleaved {
		w.Interleaved(ctx, 600)
	} else {
		w.Concurrent(ctx, 30)
	}
	w.Look(ctx)
	all.Add(w.Counts())
	if err := w.Check(); err != nil {
		f.t.Errorf("seed %d (CSMSQL_SEED=%[1]d), interleaved %v: %v", seed, interleaved, err)
	}
}
