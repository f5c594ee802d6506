package engine

import (
	"fmt"
	"strings"
	"time"
)

// fragmentMeasures are what EXPLAIN ANALYZE shows of a fragment, as the node that ran it measured.
type fragmentMeasures struct {
	Took time.Duration
	// Of tables the request's progress says it. These are bytes of other fragments' results.
	ResultBytesLocal, ResultBytesRemote int64
	Scans                               []fragmentScan `json:",omitempty"`
}

// fragmentScan is one table that was read, or a part of it.
type fragmentScan struct {
	Table  string
	Chunks int // that were read
	Of     int // that there are of it, or of the part
	Result bool
}

// measures are those of a finished execution.
func (q *query) measures(read *volume, took time.Duration) fragmentMeasures {
	m := fragmentMeasures{Took: took, ResultBytesLocal: read.resultsLocal.Load(), ResultBytesRemote: read.resultsRemote.Load()}
	for _, t := range q.scans {
		m.Scans = append(m.Scans, fragmentScan{Table: t.facts.version.Table().Name.Name, Chunks: t.scan.Chunks, Of: t.available(), Result: t.result})
	}
	return m
}

// available counts the chunks that the scan may read, before any are left out.
func (t *tableScan) available() int {
	if t.part != nil {
		return len(t.part)
	}
	return t.facts.version.NumChunks()
}

// pruning says how many chunks of tables were read and how many were not.
func (m *fragmentMeasures) pruning() string {
	var list []string
	for _, s := range m.Scans {
		if !s.Result {
			list = append(list, fmt.Sprintf("%d of %d chunks of %s", s.Chunks, s.Of, s.Table))
		}
	}
	return strings.Join(list, ", ")
}
