package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/bench/changing"
	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// small are options with which a benchmark takes a second or two.
func small(t *testing.T) Options {
	return Options{ScaleFactor: 0.01, Runs: 1, Sizes: 3, MaxRows: 600_000, Progress: func(what string) { t.Log(what) }}
}

func TestNames(t *testing.T) {
	all := []string{"attach", "cancel", "changes", "cluster", "egress", "growth", "readers", "refresh", "steps", "thesis", "tpch", "workers", "writes"}
	require.Equal(t, all, Names())
	_, err := Run(t.Context(), "speed", Options{})
	require.EqualError(t, err, `bench: there is no benchmark "speed"; there are `+strings.Join(all, ", "))
	_, err = Run(t.Context(), "attach", Options{Runs: -1})
	require.ErrorContains(t, err, "must not be negative")
}

func TestChildLeavesOrdinaryCommandsAlone(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}, {"bench", "attach"}, {childWord}} {
		handled, err := Child(args)
		require.NoError(t, err)
		require.False(t, handled, args)
	}
	handled, err := Child([]string{childWord, "unknown"})
	require.True(t, handled)
	require.ErrorContains(t, err, `no process "unknown"`)
}

func TestAttach(t *testing.T) {
	o := small(t)
	o.MaxRows = 2_000_000
	r, err := Run(t.Context(), "attach", o)
	require.NoError(t, err)
	require.Len(t, r.Rows, 3)
	for i, rows := range []int64{500_000, 1_000_000, 2_000_000} {
		require.Equal(t, rows, r.Rows[i][0])
		require.Equal(t, int64(i+1), r.Rows[i][2], "chunks of eight morsels")
	}
	for _, row := range r.Rows {
		rows := row[0].(int64)
		require.Equal(t, int64(0), row[8], "copied by descriptor")
		require.GreaterOrEqual(t, row[9].(int64), rows*bytesOfRow, "the counter must see what IPC copies")
		require.GreaterOrEqual(t, row[10].(int64), rows*bytesOfRow, "the counter must see what Flight copies")
	}
	require.Len(t, r.Goals, 3)
	require.True(t, r.Goals[2].Met, "nothing is copied")
	require.Len(t, r.Samples["2000000 rows, descriptor"], attachAgain)
	require.Len(t, r.Samples["2000000 rows, Flight"], 1)
}

func TestReaders(t *testing.T) {
	r, err := Run(t.Context(), "readers", small(t))
	require.NoError(t, err)
	require.Len(t, r.Rows, 1+2*readersOf+8-1)
	require.Len(t, r.Goals, 1)
	require.Greater(t, r.Goals[0].Measured, 0.5, "so much sharing cannot be")
}

// Every step has its line, and its goal where one was set.
func TestSteps(t *testing.T) {
	r, err := Run(t.Context(), "steps", small(t))
	require.NoError(t, err)
	require.Len(t, r.Rows, 10)
	require.Len(t, r.Goals, 6)
	require.Len(t, r.Samples[stepFirst], 2*len(r.Samples[stepFirstOff]))
	require.Len(t, r.Samples[stepAgainOff], 2*len(r.Samples[stepAgain]))
	require.Len(t, r.Samples[stepPing], 200)
	require.Len(t, r.Samples[stepAttachAll], 1)
}

// Every table and figure is there; where sizes are not the thesis' own, its figures do not stand beside ours.
func TestThesis(t *testing.T) {
	o := small(t)
	o.Sizes, o.MaxRows = 2, 100_000
	r, err := Run(t.Context(), "thesis", o)
	if errors.Is(err, coherence.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Len(t, r.Rows, 11)
	for i, row := range r.Rows {
		require.Equal(t, i < 4 || i > 8, row[2] == "-", "%v: only flushing depends on the size, and they do not clean ahead", row)
	}
	titles := []string{"Table 5.5", "Table 5.5", "Write paths", "Figure 5.1", "Figure 5.2", "Figure 5.3"}
	require.Len(t, r.More, len(titles))
	for i, table := range r.More {
		require.True(t, strings.HasPrefix(table.Title, titles[i]), table.Title)
		for _, row := range table.Rows {
			require.Len(t, row, len(table.Columns), "%s: %v", table.Title, row)
		}
	}
	require.Equal(t, []any{int64(50_000), int64(100_000)}, []any{r.More[3].Rows[0][0], r.More[3].Rows[1][0]})
	require.Len(t, r.More[4].Rows, 12, "two places, reading and writing, three numbers of threads")
	require.Len(t, r.More[5].Rows, 12, "strides")
	require.Len(t, r.Charts, 3)
	require.Len(t, r.Charts[0].Series, 2, "no figures of theirs for sizes of ours")
	require.Len(t, r.Charts[2].Series, 8)
	require.Len(t, r.Goals, 10)
	directory := t.TempDir()
	require.NoError(t, SVG(filepath.Join(directory, "new"), []*Report{r}))
	var page strings.Builder
	require.NoError(t, Markdown(&page, "csmsql bench thesis", "new", []*Report{r}))
	for _, c := range r.Charts {
		require.Contains(t, page.String(), "](new/"+c.Name+".svg)")
		require.FileExists(t, filepath.Join(directory, "new", c.Name+".svg"))
	}
}

func TestTPCH(t *testing.T) {
	r, err := Run(t.Context(), "tpch", small(t))
	require.NoError(t, err)
	require.Len(t, r.Rows, 23)
	require.Contains(t, r.Setting, "44 answers compared")
}

func TestTPCHAsksTheChosenQueries(t *testing.T) {
	o := small(t)
	o.Queries = []int{18, 6, 18}
	r, err := Run(t.Context(), "tpch", o)
	require.NoError(t, err)
	require.Contains(t, r.Setting, "4 answers compared")
	require.Len(t, r.Rows, 3)
	require.Equal(t, "Q06", r.Rows[0][0])
	require.Equal(t, "Q18", r.Rows[1][0])
	require.Len(t, r.Samples, 4)
	for _, wrong := range []int{0, -1, 23} {
		o.Queries = []int{6, wrong}
		_, err = Run(t.Context(), "tpch", o)
		require.EqualError(t, err, fmt.Sprintf("bench tpch: there is no query %d; they are numbered from 1 to 22", wrong))
	}
}

// Every answer of every stream is compared, those that were asked beside refreshes with what they saw of them.
func TestRefresh(t *testing.T) {
	o := small(t)
	o.Runs = 2
	r, err := Run(t.Context(), "refresh", o)
	require.NoError(t, err)
	require.Contains(t, r.Setting, "66 answers compared with the published ones, 176 with DuckDB's own tables")
	require.Contains(t, r.Setting, "a pair inserts and deletes 15 orders with their lines, in 2 transactions")
	require.Len(t, r.Rows, 24)
	for _, row := range r.Rows {
		require.Len(t, row, len(r.Columns))
	}
	require.Len(t, r.Goals, 2)
	require.Len(t, r.Samples["Q01, beside a pair"], 2)
	require.GreaterOrEqual(t, len(r.Samples["transaction of RF1"]), 2, "a pair for each run, at least")
	require.GreaterOrEqual(t, len(r.Samples["transaction of RF2"]), 2)
}

func TestCluster(t *testing.T) {
	o := small(t)
	o.Queries, o.MaxRows = []int{1, 3, 22}, 3_000_000
	r, err := Run(t.Context(), "cluster", o)
	require.NoError(t, err)
	require.Contains(t, r.Setting, "9 answers compared")
	require.Contains(t, r.Setting, "two nodes of 1 thread each")
	require.Len(t, r.Rows, 3+2)
	asked := len(r.Samples["Q22, two nodes"]) // a busy machine has no time to ask a short query again
	require.True(t, asked >= 1 && asked <= shortAgain, "%d times", asked)
	require.Len(t, r.Samples["Q22, two nodes that share nothing"], asked)
	require.Len(t, r.More, 4)
	lent := r.More[1]
	require.Len(t, lent.Rows, 3)
	require.Equal(t, int64(3_000_000), lent.Rows[2][0])
	require.Equal(t, lendersOf, lent.Rows[2][3], "regions")
	met := map[string]bool{}
	for _, g := range r.Goals {
		met[g.Claim] = g.Met
	}
	require.True(t, met["what a commit tells every node, of a table 1024 times as large"], met)
	require.True(t, met["messages of a stage for each node, at most, up to 64 nodes"], met)
}

// D6 of exec/plan/distribute as the report counts it: messages grow with the nodes, and the work of each shrinks.
func TestPlanning(t *testing.T) {
	p, err := planning(Options{})
	require.NoError(t, err)
	require.Len(t, p.all, len(plannedNodes))
	for i, a := range p.all {
		require.Equal(t, plannedNodes[i], a.nodes)
		require.Greater(t, a.split, 15)
		require.LessOrEqual(t, a.messages, 2*a.stages*a.nodes)
		require.Less(t, a.busiest, a.whole)
	}
	require.Less(t, p.all[4].busiest, p.all[0].busiest)
}

func TestEgress(t *testing.T) {
	o := small(t)
	if _, err := serving.FindPostgres(""); errors.Is(err, serving.ErrNoPostgres) {
		t.Skip("egress is compared with PostgreSQL: " + err.Error())
	}
	o.MaxRows, o.Command = 20_000, program(t)
	r, err := Run(t.Context(), "egress", o)
	require.NoError(t, err)
	require.Len(t, r.Rows, 7)
	require.Len(t, r.Samples["SELECT 1, simple, csmsql"], questions)
	require.Len(t, r.Samples["a row by its key, prepared, csmsql"], questions)
	require.Len(t, r.Goals, 4)
	o.sabotage = true
	_, err = Run(t.Context(), "egress", o)
	require.ErrorContains(t, err, "a wrong answer")
}

// Each size is asked everything as often, and a wrong row is found before anything is timed.
func TestGrowth(t *testing.T) {
	o := small(t)
	o.MaxRows, o.few = 4_000, true
	r, err := Run(t.Context(), "growth", o)
	require.NoError(t, err)
	common := commonSteps()
	require.Len(t, r.Goals, 2*len(common)+2*(len(common)-1)+2)
	require.Len(t, r.More[0].Rows, 2*(len(common)-1)+2+3)
	require.Equal(t, []string{"what is sent", "of 3 nodes", "of 5 nodes", "most ratio"}, r.More[0].Columns)
	for _, row := range r.More[0].Rows[:2*(len(common)-1)+2] {
		require.Positive(t, row[3], "%v", row)
	}
	require.Len(t, r.Rows, 2*len(common)+2+4)
	for _, what := range []string{"tables", "chunks"} {
		for _, size := range []int{1, 4, 40} {
			for _, step := range common {
				require.Len(t, r.Samples[fmt.Sprintf("%d %s, %s", size, what, step.name)], step.times)
			}
		}
	}
	o.sabotage = true
	_, err = Run(t.Context(), "growth", o)
	require.ErrorContains(t, err, "of them, a row of another table by its key: a wrong answer")
}

// Every number of clients inserts on every side, what was acknowledged is there, and nothing is refused.
func TestWrites(t *testing.T) {
	o := small(t)
	if _, err := serving.FindPostgres(""); errors.Is(err, serving.ErrNoPostgres) {
		t.Skip("writes is compared with PostgreSQL: " + err.Error())
	}
	o.few, o.Command = true, program(t)
	r, err := Run(t.Context(), "writes", o)
	require.NoError(t, err)
	require.Len(t, r.Rows, len(writeGoals))
	require.Len(t, r.Goals, 2*len(writeGoals)+2)
	require.Len(t, r.Samples["8 clients, csmsql, node 1 of 3, per row"], 1)
	require.True(t, r.Goals[len(r.Goals)-1].Met, "appends do not conflict")
	for _, side := range []string{"csmsql file", "csmsql shm", "PostgreSQL"} {
		require.Len(t, r.Samples["64 clients, "+side+", per row"], 1)
	}
	o.sabotage = true
	_, err = Run(t.Context(), "writes", o)
	require.ErrorContains(t, err, "csmsql file: a wrong answer")
}

// Every side takes the rows, and changes the same ones; a wrong row is found before anything is timed.
func TestChanges(t *testing.T) {
	o := small(t)
	if _, err := serving.FindPostgres(""); errors.Is(err, serving.ErrNoPostgres) {
		t.Skip("changes is compared with PostgreSQL: " + err.Error())
	}
	o.MaxRows, o.Command, o.Threads = 4_000, program(t), 2
	r, err := Run(t.Context(), "changes", o)
	require.NoError(t, err)
	single := 0
	if runtime.NumCPU() > 1 {
		single = 1
	}
	require.Len(t, r.Rows, 2*(4+single)+2)
	require.Len(t, r.Goals, 2*(3+single)+1)
	for _, table := range []string{"mixed", "lineitem"} {
		for _, side := range []string{"csmsql", "postgresql"} {
			require.Len(t, r.Samples[table+", UPDATE of a row by its key, "+side], changing.Singly)
			require.Len(t, r.Samples[table+", DELETE of a row by its key, "+side], changing.Singly)
		}
	}
	require.Len(t, r.Samples["lineitem, a row by its key, csmsql"], changing.Points)
	require.Equal(t, "lineitem, a row by its key, p50, in times of SELECT 1", r.Goals[3+2*single+1].Claim)
	o.sabotage = true
	_, err = Run(t.Context(), "changes", o)
	require.ErrorContains(t, err, "a wrong answer: csmsql has rows of")
}

// Both nodes are asked everything, and have to be right.
func TestWorkers(t *testing.T) {
	o := small(t)
	o.Queries, o.few, o.Command = []int{1, 6}, true, program(t)
	r, err := Run(t.Context(), "workers", o)
	require.NoError(t, err)
	require.Len(t, r.Rows, 2*len(hopping)+2+1)
	require.Len(t, r.Goals, 3)
	require.Len(t, r.Samples["SELECT 1, prepared, with"], hopBlock)
	require.Len(t, r.Samples["Q06, without"], 1)
	o.sabotage = true
	_, err = Run(t.Context(), "workers", o)
	require.ErrorContains(t, err, "a wrong answer")
}

// Statements of each kind are ended in both ways in both nodes, and leave nothing.
func TestCancel(t *testing.T) {
	o := small(t)
	o.Queries, o.few, o.Command = []int{1}, true, program(t)
	r, err := Run(t.Context(), "cancel", o)
	require.NoError(t, err)
	for _, kind := range []string{"writing", "waiting", "planning", "functions"} {
		for _, side := range []string{"without workers", "with workers"} {
			require.Len(t, r.Samples["all of "+kind+", "+side], 2, kind)
		}
	}
	require.GreaterOrEqual(t, len(r.Goals), 8, "what alters a small table may be faster than what ends it")
	o.sabotage = true
	_, err = Run(t.Context(), "cancel", o)
	require.ErrorContains(t, err, "left something behind")
}

// B1: no report without the right answer.
func TestAWrongAnswerStopsABenchmark(t *testing.T) {
	for name, message := range map[string]string{"attach": "descriptor gives a wrong answer", "cluster": "query 1: two nodes gives a wrong answer", "readers": "reader 1 gives a wrong answer", "refresh": "gives a wrong answer after ", "steps": "overlap", "thesis": "flushing local memory gives a wrong answer", "tpch": "query 1 gives a wrong answer"} {
		t.Run(name, func(t *testing.T) {
			o := small(t)
			o.sabotage = true
			r, err := Run(t.Context(), name, o)
			require.Nil(t, r)
			require.ErrorContains(t, err, message)
		})
	}
}

// B1, of the parts of steps that come later.
func TestStepsCompareFirst(t *testing.T) {
	o, err := small(t).withDefaults()
	require.NoError(t, err)
	o.sabotage, o.MaxRows = true, 1000
	r := &Report{Samples: map[string][]time.Duration{}}
	require.ErrorContains(t, adoptSteps(t.Context(), o, r), "another one")
	require.ErrorContains(t, chunkSteps(t.Context(), o, r), "the attached process gives a wrong answer")
}

func TestACancelledBenchmarkEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := small(t)
	o.Progress = func(string) { cancel() }
	_, err := Run(ctx, "readers", o)
	require.Error(t, err)
}

// B4: neither Ctrl-C nor an impatient parent keeps the node from giving its memory back.
func TestTheRegionGoesWithItsProcess(t *testing.T) {
	o, err := small(t).withDefaults()
	require.NoError(t, err)
	node, hello, err := startNode(t.Context(), o, 64<<20)
	require.NoError(t, err)
	require.FileExists(t, hello.Region)
	require.NoError(t, node.cmd.Process.Signal(os.Interrupt))
	var made loaded
	require.NoError(t, node.ask(request{Do: "load", Rows: 1000}, &made))
	require.Positive(t, made.Bytes)
	require.NoError(t, node.cmd.Process.Signal(syscall.SIGTERM))
	require.ErrorContains(t, node.ask(request{Do: "dance"}, nil), `cannot "dance"`)
	require.NoError(t, node.close())
	require.NoFileExists(t, hello.Region)
	require.NoDirExists(t, filepath.Dir(hello.Socket))
}

// B4: what a process has left that was killed is removed by the next benchmark.
func TestWhatTheKilledLeft(t *testing.T) {
	o, err := small(t).withDefaults()
	require.NoError(t, err)
	node, hello, err := startNode(t.Context(), o, 64<<20)
	require.NoError(t, err)
	directory := filepath.Dir(hello.Socket)
	require.NoError(t, node.cmd.Process.Kill())
	require.Error(t, node.close())
	require.DirExists(t, directory)
	require.FileExists(t, hello.Region)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, "readers", small(t))
	require.Error(t, err)
	require.NoDirExists(t, directory)
	require.NoFileExists(t, hello.Region)
}

// program builds csmsql, which serves in egress, workers and cancel.
func program(t *testing.T) string {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the program that serves is built with go, which is not in PATH")
	}
	path := filepath.Join(t.TempDir(), "csmsql")
	require.NoError(t, testsuite.BuildProgram(path))
	return path
}
