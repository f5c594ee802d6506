package lending

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Lines that this program never writes: what stands there may be outstanding, so nothing of the file is trusted.
func TestLinesThatAreRefused(t *testing.T) {
	const ended = `{"Ended":{"Region":1,"Generation":2}}`
	orphan := func(offset, length int64) string {
		return fmt.Sprintf(`{"Orphan":{"Extent":{"Region":1,"Generation":2},"Range":{"Offset":%d,"Length":%d}}}`, offset, length)
	}
	live, err := decodeJournal(strings.NewReader(orphan(4096, 8192) + "\n" + orphan(4096, 8192)))
	require.NoError(t, err)
	require.Len(t, live, 1)
	for _, line := range []string{
		"", "{}", "[]", "5", `{"Ended":{"Region":"x","Generation":2}}`, ended[1:], `{"Orphan":5,` + ended[1:], orphan(0, 4096)[:len(orphan(0, 4096))-1] + "," + ended[1:],
		orphan(-4096, 4096), orphan(1, 4096), orphan(0, 0), orphan(0, -4096), orphan(0, 1), orphan(math.MaxInt64-4095, 8192),
	} {
		_, err := decodeJournal(strings.NewReader(ended + "\n" + line + "\n" + ended + "\n"))
		require.ErrorContains(t, err, "line 2 is damaged", line)
	}
}

// W3: a machine that boots has none of the processes that ran on it; those of other machines go on, whatever their boot was, and store into a
// device that both share.
func TestWritersOfOtherMachinesOutliveABoot(t *testing.T) {
	here := noderpc.CurrentProcess()
	for _, c := range []struct {
		name           string
		lender, writer string // their boots when the extent was granted
		stays          bool
	}{
		{"the machine booted since, and the writer was on it", "before", "before", false},
		{"the machine booted since, and the writer is on another one", "before", "of another machine", true},
		{"the machine has not booted, and the writer is on another one", here.Boot, "of another machine", true},
		{"the machine has not booted, and the writer lives", here.Boot, here.Boot, true},
		{"it is not known where the writer is", here.Boot, "", true},
		{"a journal that does not say where the lender was", "", "of another machine", true},
	} {
		process := here
		process.Boot = c.writer
		o := Orphan{
			Extent: catalog.ExtentID{Region: 1, Generation: 2}, Range: memregion.Range{Length: memregion.PageSize}, Borrower: Borrower{"n2", noderpc.NewIncarnation()},
			Process: process, Boot: c.lender,
		}
		line, err := json.Marshal(entry{Orphan: &o})
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "journal")
		require.NoError(t, os.WriteFile(path, append(line, '\n'), 0o600))
		j, err := OpenJournal(path, func(catalog.ExtentID) bool { return false })
		require.NoError(t, err)
		require.Equal(t, c.stays, len(j.Orphans()) == 1, c.name)
		require.Equal(t, c.stays, len(j.Owned(1)) == 1, c.name)
		require.NoError(t, j.Close())
	}
}

// W3: what another machine may store into is on record before it may, also if this one is switched off then.
func TestGrantsToOtherMachinesAreSynced(t *testing.T) {
	j, err := OpenJournal(filepath.Join(t.TempDir(), "journal"), func(catalog.ExtentID) bool { return false })
	require.NoError(t, err)
	defer j.Close() //nolint:errcheck // a test's
	synced := 0
	j.sync = func(f *os.File) error {
		require.Same(t, j.file, f)
		synced++
		return nil
	}
	grantTo := func(generation coherence.Generation, boot string) error {
		process := noderpc.CurrentProcess()
		process.Boot = boot
		a := &account{Borrower: Borrower{"n2", noderpc.NewIncarnation()}, process: process}
		return j.granted(catalog.ExtentID{Region: 1, Generation: generation}, memregion.Range{Length: memregion.PageSize}, &grant{account: a}, coherence.Coherent)
	}
	require.NoError(t, grantTo(1, j.boot))
	require.Zero(t, synced, "its writer ends with this machine")
	require.NoError(t, grantTo(2, "of another machine"))
	require.Equal(t, 1, synced)
	require.NoError(t, grantTo(3, ""))
	require.Equal(t, 2, synced)
	j.sync = func(*os.File) error { return errors.New("the disk is gone") }
	require.ErrorContains(t, grantTo(4, "of another machine"), "the disk is gone")
	require.Len(t, j.live, 3, "what is not on record is not granted")
	require.ErrorContains(t, j.rewrite(), "the disk is gone")
	require.NoError(t, grantTo(5, j.boot))
}

// FuzzJournal: whatever is in the file, nothing panics, and no orphan lies where no region is.
func FuzzJournal(f *testing.F) {
	id := catalog.ExtentID{Region: 1, Generation: 2}
	line := func(e entry) []byte {
		data, err := json.Marshal(e)
		require.NoError(f, err)
		return append(data, '\n')
	}
	granted := line(entry{Orphan: &Orphan{Extent: id, Range: memregion.Range{Length: 4096}, Borrower: Borrower{"csmsql://node/a", noderpc.NewIncarnation()}, Process: noderpc.CurrentProcess()}})
	ended := line(entry{Ended: &id})
	for _, seed := range [][]byte{nil, granted, ended, append(granted, ended...), granted[:20], []byte("{}\n"), []byte(`{"Orphan":{"Range":{"Offset":-4096,"Length":4096}}}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		live, err := decodeJournal(bytes.NewReader(data))
		if err != nil {
			return
		}
		for id, o := range live {
			require.Equal(t, id, o.Extent)
			require.True(t, (memregion.Range{Length: 1<<63 - 1}).Contains(o.Range))
			require.Positive(t, o.Range.Length)
		}
	})
}
