package memregion_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/memregion"
)

// strangerVariable makes this test binary a process that does something to other people's files, see strange.
const strangerVariable = "MEMREGION_TEST_STRANGER"

// deeds are what strangers do to the first mebibyte of a file, each of which changes byte 5000.
var deeds = map[string]func(file *os.File) error{
	"write": func(file *os.File) error {
		_, err := file.WriteAt([]byte{77}, 5000)
		return err
	},
	"cut off and make long again": func(file *os.File) error {
		st, err := file.Stat()
		must(err)
		must(file.Truncate(100))
		return file.Truncate(st.Size())
	},
	"punch": func(file *os.File) error {
		return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4096, 4096)
	},
	"store": func(file *os.File) error {
		memory, err := unix.Mmap(int(file.Fd()), 0, mebibyte, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		must(err)
		memory[5000]++ // after a load, so without a page fault
		return unix.Munmap(memory)
	},
}

// errand is a request to a stranger: to open the file, to do the deeds, and to close it.
type errand struct {
	Path  string
	Deeds []string
}

// beStranger runs errands until its parent is gone.
func beStranger() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var e errand
		if in.Decode(&e) != nil {
			os.Exit(0)
		}
		file, err := os.OpenFile(e.Path, os.O_RDWR, 0)
		must(err)
		for _, deed := range e.Deeds {
			must(deeds[deed](file))
		}
		must(file.Close())
		must(out.Encode("done"))
	}
}

// stranger is one other process for all tests, since starting one takes long under the race detector.
var stranger = sync.OnceValues(func() (tell func(errand) error, err error) {
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), strangerVariable+"=1")
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	encoder, decoder := json.NewEncoder(in), json.NewDecoder(out)
	return func(e errand) error {
		var answer string
		return errors.Join(encoder.Encode(e), decoder.Decode(&answer))
	}, process.Start()
})

// strange lets another process do the deeds, and returns when it has closed the file.
func strange(t testing.TB, spec memregion.Spec, words ...string) {
	t.Helper()
	tell, err := stranger()
	require.NoError(t, err)
	require.NoError(t, tell(errand{spec.Path, words}))
}

// watched lends a region with something in it, that is watched by kind, and lets it come to rest; it skips where the kernel refuses.
func watched(t *testing.T, spec memregion.Spec, kind memregion.WatchKind) (*memregion.Lent, memregion.Range) {
	t.Helper()
	l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: mebibyte})
	memregion.WatchBy(l, kind)
	if l.View().Watch() != kind {
		t.Skipf("this kernel does not let us watch a file by %s", kind)
	}
	r := allocate(t, l, mebibyte)
	fill(l.Bytes(r), 1)
	require.NoError(t, l.Protect(r))
	rest(t, l.View())
	return l, r
}

// rest waits until a region that is watched by times would notice nothing, since the last change is long enough ago.
func rest(t *testing.T, v *memregion.View) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := v.Look()
		return v.Look() == before
	}, 5*time.Second, 5*time.Millisecond)
}

var watchKinds = []memregion.WatchKind{memregion.WatchProcess, memregion.WatchEvents, memregion.WatchTimes}

// TestOthersAreNoticed attacks M12: whatever another process did is counted by the next look, of the lender and of a borrower; and
// only once.
func TestOthersAreNoticed(t *testing.T) {
	for fabric, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		for _, kind := range watchKinds {
			t.Run(fabric+"/"+string(kind), func(t *testing.T) {
				spec := plan(t, 16*mebibyte)
				l, r := watched(t, spec, kind)
				borrower := borrow(t, spec)
				memregion.BorrowBy(borrower, kind)
				for word := range deeds {
					if kind == memregion.WatchTimes && word == "store" {
						continue // a store after a load changes no time
					}
					for _, v := range []*memregion.View{l.View(), borrower} {
						rest(t, v)
						before := v.Look()
						strange(t, spec, word)
						require.Greater(t, v.Look(), before, "%s", word)
						require.Equal(t, v.Look(), v.Alterations())
					}
				}
				require.NotEqual(t, byte(1+5000%256), l.Bytes(r)[5000])
				require.Equal(t, l.Stats().Alterations, l.View().Alterations())
				require.Equal(t, kind, l.Stats().Watch)
			})
		}
	}
}

// TestALendersOwnWorkIsNoAlteration: M12, the other half: what a lender does is not counted where the kernel says which
// process did it, also while others are looking.
func TestALendersOwnWorkIsNoAlteration(t *testing.T) {
	spec := shmSpec(t, 64*mebibyte)
	l, first := watched(t, spec, memregion.WatchProcess)
	stop := make(chan struct{})
	var lookers sync.WaitGroup
	for range 4 {
		lookers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					l.View().Look()
				}
			}
		})
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	var live []memregion.Range
	for range 400 {
		switch {
		case len(live) > 0 && r.IntN(2) == 0:
			i := r.IntN(len(live))
			require.NoError(t, l.Free("t", live[i]))
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		default:
			x, err := l.Allocate("t", 1+r.Int64N(2*mebibyte))
			if err != nil {
				require.ErrorIs(t, err, memregion.ErrRegionFull)
				continue
			}
			if r.IntN(2) == 0 {
				x, err = l.Shrink("t", x, 1+r.Int64N(x.Length))
				require.NoError(t, err)
			}
			fill(l.Bytes(x), 3)
			require.NoError(t, l.Protect(x))
			live = append(live, x)
		}
	}
	require.NoError(t, l.Trim())
	close(stop)
	lookers.Wait()
	require.Zero(t, l.View().Look(), "seed %d", seed)
	require.Positive(t, l.Stats().PunchedTotal)
	requireFilled(t, l.Bytes(first), 1)
}

// TestOwnCallsHideNoForeignOne: an alteration while the lender itself is in a system call on the file is counted, too.
func TestOwnCallsHideNoForeignOne(t *testing.T) {
	for _, kind := range []memregion.WatchKind{memregion.WatchProcess, memregion.WatchEvents} {
		spec := shmSpec(t, 16*mebibyte)
		l, _ := watched(t, spec, kind)
		own := func(file *os.File) error { return unix.Fallocate(int(file.Fd()), 0, 0, 4096) }
		before := l.View().Look()
		require.NoError(t, memregion.DuringOwnCall(l, own))
		require.Equal(t, kind == memregion.WatchProcess, l.View().Look() == before)
		before = l.View().Look()
		require.NoError(t, memregion.DuringOwnCall(l, func(file *os.File) error {
			if err := own(file); err != nil {
				return err
			}
			strange(t, spec, "write")
			return own(file)
		}))
		require.Greater(t, l.View().Look(), before)
	}
}

// TestAlterationsOfThisProcessAreNoticed: a lender's process may write to the file otherwise than by lending.
func TestAlterationsOfThisProcessAreNoticed(t *testing.T) {
	spec := shmSpec(t, 16*mebibyte)
	l, _ := watched(t, spec, memregion.WatchProcess)
	allocate(t, l, 4*mebibyte) // the region grows: calls of the lender, before any Look
	file, err := os.OpenFile(spec.Path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	require.Zero(t, l.View().Look())
	require.NoError(t, deeds["write"](file))
	require.EqualValues(t, 1, l.View().Look())
}

// TestLookAfterClose says what was known, and nothing new.
func TestLookAfterClose(t *testing.T) {
	for _, kind := range watchKinds {
		spec := fileSpec(t, 16*mebibyte)
		l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
		require.NoError(t, err)
		memregion.WatchBy(l, kind)
		v := l.View()
		rest(t, v)
		before := v.Look()
		require.NoError(t, l.Close())
		strange(t, spec)
		require.Equal(t, before, v.Look())
	}
}

// TestWhoseEvents: events as the kernel would queue them, and as none would.
func TestWhoseEvents(t *testing.T) {
	event := func(process int32, mask uint64, extra int) []byte {
		e := make([]byte, 24+extra)
		binary.NativeEndian.PutUint32(e, uint32(len(e)))
		binary.NativeEndian.PutUint64(e[8:], mask)
		binary.NativeEndian.PutUint32(e[20:], uint32(process))
		return e
	}
	mine, foreign := event(42, unix.FAN_MODIFY, 40), event(0, unix.FAN_CLOSE_WRITE, 36)
	for i, c := range []struct {
		buffer       []byte
		ours, others bool
	}{
		{nil, false, false},
		{mine, true, false},
		{foreign, false, true},
		{append(append([]byte(nil), mine...), foreign...), true, true},
		{append(append([]byte(nil), mine...), mine...), true, false},
		{event(42, unix.FAN_Q_OVERFLOW, 0), false, true},
		{mine[:30], true, true},
		{append(event(42, unix.FAN_MODIFY, 0), 1, 2), true, true},
		{make([]byte, 24), false, true},
	} {
		ours, others := memregion.Whose(c.buffer, 42)
		require.Equal(t, fmt.Sprint(c.ours, c.others), fmt.Sprint(ours, others), "case %d", i)
	}
}

func BenchmarkLook(b *testing.B) {
	for _, kind := range watchKinds {
		b.Run(string(kind), func(b *testing.B) {
			l := lend(b, shmSpec(b, 16*mebibyte), memregion.LendOptions{})
			memregion.WatchBy(l, kind)
			v := l.View()
			time.Sleep(30 * time.Millisecond) // the file's times become old enough to be remembered
			b.ReportAllocs()
			for b.Loop() {
				v.Look()
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	l := lend(b, shmSpec(b, 16*mebibyte), memregion.LendOptions{})
	r, err := l.Allocate("t", mebibyte)
	require.NoError(b, err)
	v := l.View()
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Check(r); err != nil {
			b.Fatal(err)
		}
	}
}
