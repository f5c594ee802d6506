package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// A node that comes back reuses no memory while a borrower of its former process may trust its lease.
func TestANodeWaitsForLeasesOfItsFormerProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record := filepath.Join(dir, "leases.json")
	config := engine.Config{Directory: dir, RegionDirectory: shmDirectory(t), RegionBytes: 16 << 20, MemoryBytes: 256 << 20, LeaseTTL: time.Minute}
	e, err := engine.Open(t.Context(), config)
	require.NoError(t, err)
	require.NoFileExists(t, record, "no borrower")
	service := e.Service(noderpc.Frontend{})
	_, err = service.Lease(t.Context(), catalog.Holder{Domain: "far"})
	require.NoError(t, err)
	require.FileExists(t, record)
	require.NoError(t, e.Close())
	require.FileExists(t, record, "the borrower has not given its lease back")

	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = engine.Open(impatient, config)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	boot, err := memregion.BootID()
	require.NoError(t, err)
	until := noderpc.Now().Add(200 * time.Millisecond)
	require.NoError(t, os.WriteFile(record, fmt.Appendf(nil, `{"Boot":%q,"Until":%d}`, boot, int64(until)), 0o600))
	e, err = engine.Open(t.Context(), config)
	require.NoError(t, err)
	require.GreaterOrEqual(t, noderpc.Now(), until)
	service = e.Service(noderpc.Frontend{})
	lease, err := service.Lease(t.Context(), catalog.Holder{Domain: "far"})
	require.NoError(t, err)
	require.NoError(t, service.Release(t.Context(), lease.Lease))
	require.NoError(t, e.Close())
	require.NoFileExists(t, record, "the lease was given back")

	require.NoError(t, os.WriteFile(record, []byte(`{"Boot":"of a former life","Until":9000000000000000000}`), 0o600))
	e, err = engine.Open(t.Context(), config)
	require.NoError(t, err, "the machine has restarted, and so have all borrowers")
	require.NoError(t, e.Close())

	// Others may reach a device that outlives the boot of this machine, and trust what it had promised.
	require.NoError(t, os.WriteFile(record, []byte(`{"Boot":"of a former life","Until":1,"Long":60000000000}`), 0o600))
	impatient, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = engine.Open(impatient, config)
	require.ErrorIs(t, err, context.DeadlineExceeded, "borrowers on other machines may trust their leases")
	start := time.Now()
	require.NoError(t, os.WriteFile(record, []byte(`{"Boot":"of a former life","Until":1,"Long":200000000}`), 0o600))
	e, err = engine.Open(t.Context(), config)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)
	require.NoError(t, e.Close())

	require.NoError(t, os.WriteFile(record, []byte("?"), 0o600))
	_, err = engine.Open(t.Context(), config)
	require.ErrorContains(t, err, "damaged")
}
