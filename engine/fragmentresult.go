package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// What the parts of a statement have made, until it is let go.

// stageResult is what the fragments of a stage have made.
type stageResult struct {
	columns []byte             // as descriptor.AppendSchema writes them
	parts   [][]*catalog.Chunk // by partition; all in one if it is not shuffled
	ran     []ranFragment      // in the order of the stage's
}

// ranFragment is a fragment that has a result.
type ranFragment struct {
	fragmentReport
	chunks   []*catalog.Chunk
	node     string // that ran it
	attempts int
	rows     int64
	read     noderpc.FragmentProgress
}

// ranOn reads what a node says of a result.
func ranOn(node string, attempts int, stage *distribute.Stage, result noderpc.FragmentResult) (ranFragment, error) {
	f := ranFragment{chunks: result.Chunks, node: node, attempts: attempts, rows: result.Rows, read: result.Total}
	if err := json.Unmarshal(result.Statistics, &f.fragmentReport); err != nil {
		return f, sqlerror.New("08P01", "node %q: the report of a fragment makes no sense: %v", node, err)
	}
	wanted, chunks := 0, 0
	if stage.Shuffle != nil {
		wanted = stage.Shuffle.Partitions
	}
	for _, n := range f.Partitions {
		if n < 0 || n > len(f.chunks)-chunks {
			return f, sqlerror.New("08P01", "node %q: a partition of a fragment's result has %d chunks, of %d", node, n, len(f.chunks))
		}
		chunks += n
	}
	if len(f.Partitions) != wanted || wanted > 0 && chunks != len(f.chunks) {
		return f, sqlerror.New("08P01", "node %q: a fragment's result has %d partitions with %d of its %d chunks, not %d", node, len(f.Partitions), chunks, len(f.chunks), wanted)
	}
	return f, nil
}

// collect puts a stage's results together: a HugeTable for the final text, if that reads it.
func (r *run) collect(stage *distribute.Stage, made []ranFragment) error {
	result := stageResult{columns: made[0].Columns, parts: make([][]*catalog.Chunk, 1), ran: made}
	if stage.Shuffle != nil {
		result.parts = make([][]*catalog.Chunk, stage.Shuffle.Partitions)
	}
	for i := range made {
		if !slices.Equal(made[i].Columns, result.columns) {
			return fmt.Errorf("engine: fragments of stage %d give columns of different types", stage.Number)
		}
		chunks := made[i].chunks
		counts := made[i].Partitions
		if stage.Shuffle == nil {
			counts = []int{len(chunks)}
		}
		for part, n := range counts {
			result.parts[part], chunks = append(result.parts[part], chunks[:n]...), chunks[n:]
		}
	}
	r.results = append(r.results, result)
	if !slices.Contains(r.plan.Final.After(), stage.Number) {
		return nil
	}
	columns, err := descriptor.DecodeSchema(result.columns)
	if err != nil {
		return err
	}
	table, err := catalog.Collect(stageName(r.session.settings.searchPath, distribute.StageName(stage.Number)), columns, slices.Concat(result.parts...))
	if err != nil {
		return err
	}
	r.tables = append(r.tables, table)
	return nil
}

// release lets all results go, wherever they lie, at once: a round trip, however many nodes there are.
func (r *run) release() {
	r.session.engine.facts.Forget(r.tables...)
	var told sync.WaitGroup
	for _, f := range r.remote {
		told.Go(func() {
			if err := f.Close(); err != nil {
				r.session.engine.config.Log.Debug("the result of a fragment was gone before it was released", "error", err)
			}
		})
	}
	for _, release := range r.local {
		release()
	}
	told.Wait()
}

// letGo is release when the rows are closed. It happens in the background, so that nobody waits for the round trip, and the engine's end waits
// for it. Large results, and those of statements beyond laterMost, are gone when it returns: the next statement may need their memory.
func (r *run) letGo() {
	e := r.session.engine
	if r.bytes() > laterBytes || !e.later.begin() {
		r.release()
		return
	}
	if !e.life.EnterToClose() {
		e.later.done()
		r.release()
		return
	}
	go func() {
		defer e.life.Leave()
		defer e.later.done()
		r.release()
	}()
}

// bytes is the size of all results.
func (r *run) bytes() (sum int64) {
	for _, s := range r.results {
		for _, f := range s.ran {
			for _, c := range f.chunks {
				sum += c.Bytes()
			}
		}
	}
	return sum
}

const (
	laterBytes = 1 << 20 // a statement's results that are let go in the background
	laterMost  = 16      // statements whose results are, at a time
)

// pending counts the statements whose results are let go in the background. The zero value is ready. Safe for concurrent use.
type pending struct{ n atomic.Int32 }

func (p *pending) begin() bool {
	if p.n.Add(1) > laterMost {
		p.n.Add(-1)
		return false
	}
	return true
}

func (p *pending) done() { p.n.Add(-1) }
