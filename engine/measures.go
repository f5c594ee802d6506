package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/internal/counted"
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
	Keys   string `json:",omitempty"` // of other tables that its rows must have
}

// measures are those of a finished execution.
func (q *query) measures(read *reader.Volume, took time.Duration) fragmentMeasures {
	m := fragmentMeasures{Took: took, ResultBytesLocal: read.ResultsLocal.Load(), ResultBytesRemote: read.ResultsRemote.Load()}
	for _, t := range q.scans {
		m.Scans = append(m.Scans, fragmentScan{Table: t.Facts.Version.Table().Name.Name, Chunks: t.Duck.Chunks, Of: t.Available(), Result: t.Result, Keys: t.ThinnedOut()})
	}
	return m
}

// pruning says how many chunks of tables were read and how many were not, and which keys thinned out the rows in them.
func (m *fragmentMeasures) pruning() string {
	var list []string
	for _, s := range m.Scans {
		if s.Result {
			continue
		}
		text := fmt.Sprintf("%d of %s of %s", s.Chunks, counted.Of(s.Of, "chunk"), s.Table)
		if s.Keys != "" {
			text += " thinned out by " + s.Keys
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
