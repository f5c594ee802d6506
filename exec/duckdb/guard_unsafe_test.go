package duckdb_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// D4: a file that is cut under a mapping gives zeros and a count, to DuckDB's threads and to Go, and no signal ends the process.
func TestGuardOutlivesTruncation(t *testing.T) {
	_, c := open(t)
	const rows = 1 << 20
	file, err := os.Create(filepath.Join(t.TempDir(), "region"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.Truncate(rows*8))
	mapped, err := unix.Mmap(int(file.Fd()), 0, rows*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(mapped)) }()
	for i := range rows {
		binary.LittleEndian.PutUint64(mapped[i*8:], 1)
	}
	// SAFETY: the mapping lives until the end of the test; only its address is taken.
	guard, err := duckdb.NewGuard(uintptr(unsafe.Pointer(&mapped[0])), rows*8)
	require.NoError(t, err)
	defer guard.Close()

	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	number := c.Register(scanOfData(schema, array.NewData(arrow.PrimitiveTypes.Int64, rows, []*memory.Buffer{nil, memory.NewBufferBytes(mapped)}, nil, 0, 0)))
	defer c.Forget(number)
	sum := fmt.Sprintf("SELECT sum(v) FROM csm_scan(%d)", number)
	require.Equal(t, []string{fmt.Sprint(rows)}, ask(t, c, sum))
	require.Zero(t, guard.Faults())

	require.NoError(t, file.Truncate(rows*4))
	require.Equal(t, []string{fmt.Sprint(rows / 2)}, ask(t, c, sum), "read by DuckDB's threads")
	faults := guard.Faults()
	require.Positive(t, faults)

	require.NoError(t, file.Truncate(4096))
	total := uint64(0)
	for i := range rows / 2 {
		total += binary.LittleEndian.Uint64(mapped[i*8:])
	}
	require.Equal(t, uint64(4096/8), total, "read by Go")
	require.Greater(t, guard.Faults(), faults)
}
