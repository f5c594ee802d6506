package borrowing_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/memregion"
)

var ctx = context.Background()

const (
	page     = memregion.PageSize
	mebibyte = 1 << 20
)

// emptyNode is a node that lends memory and answers nothing else.
type emptyNode struct{ noderpc.Node }

// plan plans a region in shared memory, or on a disk where there is none.
func plan(t testing.TB, capacity int64) memregion.Spec {
	base, err := memregion.ChooseBase(nil, capacity, t.Name())
	require.NoError(t, err)
	spec := memregion.Spec{ID: 7, Base: base, Capacity: capacity, Fabric: memregion.FabricShm}
	directory, err := shmdir.Make()
	if err != nil {
		spec.Fabric, spec.Path = memregion.FabricFile, filepath.Join(t.TempDir(), "region")
		return spec
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(directory)) })
	spec.Path = filepath.Join(directory, "region")
	spec.BootID, err = memregion.BootID()
	require.NoError(t, err)
	return spec
}

// lender is a node that lends one region over mutual TLS.
type lender struct {
	lent     *memregion.Lent
	home     *coherence.Home
	lending  *lending.Lender
	counters *coherence.Counters
	refusals *refusal.Counters
	address  string
	cancel   context.CancelFunc
	served   chan error
}

func serve(spec memregion.Spec, own *certificate.Credentials) (*lender, error) {
	lent, err := memregion.Lend(ctx, spec, memregion.LendOptions{GrowthStep: mebibyte})
	if err != nil {
		return nil, err
	}
	l := &lender{lent: lent, counters: &coherence.Counters{}, served: make(chan error, 1)}
	l.home, err = coherence.NewHome(coherence.HomeConfig{Region: spec.ID, Memory: lent, Domain: "lender", Capacity: spec.Capacity, Counters: l.counters, Protect: lent.Protect})
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	l.refusals = refusal.New(log)
	if l.lending, err = lending.New(catalog.Homes{spec.ID: l.home}, lending.Options{Refusals: l.refusals, Log: log}); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l.address = listener.Addr().String()
	server := noderpc.NewServer(emptyNode{}, noderpc.ServerOptions{Name: "lender", Certificate: own, Lender: l.lending, Log: log, Refusals: l.refusals})
	var serving context.Context
	serving, l.cancel = context.WithCancel(ctx)
	go func() { l.served <- server.Serve(serving, listener) }()
	return l, nil
}

// stop ends the serving and sees to it that nothing is left in the region (R2).
func (l *lender) stop(t testing.TB) {
	l.cancel()
	require.NoError(t, <-l.served)
	require.Zero(t, l.lent.Stats().Used, "extents were lost")
	require.NoError(t, l.lent.Verify())
	require.NoError(t, l.lent.Close())
}

type world struct {
	*lender
	authority *certificate.Authority
	view      *memregion.View
}

func newWorld(t testing.TB, capacity int64) *world {
	w := &world{authority: newAuthority(t)}
	spec := plan(t, capacity)
	var err error
	w.lender, err = serve(spec, w.issue(t, "lender"))
	require.NoError(t, err)
	t.Cleanup(func() { w.stop(t) })
	w.view, err = memregion.Borrow(spec) // elsewhere than the lender has it, since that is this process
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.view.Close()) })
	return w
}

func newAuthority(t testing.TB) *certificate.Authority {
	a, err := certificate.CreateAuthority(t.TempDir(), "test")
	require.NoError(t, err)
	return a
}

func (w *world) issue(t testing.TB, name string) *certificate.Credentials {
	directory := t.TempDir()
	pair, err := w.authority.Issue(certificate.Identity{Role: certificate.RoleNode, Name: name}, certificate.IssueOptions{})
	require.NoError(t, err)
	require.NoError(t, pair.Write(directory))
	c, err := certificate.Load(certificate.FilesIn(directory, certificate.RoleNode))
	require.NoError(t, err)
	return c
}

func (w *world) dial(t testing.TB, name string) *noderpc.Client {
	c, err := noderpc.Dial(ctx, w.address, noderpc.WithTLS(w.issue(t, name), "lender"), noderpc.WithIncarnation(noderpc.NewIncarnation()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// three columns, one of them of variable length, built with the allocator.
func batch(mem memory.Allocator, rows int) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "price", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	b.Reserve(rows)
	b.Field(1).(*array.StringBuilder).ReserveData(11 * rows)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("row %d", i))
		}
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 4)
	}
	return b.NewRecordBatch()
}

// write builds a chunk in the space.
func write(t testing.TB, space chunk.Space, rows int) *chunk.Chunk {
	w := chunk.NewWriter(space, "public.t", 64<<10)
	built := batch(w.Allocator(), rows)
	defer built.Release()
	c, err := w.Seal(ctx, built, chunk.SealOptions{})
	require.NoError(t, err)
	require.Zero(t, w.Copied(), "the builders wrote into the lender's memory")
	return c
}

// requireRows reads a chunk in place, through a view.
func requireRows(t testing.TB, view *memregion.View, encoded []byte, rows int) {
	got, err := read(view, encoded)
	require.NoError(t, err)
	want := batch(memory.NewGoAllocator(), rows)
	require.EqualValues(t, rows, got.NumRows())
	for i := range int(want.NumCols()) {
		require.True(t, array.Equal(want.Column(i), got.Column(i)), "column %d", i)
	}
}

func read(view *memregion.View, encoded []byte) (arrow.RecordBatch, error) {
	d, err := descriptor.Decode(encoded)
	if err != nil {
		return nil, err
	}
	resolve := func(_ memregion.RegionID, r memregion.Range) ([]byte, error) { return view.Bytes(r) }
	if err := d.Verify(resolve, nil); err != nil {
		return nil, err
	}
	return d.Record(resolve)
}

// Roles that this test binary plays for itself.
const (
	roleVariable = "BORROWING_TEST_ROLE"
	readerRole   = "reader"
	lenderRole   = "lender"
	sleeperRole  = "sleeper"
	planVariable = "BORROWING_TEST_PLAN"
)

// arrangement is what a child must know.
type arrangement struct {
	Spec    memregion.Spec
	Files   certificate.Files
	Address string
	Chunk   []byte
}

func TestMain(m *testing.M) {
	var a arrangement
	if text := os.Getenv(planVariable); text != "" {
		must(json.Unmarshal([]byte(text), &a))
	}
	switch os.Getenv(roleVariable) {
	case readerRole:
		beReader(a)
	case lenderRole:
		beLender(a)
	case sleeperRole:
		beSleeper(a)
	default:
		os.Exit(m.Run())
	}
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// beReader maps the region at its planned address, reads the chunk in place and says what it saw.
func beReader(a arrangement) {
	view, err := memregion.Borrow(a.Spec)
	must(err)
	got, err := read(view, a.Chunk)
	must(err)
	var sum int64
	for _, v := range got.Column(0).(*array.Int64).Int64Values() {
		sum += v
	}
	fmt.Println(got.NumRows(), sum, got.Column(1).(*array.String).Value(8), view.Relocated())
}

// beLender lends until its standard input ends, then says what it still holds.
func beLender(a arrangement) {
	own, err := certificate.Load(a.Files)
	must(err)
	l, err := serve(a.Spec, own)
	must(err)
	fmt.Println(l.address)
	_, _ = io.Copy(io.Discard, os.Stdin)
	l.cancel()
	must(<-l.served)
	fmt.Println(l.lent.Stats().Used)
	must(l.lent.Close())
}

// child starts this binary in a role.
func child(t testing.TB, role string, a arrangement) (command *exec.Cmd, input io.WriteCloser, output *bufio.Reader) {
	text, err := json.Marshal(a)
	require.NoError(t, err)
	command = exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+role, planVariable+"="+string(text))
	command.Stderr = os.Stderr
	input, err = command.StdinPipe()
	require.NoError(t, err)
	pipe, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = input.Close(); _ = command.Process.Kill(); _ = command.Wait() })
	return command, input, bufio.NewReader(pipe)
}
