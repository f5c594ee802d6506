package split

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/fragment"
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
	fragment.Report
	chunks   []*catalog.Chunk
	node     string // that ran it
	attempts int
	rows     int64
	read     noderpc.FragmentProgress
}

// ranOn reads what a node says of a result.
func ranOn(node string, attempts int, stage *distribute.Stage, result noderpc.FragmentResult) (ranFragment, error) {
	f := ranFragment{chunks: result.Chunks, node: node, attempts: attempts, rows: result.Rows, read: result.Total}
	if err := json.Unmarshal(result.Statistics, &f.Report); err != nil {
		return f, sqlerror.New("08P01", "node %q: the report of a fragment makes no sense: %v", node, err)
	}
	wanted, chunks, all := 0, 0, len(f.chunks)
	if stage.Shuffle != nil {
		wanted = stage.Shuffle.Partitions
	}
	for _, n := range f.Partitions {
		if n < 0 || n > all-chunks {
			return f, sqlerror.New("08P01", "node %q: a partition of a fragment's result has %d chunks, of %d", node, n, all)
		}
		chunks += n
	}
	if len(f.Partitions) != wanted || wanted > 0 && chunks != all {
		return f, sqlerror.New("08P01", "node %q: a fragment's result has %d partitions with %d of its %d chunks, not %d",
			node, len(f.Partitions), chunks, all, wanted)
	}
	return f, nil
}

// collect puts a stage's results together: a HugeTable for the final text, if that reads it.
func (r *Run) collect(stage *distribute.Stage, made []ranFragment) error {
	result := stageResult{columns: made[0].Columns, parts: make([][]*catalog.Chunk, 1), ran: made}
	if stage.Shuffle != nil {
		result.parts = make([][]*catalog.Chunk, stage.Shuffle.Partitions)
	}
	for i := range made {
		if !slices.Equal(made[i].Columns, result.columns) {
			return fmt.Errorf("fragments of stage %d give columns of different types", stage.Number)
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
	name := fragment.StageName(r.SearchPath, distribute.StageName(stage.Number))
	table, err := catalog.Collect(name, columns, slices.Concat(result.parts...))
	if err != nil {
		return err
	}
	r.tables = append(r.tables, table)
	return nil
}

// bytes is the size of all results.
func (r *Run) bytes() (sum int64) {
	for _, s := range r.results {
		for _, f := range s.ran {
			for _, c := range f.chunks {
				sum += c.Bytes()
			}
		}
	}
	return sum
}
