package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// BenchmarkAdoption opens a node over a region of 1 GB that a former process left: all of Open, then the verification of every byte,
// which is only done when it is asked for.
func BenchmarkAdoption(b *testing.B) {
	dir := shmDirectory(b)
	config := engine.Config{Directory: dir, RegionDirectory: dir, RegionBytes: 2 << 30}
	e, err := engine.Open(context.Background(), config)
	require.NoError(b, err)
	s := session(b, e)
	exec(b, s, "CREATE TABLE t AS SELECT i, i * 7 AS j FROM range(62500000) r(i)")
	used := e.RegionStats().Used
	require.NoError(b, s.Close())
	require.NoError(b, e.Close())
	var opening, verifying time.Duration
	for b.Loop() {
		start := time.Now()
		e, err := engine.Open(context.Background(), config)
		require.NoError(b, err)
		opening += time.Since(start)
		start = time.Now()
		require.NoError(b, e.VerifyChecksums(context.Background()))
		verifying += time.Since(start)
		require.Equal(b, used, e.RegionStats().Used)
		require.NoError(b, e.Close())
	}
	b.ReportMetric(float64(opening.Milliseconds())/float64(b.N), "ms/open")
	b.ReportMetric(float64(verifying.Milliseconds())/float64(b.N), "ms/verify")
	b.ReportMetric(float64(used)/1e9, "GB")
}
