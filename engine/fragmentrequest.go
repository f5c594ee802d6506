package engine

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
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/sql/setting"
)

// What the coordinator asks of other nodes.

// keptRequests are what the fragments were asked to do last, by fragment: those that read no results and have no parameters are asked to do
// the same again, as long as the plan is fresh. The zero value is ready. Safe for concurrent use.
type keptRequests struct {
	mu    sync.Mutex // guards the rest
	asked map[*distribute.Fragment]noderpc.FragmentRequest
	bytes int64 // of their payloads, requestBytes at most
}

// requestBytes bounds what a plan keeps of requests: those of a table of some thousand chunks.
const requestBytes = 64 << 10

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
	if bytes > requestBytes {
		return
	}
	if k.asked == nil {
		k.asked = map[*distribute.Fragment]noderpc.FragmentRequest{}
	}
	k.asked[f], k.bytes = request, bytes
}

// request says what a fragment is to do.
func (r *run) request(ctx context.Context, stage *distribute.Stage, f *distribute.Fragment) (noderpc.FragmentRequest, error) {
	zone, err := r.session.Setting(zoneSetting)
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	settings := map[string]string{
		zoneSetting: zone, planCacheMode: r.session.settings.values[planCacheMode], verifySetting: settingOf(r.session.verification()),
		disableSetting: r.session.without().String(),
	}
	setting.CopyMeaning(settings, r.session.settings.values)
	if request, ok := r.plan.requests.find(f, settings); ok {
		return request, nil
	}
	payload := fragmentPayload{SearchPath: r.session.settings.searchPath, Shuffle: stage.Shuffle}
	record := catalog.SnapshotRecord{Revision: r.view.contents.Revision(), Schemas: r.view.contents.Schemas()}
	seen := map[*catalog.TableVersion]bool{}
	for _, read := range stage.Reads {
		if read.Relation == nil {
			if err := payload.read(r.results[read.Stage-1], read, f); err != nil {
				return noderpc.FragmentRequest{}, err
			}
			continue
		}
		version := r.plan.versions[read.Relation]
		if !seen[version] {
			seen[version] = true
			encoded, err := version.Encode()
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			record.Tables = append(record.Tables, encoded)
		}
		if read.Part {
			chunks, err := r.session.engine.chunksAt(ctx, version, f.Part)
			if err != nil {
				return noderpc.FragmentRequest{}, err
			}
			payload.Parts = append(payload.Parts, fragmentPart{read.Start, chunks})
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
	args, err := argument.Encode(argumentsOf(&stage.Text, r.args))
	if err != nil {
		return noderpc.FragmentRequest{}, err
	}
	request := noderpc.FragmentRequest{Query: stage.SQL, Revision: record.Revision, Payload: encoded, Parameters: args, Settings: settings}
	if len(args) == 0 && len(payload.Stages) == 0 {
		r.plan.requests.keep(f, request)
	}
	return request, nil
}

var errManyChunks = errors.New("engine: a part of the statement would read more chunks than one message can name")

// read adds what a fragment reads of an earlier stage's result: its partition, or everything.
func (p *fragmentPayload) read(result stageResult, read distribute.Read, f *distribute.Fragment) error {
	name := distribute.StageName(read.Stage)
	if i := slices.IndexFunc(p.Stages, func(s fragmentStage) bool { return s.Name == name }); i >= 0 {
		if p.Stages[i].part != read.Part {
			return fmt.Errorf("engine: a text reads stage %d whole and in part", read.Stage)
		}
		return nil
	}
	parts := result.parts
	if read.Part {
		if f.Partition >= len(parts) {
			return fmt.Errorf("engine: a fragment reads partition %d of %d of stage %d", f.Partition, len(parts), read.Stage)
		}
		parts = parts[f.Partition : f.Partition+1]
	}
	stage := fragmentStage{Name: name, Columns: result.columns, part: read.Part}
	for _, c := range slices.Concat(parts...) {
		stage.Chunks = append(stage.Chunks, c.Encoded())
	}
	p.Stages = append(p.Stages, stage)
	return nil
}
