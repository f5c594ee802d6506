package worker

import (
	"context"
	"math"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// pairOfLinks are both ends of a socket.
func pairOfLinks(t *testing.T) (ours, theirs *link) {
	near, file, err := socketPair()
	require.NoError(t, err)
	far, err := net.FileConn(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	t.Cleanup(func() { near.Close(); far.Close() })
	return newLink(near), newLink(far.(*net.UnixConn))
}

func windowOf(t *testing.T) *window {
	w, err := newWindow()
	require.NoError(t, err)
	t.Cleanup(w.close)
	return w
}

// What a statement's end finds in the slots, read or not, is no hindrance to the next statement: it has them all.
func TestSlotsAreFreeWhenAStatementHasEnded(t *testing.T) {
	node, worker := pairOfLinks(t)
	r := &Result{
		process: &process{link: node}, number: 5, ended: func(*Result) {}, unwatch: func() bool { return true },
		begun: make(chan struct{}), severed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	b := everyType(t)
	for slot := range slots {
		r.add(b, readAheadBytes+1, slot)
	}
	require.Equal(t, []int{0, 1}, r.owed, "there is no room for what comes")
	require.NoError(t, r.begin(&Description{}))
	r.finish(nil, &report{Kind: reportEnd, Number: 5})
	require.Empty(t, r.owed)
	require.NoError(t, node.conn.CloseWrite())
	var freed []int
	for {
		o := &order{}
		if err := worker.in.Decode(o); err != nil {
			break
		}
		require.Equal(t, orderTaken, o.Kind)
		require.Equal(t, uint64(5), o.Number)
		freed = append(freed, o.Slot)
	}
	require.Equal(t, []int{0, 1}, freed)
}

// What does not fit in a slot is an error of its statement, at the worker, and the end of a worker that says it has one, at the node.
func TestBatchesThatAreLargerThanASlot(t *testing.T) {
	huge, err := unix.Mmap(-1, 0, slotBytes+bufferAlignment, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(huge)) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	full := &server{free: make(chan int)} // none of which gets free
	send := func(bytes int) error {
		data := array.NewData(arrow.PrimitiveTypes.Uint8, bytes, []*memory.Buffer{nil, memory.NewBufferBytes(huge[:bytes])}, nil, 0, 0)
		schema := arrow.NewSchema([]arrow.Field{{Name: "b", Type: arrow.PrimitiveTypes.Uint8}}, nil)
		return full.batch(&order{ctx: ctx}, array.NewRecordBatch(schema, []arrow.Array{array.NewUint8Data(data)}, int64(bytes)))
	}
	var failed *Failure
	require.ErrorAs(t, send(slotBytes), &failed)
	require.Equal(t, "57014", failed.State, "it waited for a slot")
	require.ErrorAs(t, send(slotBytes+1), &failed)
	require.Equal(t, "54000", failed.State)

	p := &process{window: windowOf(t)}
	for _, r := range []report{{Size: math.MaxInt64}, {Size: slotBytes + 1}, {Size: -1}, {Slot: slots}, {Slot: -1}} {
		_, err := p.batch(&r)
		require.ErrorContains(t, err, "in slot", "%+v", r)
	}
}

// What a large batch took of a slot goes back before the next one lies there; what a small one took stays, and so does the other slot's.
func TestSlotsGiveMemoryBack(t *testing.T) {
	w := windowOf(t)
	at, err := unix.Dup(int(w.file.Fd()))
	require.NoError(t, err)
	filled, err := mapWindow(os.NewFile(uintptr(at), "window"), unix.PROT_READ|unix.PROT_WRITE)
	require.NoError(t, err)
	t.Cleanup(filled.close)
	taken := func() int64 {
		var s unix.Stat_t
		require.NoError(t, unix.Fstat(at, &s))
		return s.Blocks * 512
	}
	fill := func(slot int, bytes int64) {
		for i := int64(0); i < bytes; i += 4096 {
			filled.slot(slot)[i] = 1
		}
	}
	fill(0, slotKeeps+4096)
	fill(1, slotKeeps)
	before := taken()
	require.NoError(t, filled.trim(1, slotKeeps))
	require.Equal(t, before, taken())
	require.NoError(t, filled.trim(0, slotKeeps+4096))
	require.Less(t, taken(), before)
	require.Zero(t, w.slot(0)[0])
	require.Equal(t, byte(1), w.slot(1)[0])
}

// Neither side can take away what the other one reads or writes, and the node writes nothing.
func TestAWindowStaysAsItIs(t *testing.T) {
	w := windowOf(t)
	fd := int(w.file.Fd())
	require.ErrorIs(t, unix.Ftruncate(fd, slotBytes), unix.EPERM)
	require.ErrorIs(t, unix.Ftruncate(fd, slots*slotBytes+4096), unix.EPERM)
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE)
	require.ErrorIs(t, err, unix.EPERM)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	found := 0
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "memfd:csmsql-worker") {
			found++
			require.Equal(t, "r--s", strings.Fields(line)[1], line)
		}
	}
	require.Equal(t, 1, found)
}
