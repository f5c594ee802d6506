package split

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/fragment"
	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// What the coordinator asks of other nodes.

// keptRequests are what the fragments were asked to do last, by fragment: those that read no results and have no
// parameters are asked to do the same again, as long as the plan is fresh. The zero value is ready. Safe for
// concurrent use.
type keptRequests struct {
	mu    sync.Mutex // guards the rest
	asked map[*distribute.Fragment]noderpc.FragmentRequest
	bytes int64 // of their payloads, RequestBytes at most
}

// RequestBytes bounds what a plan keeps of requests: those of a table of some thousand chunks.
const RequestBytes = 64 << 10

func (k *keptRequests) find(f *distribute.Fragment, settings map[string]string) (noderpc.FragmentRequest, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	request, ok := k.asked[f]
	return request, ok && maps.Equal(request.Settings, settings)
}

func (k *keptRequests) keep(f *distribute.Fragment, request noderpc.FragmentRequest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	bytes := k.bytes - int64(len(k.asked[f].Payload)) + int64(len(request.Payload))
	if bytes > RequestBytes {
		return
	}
	if k.asked == nil {
		k.asked = map[*distribute.Fragment]noderpc.FragmentRequest{}
	}
	k.asked[f], k.bytes = request, bytes
}

// request says what a fragment is to do.
func (r *Run) request(ctx context.Context, stage *distribute.Stage,
	f *distribute.Fragment) (noderpc.FragmentRequest, error) {
	if request, ok := r.plan.requests.find(f, r.Settings); ok {
		return request, nil
	}
	payload := fragment.Payload{SearchPath: r.SearchPath, Shuffle: stage.Shuffle}
	record := catalog.SnapshotRecord{Revision: r.Contents.Revision(), Schemas: r.Contents.Schemas()}
	seen := map[*catalog.TableVersion]bool{}
	for _, reads := range stage.Reads {
		if reads.Relation == nil {
			if err := read(&payload, r.results[reads.Stage-1], reads, f); err != nil {
				return noderpc.FragmentRequest{}, err
			}
			continue
		}
		version := r.plan.Versions[reads.Relation]
		if !seen[version] {
			seen[version] = true
			encoded, err := version.Encode()
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			record.Tables = append(record.Tables, encoded)
		}
		if reads.Part {
			chunks, err := r.node.chunksAt(ctx, version, f.Part)
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			payload.Parts = append(payload.Parts, fragment.Part{Start: reads.Start, Chunks: chunks})
		}
	}
	payload.Snapshot = record.Encode()
	encoded, err := json.Marshal(payload)
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	if len(encoded) > noderpc.MaxFragmentPayload {
		return noderpc.FragmentRequest{}, errManyChunks
	}
	args, err := argument.Encode(ArgumentsOf(&stage.Text, r.Arguments))
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	request := noderpc.FragmentRequest{
		Query: stage.SQL, Revision: record.Revision, Payload: encoded, Parameters: args, Settings: r.Settings,
	}
	if len(args) == 0 && len(payload.Stages) == 0 {
		r.plan.requests.keep(f, request)
	}
	return request, nil
}

var errManyChunks = errors.New("a part of the statement would read more chunks than one message can name")

// read adds what a fragment reads of an earlier stage's result: its partition, or everything.
func read(p *fragment.Payload, result stageResult, reads distribute.Read, f *distribute.Fragment) error {
	name := distribute.StageName(reads.Stage)
	if i := slices.IndexFunc(p.Stages, func(s fragment.Stage) bool { return s.Name == name }); i >= 0 {
		if p.Stages[i].InPart != reads.Part {
			return fmt.Errorf("a text reads stage %d whole and in part", reads.Stage)
		}
		return nil
	}
	parts := result.parts
	if reads.Part {
		if f.Partition >= len(parts) {
			return fmt.Errorf("a fragment reads partition %d of %d of stage %d", f.Partition, len(parts), reads.Stage)
		}
		parts = parts[f.Partition : f.Partition+1]
	}
	stage := fragment.Stage{Name: name, Columns: result.columns, InPart: reads.Part}
	for _, c := range slices.Concat(parts...) {
		stage.Chunks = append(stage.Chunks, c.Encoded())
	}
	p.Stages = append(p.Stages, stage)
	return nil
}

// ArgumentsOf are the values of a text's own parameters.
func ArgumentsOf(t *distribute.Text, args []any) []any {
	list := make([]any, len(t.Parameters))
	for i, n := range t.Parameters {
		if n <= len(args) {
			list[i] = args[n-1]
		}
	}
	return list
}
