package fragment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/setting"
)

// Payload is what a coordinator sends with a fragment's text. It comes from outside.
type Payload struct {
	// Snapshot is a catalog.SnapshotRecord of the tables that the text reads.
	Snapshot []byte
	// SearchPath is the coordinator's session's.
	SearchPath []string
	// Parts are the occurrences that are not read whole, by where their names stand in the text.
	Parts []Part `json:",omitempty"`
	// Stages are the results that the text reads.
	Stages []Stage `json:",omitempty"`
	// Shuffle has the result written in partitions.
	Shuffle *distribute.Shuffle `json:",omitempty"`
}

// Part is the chunks of one occurrence of a table.
type Part struct {
	Start  int
	Chunks []int
}

// Stage is the result of other fragments, or a partition of it: a HugeTable in no catalog.
type Stage struct {
	Name    string
	Columns []byte   // as descriptor.AppendSchema writes them
	Chunks  [][]byte // descriptors
	InPart  bool     `json:"-"` // it is one partition; for the coordinator
}

// Report is what a node sends with the chunks of a fragment's result. It comes from outside.
type Report struct {
	Columns []byte // as descriptor.AppendSchema writes them
	// Partitions says of how many of the chunks, which come in that order, each partition consists; nil: there are
	// none.
	Partitions []int `json:",omitempty"`
	Measures
}

// Measures are what EXPLAIN ANALYZE shows of a fragment, as the node that ran it measured.
type Measures struct {
	Took time.Duration
	// Of tables the request's progress says it. These are bytes of other fragments' results.
	ResultBytesLocal, ResultBytesRemote int64
	Scans                               []Scan `json:",omitempty"`
}

// Scan is one table that was read, or a part of it.
type Scan struct {
	Table  string
	Chunks int // that were read
	Of     int // that there are of it, or of the part
	Result bool
	Keys   string `json:",omitempty"` // of other tables that its rows must have
}

// Pruning says how many chunks of tables were read and how many were not, and which keys thinned out the rows in them.
func (m *Measures) Pruning() string {
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

// key distinguishes fragments whose plans differ; of results, which are others each time, only the columns matter. It
// is empty for a statement that is to be replanned.
func (p *Payload) key(request noderpc.FragmentRequest) (string, error) {
	without, _ := optimization.Parse(request.Settings[setting.Disable])
	if request.Settings[setting.PlanCacheMode] == setting.ForceCustomPlan || without.Has(optimization.KeptPlans) {
		return "", nil
	}
	payload := request.Payload
	if len(p.Stages) > 0 {
		same := *p
		same.Stages = slices.Clone(p.Stages)
		for i := range same.Stages {
			same.Stages[i].Chunks = nil
		}
		var err error
		if payload, err = json.Marshal(same); err != nil {
			return "", err
		}
	}
	settings := request.Settings
	parts := []string{
		setting.Meaning(settings) + settings[setting.TimeZone], settings[setting.Verify], settings[setting.Disable],
	}
	return strings.Join(append(parts, request.Query, string(payload)), "\x00"), nil
}

// see adds to a task what the payload says of tables and results. made are the results.
func (p *known) see(t *Task) (made []*catalog.TableVersion, err error) {
	t.SearchPath, t.Snapshot, t.Contents = p.SearchPath, p.snapshot, p.snapshot.Contents
	t.Parts, t.Results = map[int][]int{}, map[*catalog.TableVersion]bool{}
	for _, part := range p.Parts {
		t.Parts[part.Start] = part.Chunks
	}
	for _, stage := range p.Stages {
		version, err := stage.version(p.SearchPath)
		if err != nil {
			return nil, err
		}
		made = append(made, version)
		t.Results[version] = true
	}
	if len(made) > 0 {
		t.Contents = t.Contents.With(made...)
	}
	return made, nil
}

func (f *Stage) version(searchPath []string) (*catalog.TableVersion, error) {
	columns, err := descriptor.DecodeSchema(f.Columns)
	if err != nil {
		return nil, err
	}
	chunks := make([]*catalog.Chunk, len(f.Chunks))
	decoder := descriptor.Decoder{Expected: len(f.Chunks)} // they have one schema
	for i, encoded := range f.Chunks {
		d, err := decoder.Decode(encoded)
		if err != nil {
			return nil, fmt.Errorf("stage %s, chunk %d: %w", f.Name, i, err)
		}
		chunks[i] = chunk.New(d, encoded, nil)
	}
	return catalog.Collect(StageName(searchPath, f.Name), columns, chunks)
}

// StageName is where a stage's result is found, before anything of that name in the session's schemas.
func StageName(searchPath []string, name string) catalog.TableName {
	if len(searchPath) == 0 {
		return catalog.TableName{Name: name}
	}
	return catalog.TableName{Schema: searchPath[0], Name: name}
}
