package workload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/anomaly"
	"github.com/csmsql/csmsql/internal/anomaly/workload"
)

// deaf is a database that does nothing: it answers everything with no rows, or with an error.
type deaf struct {
	mu    sync.Mutex
	asked []string
	says  func(sql string) error
}

type conversation struct {
	*deaf
	client int
}

func (c conversation) Close() {}

func (c conversation) Query(_ context.Context, sql string) ([][]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, fmt.Sprintf("%d: %s", c.client, sql))
	if c.says == nil {
		return nil, nil
	}
	return nil, c.says(sql)
}

func (d *deaf) run(t *testing.T, seed uint64, unanswered func(error) bool, do func(*workload.Workload)) *workload.Workload {
	w, err := workload.New(t.Context(), workload.Options{
		Seed: seed, Clients: 4, Unanswered: unanswered, Beside: []string{"VACUUM texts"},
		Open: func(_ context.Context, client int) (workload.Session, error) { return conversation{d, client}, nil },
	})
	require.NoError(t, err)
	defer w.Close()
	do(w)
	return w
}

func interleaved(t *testing.T) func(*workload.Workload) {
	return func(w *workload.Workload) { w.Interleaved(t.Context(), 500) }
}

// WL3.
func TestASeedSaysWhatIsAsked(t *testing.T) {
	var one, again, other deaf
	one.run(t, 1, nil, interleaved(t))
	again.run(t, 1, nil, interleaved(t))
	other.run(t, 2, nil, interleaved(t))
	require.Greater(t, len(one.asked), 500)
	require.Equal(t, one.asked, again.asked)
	require.NotEqual(t, one.asked, other.asked)
	all := strings.Join(one.asked, "\n")
	for _, word := range []string{
		"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "COMMIT", "ROLLBACK\n", "SAVEPOINT", "ROLLBACK TO", "FOR UPDATE", "UNION ALL",
		"VACUUM", "MERGE", "ON CONFLICT", "array_append", "DELETE FROM deletes", "DELETE FROM rewritten", "UPDATE marks", "), (",
	} {
		require.Contains(t, all, word)
	}
}

// A database that keeps nothing is found out.
func TestNothingIsKept(t *testing.T) {
	var d deaf
	w := d.run(t, 1, nil, interleaved(t))
	require.ErrorContains(t, w.Check(), "anomalies")
	require.ErrorContains(t, w.Check(), string(anomaly.LostAppend))
}

type stated string

func (s stated) Error() string    { return "it says " + string(s) }
func (s stated) SQLState() string { return string(s) }

// WL2.
func TestOutcomes(t *testing.T) {
	gone := errors.New("the connection is gone")
	for _, one := range []struct {
		name       string
		says       error
		of         string // what is said it of
		unanswered bool
		want       []anomaly.Outcome // all that there are
	}{
		{"all is well", nil, "", false, []anomaly.Outcome{anomaly.Committed, anomaly.Aborted}},
		{"a commit conflicts", stated("40001"), "COMMIT", false, []anomaly.Outcome{anomaly.Committed, anomaly.Aborted}},
		{"changes conflict", stated("40P01"), "UPDATE", false, []anomaly.Outcome{anomaly.Committed, anomaly.Aborted}},
		{"a commit is not answered", gone, "COMMIT", true, []anomaly.Outcome{anomaly.Committed, anomaly.Aborted, anomaly.Unknown}},
		{"nor is a change", gone, "UPDATE", true, []anomaly.Outcome{anomaly.Committed, anomaly.Aborted, anomaly.Unknown}},
		{"nor is a read", gone, "SELECT", true, []anomaly.Outcome{anomaly.Committed, anomaly.Aborted}},
	} {
		t.Run(one.name, func(t *testing.T) {
			d := deaf{says: func(sql string) error {
				if one.of != "" && strings.HasPrefix(sql, one.of) {
					return one.says
				}
				return nil
			}}
			w := d.run(t, 3, func(err error) bool { return one.unanswered && errors.Is(err, gone) }, interleaved(t))
			counts := w.Counts()
			var outcomes []anomaly.Outcome
			for outcome, n := range counts.Transactions {
				require.Positive(t, n)
				outcomes = append(outcomes, outcome)
			}
			require.ElementsMatch(t, one.want, outcomes, "%v", counts)
			require.NotContains(t, fmt.Sprint(w.Check()), "it says", "these errors are fair")
		})
	}
}

// An error that is none of conflicts ends the run, and Check returns it.
func TestErrorsAreReported(t *testing.T) {
	d := deaf{says: func(sql string) error {
		if strings.HasPrefix(sql, "DELETE") {
			return stated("XX000")
		}
		return nil
	}}
	w := d.run(t, 1, nil, func(w *workload.Workload) { w.Concurrent(t.Context(), 100) })
	require.ErrorContains(t, w.Check(), "it says XX000")
	require.ErrorContains(t, w.Check(), "DELETE")
}
