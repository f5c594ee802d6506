package enginetest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/queries"
)

// answers asks all 22 queries and compares them with the published answers.
func answers(t *testing.T, e *engine.Engine, sf float64, backend string) {
	s := openSession(t, e)
	s.must(t, "SET csm.backend = "+backend)
	for _, q := range queries.TPCH() {
		want, ok := queries.AnswerFor(sf, q.Number)
		require.True(t, ok)
		o := publishedForm(t, s, q.SQL)
		require.NoError(t, want.Compare(o.columns, o.cells), "Q%d", q.Number)
	}
}

type published struct {
	columns []string
	cells   [][]string
}

// publishedForm has NULL as an empty cell.
func publishedForm(t *testing.T, s *lent, sql string) published {
	r, err := s.session.Query(context.Background(), sql)
	require.NoError(t, err)
	defer r.Release()
	var out published
	for _, f := range r.Schema().Fields() {
		out.columns = append(out.columns, f.Name)
	}
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for c := range cells {
				if !b.Column(c).IsNull(i) {
					cells[c] = string([]byte(b.Column(c).ValueStr(i)))
				}
			}
			out.cells = append(out.cells, cells)
		}
	}
	require.NoError(t, r.Err())
	return out
}

// The 22 answers, of a node and of a borrower, with one thread and with two.
func TestTPCHAnswers(t *testing.T) {
	scales := []float64{0.01}
	if !testing.Short() {
		scales = append(scales, 0.1)
	}
	for _, sf := range scales {
		var socket string
		for _, threads := range []int{1, 2} {
			dir := t.TempDir()
			node := openEngine(t, func(c *engine.Config) { c.Directory, c.Threads = dir, threads })
			require.NoError(t, node.LoadTPCH(context.Background(), noderpc.TPCHRequest{ScaleFactor: sf}, nil))
			t.Run(fmt.Sprintf("sf%v/node/%d", sf, threads), func(t *testing.T) { answers(t, node, sf, "auto") })
			socket = serve(t, node, dir)
		}
		for _, threads := range []int{1, 2} {
			t.Run(fmt.Sprintf("sf%v/borrower/%d", sf, threads), func(t *testing.T) {
				borrower, err := engine.AttachWith(context.Background(), socket, engine.Config{Dialect: engine.DialectDuckDB, MemoryBytes: 1 << 30, Threads: threads, Directory: t.TempDir()})
				require.NoError(t, err)
				defer borrower.Close()
				answers(t, borrower, sf, "duckdb")
			})
		}
	}
}

// serve lets borrowers in until the test ends.
func serve(t *testing.T, e *engine.Engine, dir string) (socket string) {
	socket = filepath.Join(dir, "csmsql.sock")
	if len(socket) > 100 { // what the kernel takes
		short, err := os.MkdirTemp("", "csm")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(short) })
		socket = filepath.Join(short, "s")
	}
	listener, err := noderpc.ListenUnix(socket)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	server := noderpc.NewServer(e.Service(noderpc.Frontend{}), noderpc.ServerOptions{Name: "local", Log: slog.New(slog.DiscardHandler), Grace: time.Millisecond})
	result := make(chan error, 1)
	go func() { result <- server.Serve(ctx, listener) }()
	t.Cleanup(func() { cancel(); <-result })
	return socket
}
