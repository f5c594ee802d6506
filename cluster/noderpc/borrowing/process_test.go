package borrowing_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/memregion"
)

// writeFiles makes a node's certificate for a child.
func writeFiles(t testing.TB, a *certificate.Authority, name string) certificate.Files {
	pair, err := a.Issue(certificate.Identity{Role: certificate.RoleNode, Name: name}, certificate.IssueOptions{})
	require.NoError(t, err)
	directory := t.TempDir()
	require.NoError(t, pair.Write(directory))
	return certificate.FilesIn(directory, certificate.RoleNode)
}

func line(t testing.TB, r *bufio.Reader) string {
	text, err := r.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(text)
}

// lenderProcess starts a lender of its own and connects to it.
func lenderProcess(t testing.TB) (a arrangement, authority *certificate.Authority, client *noderpc.Client, view *memregion.View, stop func() string, kill func()) {
	authority = newAuthority(t)
	a.Spec = plan(t, 64*mebibyte)
	a.Files = writeFiles(t, authority, "lender")
	command, input, output := child(t, lenderRole, a)
	a.Address = line(t, output)
	own, err := certificate.Load(writeFiles(t, authority, "writer"))
	require.NoError(t, err)
	client, err = noderpc.Dial(ctx, a.Address, noderpc.WithTLS(own, "lender"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	view, err = memregion.Borrow(a.Spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, view.Close()) })
	stop = func() string {
		require.NoError(t, input.Close())
		used := line(t, output)
		require.NoError(t, command.Wait())
		return used
	}
	return a, authority, client, view, stop, func() { require.NoError(t, command.Process.Kill()); _ = command.Wait() }
}

// One process lends, this one writes into its memory, a third one reads in place what this one wrote.
func TestThreeProcesses(t *testing.T) {
	a, _, client, view, stop, _ := lenderProcess(t)
	require.False(t, view.Relocated())
	c := write(t, borrowing.NewSpace(client, view, borrowing.Options{}), 10_000)
	require.NoError(t, client.Publish(ctx, false, c.Extents()...))
	a.Chunk = c.Encoded()
	command, _, output := child(t, readerRole, a)
	require.Equal(t, "10000 49995000 row 8 false", line(t, output))
	require.NoError(t, command.Wait())
	require.Equal(t, fmt.Sprint(c.Bytes()), stop(), "the lender's account of it")
}

// A lender that dies while it is written to costs its writer an error.
func TestTheLenderIsKilled(t *testing.T) {
	_, _, client, view, _, kill := lenderProcess(t)
	space := borrowing.NewSpace(client, view, borrowing.Options{})
	w := chunk.NewWriter(space, "t", 0)
	built := batch(w.Allocator(), 1000)
	defer built.Release()
	kill()
	_, err := w.Seal(ctx, built, chunk.SealOptions{})
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	require.Equal(t, "08006", state(t, err))
	require.Len(t, space.Orphaned(), 1, "its next process is to be notified")
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for mapped := range bytes.Lines(maps) {
		require.False(t, bytes.Contains(mapped, []byte("rw-s")) && bytes.Contains(mapped, []byte(filepath.Base(filepath.Dir(view.Spec().Path)))), "R1: %s", mapped)
	}
	_, err = space.Grant("t", page)
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
}

// beSleeper takes an extent, says which, and stores into it at each line of its input.
func beSleeper(a arrangement) {
	own, err := certificate.Load(a.Files)
	must(err)
	client, err := noderpc.Dial(ctx, a.Address, noderpc.WithTLS(own, "lender"))
	must(err)
	view, err := memregion.Borrow(a.Spec)
	must(err)
	g, err := borrowing.NewSpace(client, view, borrowing.Options{}).Grant("t", mebibyte)
	must(err)
	fmt.Println(g.Range().Offset)
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		if orders.Text() == "seal" {
			fmt.Println(g.Clean(), g.Seal(sealOf(g.Range().Length)))
			continue
		}
		for i := range g.Bytes() {
			g.Bytes()[i] = 0xBA
		}
		fmt.Println("stored")
	}
}

// W3, with a process that really sleeps: it is declared dead, wakes up and stores. No other
// process' bytes are hit, and nothing of it can be published.
func TestAWriterIsDeclaredDeadAndStores(t *testing.T) {
	w := newWorld(t, 16*mebibyte)
	a := arrangement{Spec: w.view.Spec(), Address: w.address, Files: writeFiles(t, w.authority, "sleeper")}
	command, input, output := child(t, sleeperRole, a)
	at := line(t, output)
	require.NoError(t, command.Process.Signal(unix.SIGSTOP))
	departure := w.lending.PeerGone("sleeper", noderpc.Incarnation{})
	require.Equal(t, 1, departure.Quarantined)

	other := borrowing.NewSpace(w.dial(t, "other"), w.view, borrowing.Options{})
	var grants []chunk.Grant // as much as there is
	for {
		g, err := other.Grant("t", mebibyte)
		if err != nil {
			require.Equal(t, "53200", state(t, err))
			break
		}
		require.NotEqual(t, at, fmt.Sprint(g.Range().Offset))
		for i := range g.Bytes() {
			g.Bytes()[i] = 1
		}
		grants = append(grants, g)
	}
	require.Len(t, grants, 15)
	require.NoError(t, command.Process.Signal(unix.SIGCONT))
	for _, order := range []string{"store", "seal"} {
		_, err := fmt.Fprintln(input, order)
		require.NoError(t, err)
		said := line(t, output)
		if order == "seal" {
			require.Contains(t, said, "was declared dead")
		}
	}
	for _, g := range grants {
		require.Equal(t, bytes.Repeat([]byte{1}, mebibyte), g.Bytes())
		require.NoError(t, g.Abort())
	}
	w.lending.Sweep()
	require.EqualValues(t, mebibyte, w.lent.Stats().Used, "its process lives")
	require.NoError(t, command.Process.Kill())
	_ = command.Wait()
	w.lending.Sweep()
}
